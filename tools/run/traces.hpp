// SPDX-License-Identifier: Apache-2.0
// SHOAL_TRACE and the other reports, as far as they are the launcher's: what PE 0 had no time for.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "command_line.hpp"

namespace shoal::run {

/// The sessions of the PEs' program whose traces are to be joined; no others are, as these may be another job's.
struct Sessions {
  int first = 1;
  std::optional<int> last = std::nullopt;  ///< none: it is not known, and so the one before the first that has no trace
};

/// Joins the pieces that are there of each trace of these, up to `n_pes` of them, and says where it is.
/// @param leave  whether another launcher is to join this one
/// @return false when one could not be written, which has been said then
bool join_traces(const Settings& settings, int n_pes, Sessions sessions,
                 const std::function<bool(const std::string& trace)>& leave);

/// The same for one trace, whose job is gone, launcher and all.
/// @throws Error {invalid_argument} when it has no pieces, or some that are none; as merge_trace
void join_trace(const std::string& given);

/// "SHOAL_RACE and SHOAL_PROFILE", as far as the PEs were asked for these; "": none.
std::string reports_wanted(const Settings& settings);

}  // namespace shoal::run

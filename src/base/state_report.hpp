// SPDX-License-Identifier: Apache-2.0
// What one launcher tells another of its PEs, so that each can judge the whole job.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/verdict.hpp"

namespace shoal {

struct StateReport {
  int first = 0;             ///< the number of the first PE, in the whole job
  std::uint64_t now_ns = 0;  ///< when it was written, by the clock that all times in it are from
  std::vector<PeState> pes;  ///< all known
};

/// In the byte order of this machine: both sides run the same build.
std::string pack_states(int first, std::span<const PeState> pes, std::uint64_t now);
/// @param total  PEs of the whole job. @throws Error{peer} when `bytes` is not exactly one report of some of them
StateReport unpack_states(std::string_view bytes, int total);

}  // namespace shoal

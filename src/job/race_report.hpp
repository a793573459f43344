// SPDX-License-Identifier: Apache-2.0
// The end of SHOAL_RACE: PE 0 gets everyone's notes, and says which accesses nothing ordered.
#pragma once
#include "base/callback.hpp"
#include "bootstrap/bootstrap.hpp"
#include "comm/segment_table.hpp"
#include "observe/race_log.hpp"

namespace shoal {

struct RaceOptions {
  int status;              ///< with which PE 0's program ends if there are any, to be told; 0: as it likes
  std::uint64_t pause_ns;  ///< from line to line of how far the search has come
};

/// Collective. @param doing  told what this PE does, for whoever looks at the job meanwhile
/// @return how many races were printed, on PE 0; 0 elsewhere. @throws Error
int report_races(Bootstrap& bootstrap, const RaceLog& mine, const SegmentTable& segments, const RaceOptions& options,
                 const Callback<const char*>& doing);

}  // namespace shoal

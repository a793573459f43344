// SPDX-License-Identifier: Apache-2.0
// The end of SHOAL_RACE: PE 0 gets everyone's notes, and says which accesses nothing ordered.
#pragma once
#include "base/callback.hpp"
#include "bootstrap/bootstrap.hpp"
#include "comm/segment_table.hpp"
#include "observe/race_log.hpp"

namespace shoal {

/// Collective. @param status  with which PE 0's program ends if there are any, to be told; 0: as it likes
/// @param doing  told what this PE does, for whoever looks at the job meanwhile
/// @return how many races were printed, on PE 0; 0 elsewhere. @throws Error
int report_races(Bootstrap& bootstrap, const RaceLog& mine, const SegmentTable& segments, int status,
                 const Callback<const char*>& doing);

}  // namespace shoal

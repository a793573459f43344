// SPDX-License-Identifier: Apache-2.0
// The end of SHOAL_RACE: PE 0 gets everyone's notes, and says which accesses nothing ordered.
#pragma once
#include "bootstrap/bootstrap.hpp"
#include "comm/segment_table.hpp"
#include "observe/race_log.hpp"

namespace shoal {

/// Collective. @param status  with which PE 0's program ends if there are any, to be told; 0: as it likes
/// @return how many races were printed, on PE 0; 0 elsewhere. @throws Error
int report_races(Bootstrap& bootstrap, const RaceLog& mine, const SegmentTable& segments, int status);

}  // namespace shoal

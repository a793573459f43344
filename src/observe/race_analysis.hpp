// SPDX-License-Identifier: Apache-2.0
// Looks for accesses to the same symmetric memory, one of them a write, that nothing orders: by different PEs, or by
// one whose call without blocking is not complete.
//
// All PEs' notes are gone through in the order of time, with a vector clock for each PE. What orders:
//   - calls of one PE, but a put or an atomic without result only once a quiet of its context, or a fence of it and
//   then something on it to the same PE, follows; barriers, allocations and clear_lock see to the default context
//   - put_nbi's look at its source, get_nbi's at either side, and what an atomic without blocking brings: once a quiet
//   of the context follows; this PE's own accesses, too, may race with these
//   - a meeting or collective of a team: what those members did before from whom a member gets something (the root of a
//   broadcast, those before it in a scan, else all), before what it does after; what a collective itself does with a
//   member's source and dest, only before what that member does after
//   - a signal, an atomic, or a put to bytes that are waited for: before the end of a wait, test or fetching atomic on
//   these
//   - locks: what was done before clear_lock, before what is done after set_lock
//   - loads and stores of the program's own, between the calls before and after them
// What a put with signal writes comes with its own signal. Bytes on which somebody waits are no data: they may be
// written any time.
#pragma once
#include <string>
#include <vector>

#include "base/callback.hpp"
#include "observe/race_log.hpp"

namespace shoal {

struct RaceAccess {
  int pe;               ///< who
  std::uint32_t event;  ///< index in its log
  bool writes;
};
struct Race {
  RaceAccess first, second;
  int target;  ///< whose memory
  std::uint32_t segment;
  std::uint64_t offset;  ///< of the first byte that both touch
};

inline constexpr int kMostRacePes = 32;
/// Of one strided access, the first ones, are looked at.
inline constexpr std::uint32_t kMostRaceBlocks = 1u << 18;

/// One race for each pair of places in the program, in the order of time. @param logs  by PE, at most kMostRacePes
/// @param progress  called now and then with how much is done, of how much
std::vector<Race> find_races(const std::vector<RaceLog>& logs, const Callback<std::uint64_t, std::uint64_t>& progress);

}  // namespace shoal

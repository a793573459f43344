// SPDX-License-Identifier: Apache-2.0
// The words of one team in the control area of each of its members (kTeamSlotBytes, page aligned).
//
//   offset  size  field
//        0  2048  round[32]   dissemination barrier: round k's flag, one cache line each
//     2048    64  arrived     central barrier: how many have arrived (used at the team's first member)
//     2112    64  release     central barrier: the last epoch that this member was let go from
//     2176  1024  exchange    what this member shows the others (splits, sizes, names)
//     3200   256  far_round[32]  meeting of the nodes' leaders: round k's flag, written by the transport
//     3456   256  far_pair[32]   two leaders that exchange something: how often the other one has told this one
//     3712     8  far_given      broadcast over nodes: the last one for which the leader before this one has the data
//     4096  2x4K  mail[2]     what a member gives the others by the meeting that follows; even and odd epochs in turn.
//                             Where the members are on several nodes: what leaders tell each other in pairs
//
// All counters only grow, compared by signed difference, so they may wrap. A slot is written by others only between its
// member's entry into an operation and its exit from it: once a member has left a team, nobody touches its slot again.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "comm/control.hpp"

namespace shoal {

struct alignas(64) SyncLine {
  std::atomic<std::uint64_t> value;
};

struct Slot {
  static constexpr int kRounds = 32;
  static constexpr std::size_t kExchangeBytes = 1024;
  static constexpr std::size_t kMailBytes = 4096;
  SyncLine round[kRounds];
  SyncLine arrived;
  SyncLine release;
  alignas(64) std::byte exchange[kExchangeBytes];
  std::atomic<std::uint64_t> far_round[kRounds];
  std::atomic<std::uint64_t> far_pair[kRounds];
  std::atomic<std::uint64_t> far_given;
  alignas(4096) std::byte mail[2][kMailBytes];
};
static_assert(sizeof(Slot) <= kTeamSlotBytes);
static_assert(offsetof(Slot, exchange) == 2176 && offsetof(Slot, far_round) == 3200);
static_assert(offsetof(Slot, far_pair) == 3456 && offsetof(Slot, far_given) == 3712 && offsetof(Slot, mail) == 4096);

/// Whether a counter has reached `target`, right across the wrap.
inline bool reached(std::uint64_t counter, std::uint64_t target) noexcept {
  return static_cast<std::int64_t>(counter - target) >= 0;
}

}  // namespace shoal

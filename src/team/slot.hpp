// SPDX-License-Identifier: Apache-2.0
// The words of one team in the control area of each of its members (kTeamSlotBytes, page aligned).
//
//   offset  size  field
//        0  2048  round[32]   dissemination barrier: round k's flag, one cache line each
//     2048    64  arrived     central barrier: how many arrivals (used at the team's first member)
//     2112    64  release     central barrier: the last epoch that the first member let go
//     2176  1024  exchange    what this member shows the others (splits, sizes, names)
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
  SyncLine round[kRounds];
  SyncLine arrived;
  SyncLine release;
  alignas(64) std::byte exchange[kExchangeBytes];
};
static_assert(sizeof(Slot) <= kTeamSlotBytes);
static_assert(offsetof(Slot, exchange) == 2176);

/// Whether a counter has reached `target`, right across the wrap.
inline bool reached(std::uint64_t counter, std::uint64_t target) noexcept {
  return static_cast<std::int64_t>(counter - target) >= 0;
}

}  // namespace shoal

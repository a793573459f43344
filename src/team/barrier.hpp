// SPDX-License-Identifier: Apache-2.0
// The ways in which a team's members meet. All take the slots of all members and this team's epoch.
#pragma once
#include <span>

#include "comm/waiter.hpp"
#include "team/slot.hpp"

namespace shoal {

/// One member's slot and bell.
struct MemberWords {
  Slot* slot;
  Doorbell* doorbell;
};

struct BarrierState {
  std::span<const MemberWords> members;
  int rank;
  Waiter* waiter;
  std::uint64_t epoch;     ///< of the last barrier; all members agree
  std::uint64_t arrivals;  ///< central: what `arrived` was when all had come
};

/// An algorithm for a barrier. `run` enters the next epoch and returns when all members have.
struct BarrierAlgorithm {
  const char* name;
  void (*run)(BarrierState& state, const WaitSite& site) noexcept;
};

/// ceil(log2 n) rounds, each telling one member and waiting for one: shortest when every member has a core.
void dissemination_barrier(BarrierState& state, const WaitSite& site) noexcept;
/// All count at the first member, and who comes last lets all go: members that share a core change places once a
/// barrier.
void central_barrier(BarrierState& state, const WaitSite& site) noexcept;

inline constexpr BarrierAlgorithm kBarrierAlgorithms[] = {
    {"dissemination", dissemination_barrier},
    {"central", central_barrier},
};

/// "auto" picks by whether the PEs of this node outnumber its cores. @throws Error{invalid_option} listing the names
const BarrierAlgorithm& choose_barrier(const char* name, bool oversubscribed);

}  // namespace shoal

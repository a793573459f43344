// SPDX-License-Identifier: Apache-2.0
#include "team/barrier.hpp"

#include <cstring>
#include <string>

#include "base/error.hpp"

namespace shoal {
namespace {

/// Raises a flag of another member and wakes it. The exchange releases all stores before it and is the full fence that
/// must stand between the store and the look at the doorbell.
void raise(std::atomic<std::uint64_t>& flag, std::uint64_t epoch, Doorbell& doorbell) noexcept {
  flag.exchange(epoch, std::memory_order_seq_cst);
#if !defined(__x86_64__)
  full_fence();
#endif
  ring(doorbell, Bell::sync);
}

void await(Waiter& waiter, const std::atomic<std::uint64_t>& flag, std::uint64_t target,
           const WaitSite& site) noexcept {
  waiter.wait(Bell::sync, site, [&] { return reached(flag.load(std::memory_order_acquire), target); });
}

}  // namespace

void dissemination_barrier(BarrierState& state, const WaitSite& site) noexcept {
  const int n = static_cast<int>(state.members.size());
  const std::uint64_t epoch = ++state.epoch;
  Slot& own = *state.members[static_cast<std::size_t>(state.rank)].slot;
  for (int round = 0, distance = 1; distance < n; ++round, distance *= 2) {
    int to = state.rank + distance;
    if (to >= n) to -= n;
    const MemberWords& peer = state.members[static_cast<std::size_t>(to)];
    raise(peer.slot->round[round].value, epoch, *peer.doorbell);
    await(*state.waiter, own.round[round].value, epoch, site);
  }
}

void central_barrier(BarrierState& state, const WaitSite& site) noexcept {
  const std::uint64_t epoch = ++state.epoch;
  const auto rank = static_cast<std::size_t>(state.rank);
  state.arrivals += state.members.size();
  if (state.members[0].slot->arrived.value.fetch_add(1, std::memory_order_acq_rel) + 1 != state.arrivals) {
    await(*state.waiter, state.members[rank].slot->release.value, epoch, site);
    return;
  }
  // Everyone waits on a word of its own: one that is let go may leave the team, and its slot serve another, while the
  // rest still look.
  for (std::size_t member = 0; member < state.members.size(); ++member)
    if (member != rank) state.members[member].slot->release.value.store(epoch, std::memory_order_release);
  full_fence();  // the stores before the looks at the doorbells
  for (std::size_t member = 0; member < state.members.size(); ++member)
    if (member != rank) ring(*state.members[member].doorbell, Bell::sync);
}

const BarrierAlgorithm& choose_barrier(const char* name, bool oversubscribed) {
  if (std::strcmp(name, "auto") == 0) return kBarrierAlgorithms[oversubscribed ? 1 : 0];
  std::string names = "auto";
  for (const BarrierAlgorithm& algorithm : kBarrierAlgorithms) {
    if (std::strcmp(name, algorithm.name) == 0) return algorithm;
    names += std::string(", ") + algorithm.name;
  }
  throw Error(Code::invalid_option, strf("SHOAL_BARRIER=\"%s\" is not valid: expected one of %s", name, names.c_str()));
}

}  // namespace shoal

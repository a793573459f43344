// SPDX-License-Identifier: Apache-2.0
#include "comm/pair_sync.hpp"

#include "base/error.hpp"
#include "comm/atomics.hpp"

namespace shoal {

PairSync::PairSync(const Domain& domain, std::uint64_t start) : met_(static_cast<std::size_t>(domain.n_pes), start) {
  for (int pe = 0; pe < domain.n_pes; ++pe)
    domain.controls[static_cast<std::size_t>(domain.me)].pair(pe).store(start, std::memory_order_relaxed);
}

void PairSync::meet(const Context& world, int pe, const char* call) noexcept {
  world.require(call);
  if (pe < 0 || pe >= world.n_pes())
    world.fatal(call, strf("PE %d is out of range: this job has PEs 0 to %d", pe, world.n_pes() - 1));
  const Domain& domain = world.domain();
  world.quiet();
  if (pe == domain.me) return;
  const std::uint64_t meeting = ++met_[static_cast<std::size_t>(pe)];
  const Control& theirs = domain.controls[static_cast<std::size_t>(pe)];
  theirs.pair(domain.me).store(meeting, std::memory_order_seq_cst);
  full_fence();
  ring(theirs.doorbell(), Bell::sync);
  const auto& mine = domain.controls[static_cast<std::size_t>(domain.me)].pair(pe);
  domain.waiter->wait(Bell::sync, {call, "PE %llu, meeting %llu", static_cast<unsigned long long>(pe), meeting}, [&] {
    return static_cast<std::int64_t>(mine.load(std::memory_order_acquire) - meeting) >= 0;  // right across the wrap
  });
}

bool semaphore_try(const Context& world, std::int64_t* count, int pe, const char* call) noexcept {
  std::atomic_ref<std::int64_t> word(*world.word(count, pe, call));
  std::int64_t seen = word.load(std::memory_order_relaxed);
  while (seen > 0)
    if (word.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_relaxed)) return true;
  return false;
}

void semaphore_wait(const Context& world, std::int64_t* count, int pe, const char* call) noexcept {
  world.word(count, pe, call);  // before the PE's number is used
  Doorbell& bell = world.domain().controls[static_cast<std::size_t>(world.world_pe(pe))].doorbell();
  world.domain().waiter->wait_on(
      bell, Bell::user,
      {call, "semaphore 0x%llx of PE %llu", reinterpret_cast<std::uintptr_t>(count), static_cast<unsigned long long>(pe)},
      [&] { return semaphore_try(world, count, pe, call); });
}

}  // namespace shoal

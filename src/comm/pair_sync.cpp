// SPDX-License-Identifier: Apache-2.0
#include "comm/pair_sync.hpp"

#include <cstdio>

#include "base/error.hpp"
#include "comm/atomics.hpp"

namespace shoal {
namespace {

void describe_pair(const WaitSite& site, const SegmentTable&, WaitText& text) noexcept {
  text.wait.kind = WaitKind::pair;
  text.wait.peer = static_cast<int>(site.a);
  std::snprintf(text.detail, sizeof text.detail, "PE %llu, meeting %llu", site.a, site.b);
}

void describe_semaphore(const WaitSite& site, const SegmentTable& segments, WaitText& text) noexcept {
  text.wait.kind = WaitKind::semaphore;
  text.wait.peer = static_cast<int>(site.a);
  text.wait.address = reinterpret_cast<std::uintptr_t>(site.object);
  std::snprintf(text.detail, sizeof text.detail, "semaphore %s of PE %llu", segments.place(site.object).c_str(),
                site.a);
}

}  // namespace

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
  if (theirs.here()) {
    theirs.pair(domain.me).store(meeting, std::memory_order_seq_cst);
    full_fence();
    ring(theirs.doorbell(), Bell::sync);
  } else {
    domain.raise_far(pe, ControlLayout::pair(domain.me), meeting);
  }
  const auto& mine = domain.controls[static_cast<std::size_t>(domain.me)].pair(pe);
  domain.waiter->wait(Bell::sync, {call, describe_pair, this, static_cast<unsigned long long>(pe), meeting}, [&] {
    return static_cast<std::int64_t>(mine.load(std::memory_order_acquire) - meeting) >= 0;  // right across the wrap
  });
}

namespace {

bool take_one(const Context& world, std::int64_t* count, int pe, const char* call) noexcept {
  std::int64_t seen = atomic_fetch(world, count, pe, call);
  while (seen > 0) {
    const std::int64_t found = atomic_compare_swap(world, count, seen, seen - 1, pe, call);
    if (found == seen) return true;
    seen = found;
  }
  return false;
}

}  // namespace

bool semaphore_try(const Context& world, std::int64_t* count, int pe, const char* call) noexcept {
  const Observed observed(world.domain().observer,
                          [&] { return world.call_of(call, CallKind::test, pe, nullptr, nullptr, 0); });
  return take_one(world, count, pe, call);
}

void semaphore_wait(const Context& world, std::int64_t* count, int pe, const char* call) noexcept {
  world.word(count, pe, call);  // before the PE's number is used
  const Observed observed(world.domain().observer,
                          [&] { return world.call_of(call, CallKind::wait, pe, nullptr, nullptr, 0); });
  const Domain& domain = world.domain();
  // A count of another node is asked for again and again, at growing distances: nobody there knows who waits.
  const Control& theirs = domain.controls[static_cast<std::size_t>(world.world_pe(pe))];
  Doorbell& bell = theirs.here() ? theirs.doorbell() : domain.controls[static_cast<std::size_t>(domain.me)].doorbell();
  domain.waiter->wait_on(bell, Bell::user,
                         {call, describe_semaphore, count, static_cast<unsigned long long>(world.world_pe(pe))},
                         [&] { return take_one(world, count, pe, call); });
}

}  // namespace shoal

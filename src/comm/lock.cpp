// SPDX-License-Identifier: Apache-2.0
#include "comm/lock.hpp"

#include <bit>

#include "base/error.hpp"

namespace shoal {
namespace {

constexpr std::uint32_t kWait = 0x8000'0000u;
constexpr std::uint32_t kHeld = 0x4000'0000u;
constexpr std::uint32_t kNext = 0x3fff'ffffu;
static_assert(sizeof(long) == 8 && std::endian::native == std::endian::little, "a lock is two 32-bit halves of a long");

/// One PE's view of one lock.
class LockView final {
 public:
  LockView(const Context& world, long* lock, const char* call) : world_(world), lock_(lock), call_(call) {
    world.require(call);
    world.own(lock, 1, call);
    const Segment* segment = world.domain().segments->find(reinterpret_cast<std::uintptr_t>(lock), sizeof(long));
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(lock) - segment->base;
    home_ = static_cast<int>(offset / sizeof(long) % static_cast<std::uintptr_t>(world.n_pes()));
    // A team's heap has no home at PEs that aren't members.
    while (segment->peers[static_cast<std::size_t>(home_)] == nullptr) home_ = (home_ + 1) % world.n_pes();
    ticket_ = static_cast<std::uint32_t>(world.domain().me) + 1;
  }

  std::atomic_ref<std::uint32_t> tail() const noexcept { return half(home_, 0); }
  std::atomic_ref<std::uint32_t> node(int pe) const noexcept { return half(pe, 1); }
  std::atomic_ref<std::uint32_t> own() const noexcept { return node(world_.domain().me); }
  std::uint32_t ticket() const noexcept { return ticket_; }
  int home() const noexcept { return home_; }

  template <class Done>
  void wait(const char* format, Done&& done) const noexcept {
    world_.domain().waiter->wait(Bell::sync, {call_, format, reinterpret_cast<std::uintptr_t>(lock_)}, done);
  }
  void ring(int pe) const noexcept {
    full_fence();
    world_.ring(pe, Bell::sync);
  }

 private:
  std::atomic_ref<std::uint32_t> half(int pe, int which) const noexcept {
    auto* halves = reinterpret_cast<std::uint32_t*>(world_.at(lock_, sizeof(long), pe, call_));
    return std::atomic_ref<std::uint32_t>(halves[which]);
  }

  const Context& world_;
  long* lock_;
  const char* call_;
  int home_;
  std::uint32_t ticket_;
};

}  // namespace

void set_lock(const Context& world, long* lock, const char* call) noexcept {
  const LockView view(world, lock, call);
  // A node of zero means: neither in the queue nor holding. The swap from zero also keeps two threads of this PE apart.
  std::uint32_t idle = 0;
  if (!view.own().compare_exchange_strong(idle, kWait, std::memory_order_acq_rel))
    world.fatal(call, strf("this PE holds or waits for the lock at %p already", static_cast<void*>(lock)));
  const std::uint32_t before = view.tail().exchange(view.ticket(), std::memory_order_acq_rel);
  if (before == 0) {
    view.own().fetch_xor(kWait | kHeld, std::memory_order_acq_rel);
    return;
  }
  const int previous = static_cast<int>(before - 1);
  view.node(previous).fetch_or(view.ticket(), std::memory_order_acq_rel);
  view.ring(previous);  // it may be waiting, in clear_lock, to learn who comes next
  view.wait("lock 0x%llx", [&] { return (view.own().load(std::memory_order_acquire) & kWait) == 0; });
  view.own().fetch_or(kHeld, std::memory_order_relaxed);
}

int test_lock(const Context& world, long* lock, const char* call) noexcept {
  const LockView view(world, lock, call);
  std::uint32_t free = 0;
  if (!view.tail().compare_exchange_strong(free, view.ticket(), std::memory_order_acq_rel)) {
    world.domain().waiter->test_failed();
    return 1;
  }
  view.own().fetch_or(kHeld, std::memory_order_relaxed);
  return 0;
}

void clear_lock(const Context& world, long* lock, const char* call) noexcept {
  const LockView view(world, lock, call);
  const std::uint32_t node = view.own().load(std::memory_order_acquire);
  if ((node & kHeld) == 0) {
    const std::uint32_t tail = view.tail().load(std::memory_order_relaxed);
    world.fatal(call, strf("this PE does not hold the lock at %p: %s", static_cast<void*>(lock),
                           tail == 0 ? "nobody does" : strf("PE %u is the last in its queue", tail - 1).c_str()));
  }
  world.quiet();
  std::uint32_t next = view.own().fetch_and(~kHeld, std::memory_order_acq_rel) & kNext;
  std::uint32_t last = view.ticket();
  if (next == 0 && view.tail().compare_exchange_strong(last, 0, std::memory_order_acq_rel)) return;
  view.wait("lock 0x%llx, for the next PE in its queue",
            [&] { return (next = view.own().load(std::memory_order_acquire) & kNext) != 0; });
  view.own().store(0, std::memory_order_relaxed);
  const int heir = static_cast<int>(next - 1);
  view.node(heir).fetch_and(~kWait, std::memory_order_acq_rel);
  view.ring(heir);
}

}  // namespace shoal

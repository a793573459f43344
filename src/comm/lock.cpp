// SPDX-License-Identifier: Apache-2.0
#include "comm/lock.hpp"

#include <bit>

#include "base/error.hpp"

namespace shoal {
namespace {

constexpr std::uint32_t kWait = 0x8000'0000u;
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
  // A node of zero means: not in the queue. The swap from zero also keeps two threads of this PE from using it at once.
  std::uint32_t idle = 0;
  if (!view.own().compare_exchange_strong(idle, kWait, std::memory_order_acq_rel) ||
      view.tail().load(std::memory_order_relaxed) == view.ticket())
    world.fatal(call, strf("this PE holds or waits for the lock at %p already", static_cast<void*>(lock)));
  const std::uint32_t before = view.tail().exchange(view.ticket(), std::memory_order_acq_rel);
  if (before == 0) {
    view.own().fetch_and(~kWait, std::memory_order_acq_rel);
    return;
  }
  const int previous = static_cast<int>(before - 1);
  view.node(previous).fetch_or(view.ticket(), std::memory_order_acq_rel);
  view.ring(previous);  // it may be waiting, in clear_lock, to learn who comes next
  view.wait("lock 0x%llx", [&] { return (view.own().load(std::memory_order_acquire) & kWait) == 0; });
}

int test_lock(const Context& world, long* lock, const char* call) noexcept {
  const LockView view(world, lock, call);
  std::uint32_t free = 0;
  return view.tail().compare_exchange_strong(free, view.ticket(), std::memory_order_acq_rel) ? 0 : 1;
}

void clear_lock(const Context& world, long* lock, const char* call) noexcept {
  const LockView view(world, lock, call);
  world.quiet();
  std::uint32_t last = view.ticket();
  if (view.own().load(std::memory_order_acquire) == 0 &&
      view.tail().compare_exchange_strong(last, 0, std::memory_order_acq_rel))
    return;
  if (last == 0) world.fatal(call, strf("this PE does not hold the lock at %p: nobody does", static_cast<void*>(lock)));
  std::uint32_t next = 0;
  view.wait("lock 0x%llx, for the next PE in its queue",
            [&] { return (next = view.own().load(std::memory_order_acquire)) != 0; });
  view.own().store(0, std::memory_order_relaxed);
  const int heir = static_cast<int>(next - 1);
  view.node(heir).fetch_and(~kWait, std::memory_order_acq_rel);
  view.ring(heir);
}

}  // namespace shoal

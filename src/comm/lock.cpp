// SPDX-License-Identifier: Apache-2.0
#include "comm/lock.hpp"

#include <bit>
#include <cstdio>

#include "base/error.hpp"
#include "comm/atomics.hpp"

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
    offset_ = reinterpret_cast<std::uintptr_t>(lock) - segment->base;
    home_ = static_cast<int>(spread(offset_) % static_cast<std::uint32_t>(world.n_pes()));
    // A team's heap has no home at PEs that aren't members.
    while (!segment->members[static_cast<std::size_t>(home_)]) home_ = (home_ + 1) % world.n_pes();
    ticket_ = static_cast<std::uint32_t>(world.domain().me) + 1;
  }

  /// Operations on the tail, and on the node of a PE, wherever these are.
  std::uint32_t swap_tail(std::uint32_t value) const noexcept {
    return atomic_update<Swap>(world_, half(0), value, home_, call_);
  }
  std::uint32_t compare_swap_tail(std::uint32_t expected, std::uint32_t value) const noexcept {
    return atomic_compare_swap(world_, half(0), expected, value, home_, call_);
  }
  std::uint32_t tail() const noexcept { return atomic_fetch(world_, half(0), home_, call_); }
  template <class Op>
  void update_node(int pe, std::uint32_t value) const noexcept {
    atomic_post<Op>(world_, half(1), value, pe, call_);
  }
  std::atomic_ref<std::uint32_t> own() const noexcept { return std::atomic_ref<std::uint32_t>(*half(1)); }
  std::uint32_t ticket() const noexcept { return ticket_; }

  /// @param previous  the PE before this one in the queue, or -1: it waits for the one behind it
  template <class Done>
  void wait(int previous, Done&& done) const noexcept {
    world_.domain().waiter->wait(Bell::sync, {call_, describe, this, static_cast<unsigned long long>(previous)}, done);
  }
  void ring(int pe) const noexcept {
    if (!world_.domain().controls[static_cast<std::size_t>(pe)].here()) return;  // its own process rings it
    full_fence();
    world_.ring_sync(pe);
  }

 private:
  /// Of places that are often a power of two apart, as blocks of the heap are.
  static std::uint32_t spread(std::uintptr_t offset) noexcept {
    return static_cast<std::uint32_t>(offset / sizeof(long) * 0x9e3779b97f4a7c15u >> 32);
  }
  std::uint32_t* half(int which) const noexcept { return reinterpret_cast<std::uint32_t*>(lock_) + which; }

  static void describe(const WaitSite& site, const SegmentTable& segments, WaitText& text) noexcept {
    const LockView& view = *static_cast<const LockView*>(site.object);
    const int previous = static_cast<int>(site.a);
    text.wait.kind = previous < 0 ? WaitKind::successor : WaitKind::lock;
    text.wait.peer = previous;
    text.wait.address = reinterpret_cast<std::uintptr_t>(view.lock_);
    text.wait.offset = view.offset_;
    const std::string place = segments.place(view.lock_);
    if (previous < 0)
      std::snprintf(text.detail, sizeof text.detail, "lock %s, for the next PE in its queue", place.c_str());
    else
      std::snprintf(text.detail, sizeof text.detail, "lock %s, behind PE %d in its queue", place.c_str(), previous);
  }

  const Context& world_;
  long* lock_;
  std::uintptr_t offset_;  // in its segment: the lock's name, equal on all PEs
  const char* call_;
  int home_;
  std::uint32_t ticket_;
};

std::string place_of(const Context& world, const long* lock) { return world.domain().segments->place(lock); }

}  // namespace

void set_lock(const Context& world, long* lock, const char* call) noexcept {
  const LockView view(world, lock, call);
  // A node of zero means: neither in the queue nor holding. The swap from zero also keeps two threads of this PE apart.
  std::uint32_t idle = 0;
  if (!view.own().compare_exchange_strong(idle, kWait, std::memory_order_acq_rel))
    world.fatal(call, strf("this PE holds or waits for the lock at %s already", place_of(world, lock).c_str()));
  const std::uint32_t before = view.swap_tail(view.ticket());
  if (before == 0) {
    view.own().fetch_xor(kWait | kHeld, std::memory_order_acq_rel);
    return;
  }
  const int previous = static_cast<int>(before - 1);
  view.update_node<FetchOr>(previous, view.ticket());
  view.ring(previous);  // it may be waiting, in clear_lock, to learn who comes next
  view.wait(previous, [&] { return (view.own().load(std::memory_order_acquire) & kWait) == 0; });
  view.own().fetch_or(kHeld, std::memory_order_relaxed);
}

int test_lock(const Context& world, long* lock, const char* call) noexcept {
  const LockView view(world, lock, call);
  if (view.compare_swap_tail(0, view.ticket()) != 0) {
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
    const std::uint32_t tail = view.tail();
    world.fatal(call, strf("this PE does not hold the lock at %s: %s", place_of(world, lock).c_str(),
                           tail == 0 ? "nobody does" : strf("PE %u is the last in its queue", tail - 1).c_str()));
  }
  world.quiet();
  std::uint32_t next = view.own().fetch_and(~kHeld, std::memory_order_acq_rel) & kNext;
  if (next == 0 && view.compare_swap_tail(view.ticket(), 0) == view.ticket()) return;
  view.wait(-1, [&] { return (next = view.own().load(std::memory_order_acquire) & kNext) != 0; });
  view.own().store(0, std::memory_order_relaxed);
  const int heir = static_cast<int>(next - 1);
  view.update_node<FetchAnd>(heir, ~kWait);
  view.ring(heir);
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// How a PE waits: it polls, then gives its core away, then sleeps on its doorbell. Fast while cores are free, polite
// when they are not, and never longer asleep than a bound that grows to a millisecond, since plain stores ring no bell.
#pragma once
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "base/fence.hpp"
#include "base/status_page.hpp"
#include "comm/control.hpp"
#include "comm/observer.hpp"
#include "comm/segment_table.hpp"
#include "transport/transport.hpp"

namespace shoal {

/// Where a wait happens, for the status page: the call, and what puts the rest into words. That is only done when the
/// wait leaves its spin phase.
struct WaitSite {
  using Describe = void (*)(const WaitSite& site, const SegmentTable& segments, WaitText& text) noexcept;
  /// `format`: a printf format for up to three unsigned long long arguments.
  constexpr explicit WaitSite(const char* call_name, const char* format = "", unsigned long long a_ = 0,
                              unsigned long long b_ = 0, unsigned long long c_ = 0)
      : call(call_name), describe(describe_by_format), object(format), a(a_), b(b_), c(c_) {}
  constexpr WaitSite(const char* call_name, Describe describe_, const void* object_, unsigned long long a_ = 0,
                     unsigned long long b_ = 0, unsigned long long c_ = 0)
      : call(call_name), describe(describe_), object(object_), a(a_), b(b_), c(c_) {}
  const char* call;
  Describe describe;
  const void* object;  ///< `describe` knows what it is
  unsigned long long a, b, c;

  static void describe_by_format(const WaitSite& site, const SegmentTable& segments, WaitText& text) noexcept;
};

/// Which bell a waiter listens to: Sync for words that only the library writes, User for words that the user's puts,
/// atomics and signals write.
enum class Bell { sync, user };

/// One per PE; all its threads wait through it. Thread safe.
class Waiter final {
 public:
  /// @param own     this PE's doorbell
  /// @param node    the words all PEs of the node share
  /// @param segments  names the places that are waited for; outlives this
  /// @param status  where this PE publishes what it waits for; may be null
  /// @param spins   polls before it yields
  /// @param transport  to be polled as well, and then out of line; null: all PEs are on this node
  Waiter(Doorbell& own, NodeWords& node, const SegmentTable& segments, StatusRecord* status, int spins,
         Transport* transport = nullptr)
      : own_(own),
        node_(node),
        segments_(segments),
        status_(status),
        spins_(transport == nullptr ? spins : 0),
        transport_(transport),
        far_spins_(spins),
        shares_core_(spins < kYieldingSpins) {}

  /// Tells `observer` several times a second of each wait that lasts. To be called before any wait.
  void watch(Observer* observer) noexcept { observer_ = observer; }

  /// Returns when `done()` is true, and calls it no more then: it may take what it waits for. It must be cheap, free of
  /// side effects while false, and read with acquire.
  template <class Done>
  void wait(Bell bell, const WaitSite& site, Done&& done) noexcept {
    if (!spin(done)) wait_longer(own_, bell, site, done);
  }
  /// The first part of wait, for callers who make their site only when it is needed. @return whether `done` became true
  template <class Done>
  bool spin(Done&& done) noexcept {
    for (int i = 0; i < spins_; ++i) {
      if (done()) return true;
      cpu_relax();
    }
    return done();
  }
  /// The second part.
  template <class Done>
  void wait_longer(Bell bell, const WaitSite& site, Done&& done) noexcept {
    wait_longer(own_, bell, site, done);
  }

  /// The same for a word at another PE of the node: sleeps on that PE's doorbell, which its writers ring.
  template <class Done>
  void wait_on(Doorbell& doorbell, Bell bell, const WaitSite& site, Done&& done) noexcept {
    if (!spin(done)) wait_longer(doorbell, bell, site, done);
  }

  /// Where a search over several words starts, another place each time: a word that always holds must not hide the
  /// others. Scrambled, since callers that alternate between sets would else start at the same place of each every
  /// time.
  std::size_t turn(std::size_t count) noexcept {
    return (turns_.fetch_add(1, std::memory_order_relaxed) * 0x9E3779B97F4A7C15u >> 32) % count;
  }

  /// A test of the user's found nothing: serve the transport. With more PEs than cores, every so many of these give the
  /// core away.
  void test_failed() noexcept {
    if (spins_ < kYieldingSpins) test_failed_slowly();
  }

  /// A spin budget below this says that the core is shared.
  static constexpr int kYieldingSpins = 100;

 private:
  /// What the record says of a wait, and what it said before, to be put back.
  struct Published {
    StatusFields before, wait;
  };
  void test_failed_slowly() noexcept;
  template <class Done>
  void wait_longer(Doorbell& doorbell, Bell bell, const WaitSite& site, Done& done) noexcept {
    wait_slowly(
        doorbell, bell, site, [](void* d) { return (*static_cast<std::remove_reference_t<Done>*>(d))(); }, &done);
  }
  /// @return false when there is nowhere to publish, or another thread does
  bool publish(const WaitSite& site, Published& published) noexcept;
  void unpublish(Published& published) noexcept;
  /// Shows that this PE looks, and what the word that is waited for holds now.
  void show_progress(const Wait& wait) noexcept;
  /// After the polls: tells the observer how long it took.
  void wait_slowly(Doorbell& doorbell, Bell bell, const WaitSite& site, bool (*done)(void*), void* argument) noexcept;
  void wait_long(Doorbell& doorbell, Bell bell, const WaitSite& site, bool (*done)(void*), void* argument) noexcept;
  /// @return whether `done` was true at the last look, before sleeping
  bool sleep(Doorbell& doorbell, Bell bell, bool announce, std::uint64_t bound_ns, bool (*done)(void*),
             void* argument) noexcept;

  Doorbell& own_;
  NodeWords& node_;
  const SegmentTable& segments_;
  StatusRecord* status_;
  int spins_;
  Observer* observer_ = nullptr;
  Transport* transport_;
  int far_spins_;  // as spins_, where a transport is polled
  bool shares_core_;
  std::atomic<std::uint32_t> failed_tests_{0};
  std::atomic<std::uint64_t> turns_{0};
  std::atomic_flag publishing_ = ATOMIC_FLAG_INIT;  // the record has one writer: the first thread that waits
};

/// Wakes whoever sleeps on this doorbell, however they wait.
void ring_slowly(Doorbell& doorbell) noexcept;

/// To be called after a store (to a word of the PE that owns the doorbell) and a full fence.
inline void ring(Doorbell& doorbell, Bell bell) noexcept {
  const auto& sleepers = bell == Bell::sync ? doorbell.sync_sleepers : doorbell.user_sleepers;
  if (sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    ring_slowly(doorbell);
}

}  // namespace shoal

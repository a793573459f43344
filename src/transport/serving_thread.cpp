// SPDX-License-Identifier: Apache-2.0
#include "transport/serving_thread.hpp"

#include <sched.h>

#include "base/clock.hpp"
#include "base/fence.hpp"
#include "base/futex.hpp"
#include "base/quiet_signals.hpp"

namespace shoal {
namespace {

constexpr std::uint64_t kStandbyNs = 200'000;
constexpr unsigned kLookEach = 256;         // turns of it, between looks at what is lost
constexpr std::uint64_t kAwakeNs = 50'000;  // the thread looks on after it served, while its PE sleeps

}  // namespace

std::thread start_thread(std::function<void()> body) {
  const QuietSignals quiet;
  return std::thread(std::move(body));
}

void ServingThread::start() {
  thread_ = start_thread([this] { run(); });
}

void ServingThread::stop() noexcept {
  if (stop_.exchange(true, std::memory_order_seq_cst) || !thread_.joinable()) return;
  served_.nudge();
  standby_.fetch_add(1, std::memory_order_release);
  futex_wake_all(standby_);
  thread_.join();
}

void ServingThread::rest() noexcept {
  resting_.store(true, std::memory_order_relaxed);
  if (serving_.load(std::memory_order_seq_cst)) return;
  standby_.fetch_add(1, std::memory_order_release);
  futex_wake_all(standby_);
}

void ServingThread::run() noexcept {
  while (!stop_.load(std::memory_order_acquire)) {
    stand_by();
    const std::uint32_t polls = polls_.load(std::memory_order_relaxed), sends = sends_.load(std::memory_order_relaxed);
    serving_.store(true, std::memory_order_seq_cst);
    full_fence();  // before the look at what lies; partner: the look at serving_ in given()
    served_.send_what_lies();
    while (!stop_.load(std::memory_order_acquire) && polls_.load(std::memory_order_relaxed) == polls &&
           sends_.load(std::memory_order_relaxed) == sends) {
      const bool any = served_.serve_next();
      if (any && resting_.load(std::memory_order_relaxed)) stay_awake();
      served_.watch_lost();
    }
    serving_.store(false, std::memory_order_seq_cst);
  }
}

/// Returns when this PE has neither polled nor sent for a while, or is about to sleep.
void ServingThread::stand_by() noexcept {
  for (;;) {
    const std::uint32_t polls = polls_.load(std::memory_order_relaxed), sends = sends_.load(std::memory_order_relaxed);
    const std::uint32_t word = standby_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_acquire)) return;
    futex_wait(standby_, word, kStandbyNs);
    served_.watch_lost();
    if (standby_.load(std::memory_order_acquire) != word) return;
    const bool polled = polls_.load(std::memory_order_relaxed) != polls;
    if (!polled) served_.serve_all();
    if (!polled && sends_.load(std::memory_order_relaxed) == sends) return;
  }
}

/// What was served has likely a successor soon, and to fall asleep and be woken costs ten times what it takes to serve
/// it.
void ServingThread::stay_awake() noexcept {
  unsigned turns = 0;
  for (std::uint64_t until = now_ns() + kAwakeNs; now_ns() < until && resting_.load(std::memory_order_relaxed);) {
    if (served_.serve_all()) until = now_ns() + kAwakeNs;
    if (++turns % kLookEach == 0) served_.watch_lost();
    ::sched_yield();  // the PE that asks may need this very core
  }
}

}  // namespace shoal

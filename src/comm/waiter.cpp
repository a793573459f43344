// SPDX-License-Identifier: Apache-2.0
#include "comm/waiter.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/futex.hpp"

namespace shoal {
namespace {

constexpr int kYields = 64;                        // times to give the core away before sleeping
constexpr std::uint64_t kFirstSleepNs = 50'000;    // bounds of one sleep: unseen plain stores are noticed this late
constexpr std::uint64_t kLongestSleepNs = 1'000'000;
// A sleeper on the user's words that was woken this often for nothing stops listening for a while to quiets and atomics that
// mean other words, and relies on the bound: else every quiet of a busy PE would pay for waking it.
constexpr int kFutileRings = 8;

}  // namespace

void ring_slowly(Doorbell& doorbell) noexcept {
  doorbell.word.fetch_add(1, std::memory_order_release);
  futex_wake_all(doorbell.word);
}

void Waiter::yield() noexcept { ::sched_yield(); }

bool Waiter::sleep(Doorbell& doorbell, Bell bell, bool announce, std::uint64_t bound_ns, bool (*done)(void*),
                   void* argument) noexcept {
  auto& sleepers = bell == Bell::sync ? doorbell.sync_sleepers : doorbell.user_sleepers;
  const std::uint32_t word = doorbell.word.load(std::memory_order_acquire);
  if (announce) {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (bell == Bell::user) node_.user_sleepers.fetch_add(1, std::memory_order_seq_cst);
  }
  full_fence();  // the announcement before the last look; partner: the fence between a writer's store and ring()
  const bool satisfied = done(argument);
  if (!satisfied) futex_wait(doorbell.word, word, bound_ns);
  if (announce) {
    if (bell == Bell::user) node_.user_sleepers.fetch_sub(1, std::memory_order_relaxed);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
  return satisfied;
}

bool Waiter::publish(const WaitSite& site, Saved& saved) noexcept {
  if (status_ == nullptr || publishing_.test_and_set(std::memory_order_acquire)) return false;
  // Only this process writes the record, and only one thread at a time gets here: a plain look is consistent.
  saved.phase = status_->phase;
  std::memcpy(saved.call, status_->call, sizeof saved.call);
  std::memcpy(saved.detail, status_->detail, sizeof saved.detail);
  char detail[sizeof status_->detail];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  std::snprintf(detail, sizeof detail, site.format, site.a, site.b, site.c);
#pragma GCC diagnostic pop
  StatusWriter(status_).set(Phase::waiting, site.call, detail);
  return true;
}

void Waiter::wait_slowly(Doorbell& doorbell, Bell bell, const WaitSite& site, bool (*done)(void*),
                         void* argument) noexcept {
  for (int i = 0; i < kYields; ++i) {
    ::sched_yield();
    if (done(argument)) return;
  }
  Saved before_wait;
  bool publishes = false;
  std::uint64_t bound_ns = kFirstSleepNs;
  int futile = 0;
  for (;;) {
    publishes = publishes || publish(site, before_wait);  // another thread may have been first, and done since
    const std::uint32_t before = doorbell.word.load(std::memory_order_relaxed);
    if (sleep(doorbell, bell, bell == Bell::sync || futile < kFutileRings, bound_ns, done, argument)) break;
    if (done(argument)) break;
    // Deaf for as many sleeps as it heard rings in vain, then it listens again.
    if (futile >= kFutileRings)
      futile = futile + 1 < 2 * kFutileRings ? futile + 1 : 0;
    else if (doorbell.word.load(std::memory_order_relaxed) != before)
      ++futile;
    bound_ns = std::min(bound_ns * 2, kLongestSleepNs);
  }
  if (publishes) {
    StatusWriter(status_).set(before_wait.phase, before_wait.call, before_wait.detail);
    publishing_.clear(std::memory_order_release);
  }
}

}  // namespace shoal

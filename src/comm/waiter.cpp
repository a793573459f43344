// SPDX-License-Identifier: Apache-2.0
#include "comm/waiter.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/tuning.hpp"

namespace shoal {
namespace {

constexpr unsigned kToldEvery = 256;  // sleeps, of a millisecond each at the end

}  // namespace

using namespace tuned;

void ring_slowly(Doorbell& doorbell) noexcept {
  doorbell.word.fetch_add(1, std::memory_order_release);
  futex_wake_all(doorbell.word);
}

void Waiter::test_failed_slowly() noexcept {
  if (transport_ != nullptr) transport_->progress();
  if (shares_core_ && failed_tests_.fetch_add(1, std::memory_order_relaxed) % 16 == 15) ::sched_yield();
}

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

void WaitSite::describe_by_format(const WaitSite& site, WaitText& text) noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  std::snprintf(text.detail, sizeof text.detail, static_cast<const char*>(site.object), site.a, site.b, site.c);
#pragma GCC diagnostic pop
}

bool Waiter::publish(const WaitSite& site, Saved& saved) noexcept {
  if (status_ == nullptr || publishing_.test_and_set(std::memory_order_acquire)) return false;
  const StatusFields before = StatusWriter(status_).now();
  if (before.phase == Phase::leaving && std::strncmp(site.call, "shmem_finalize", 14) != 0) {
    // A thread that ends the program is the news, not what another one waits for.
    publishing_.clear(std::memory_order_release);
    return false;
  }
  saved.phase = before.phase;
  saved.began_ns = now_ns();
  std::memcpy(saved.call, before.call, sizeof saved.call);
  std::memcpy(saved.text.detail, before.detail, sizeof saved.text.detail);
  saved.text.wait = before.wait;
  saved.text.members = before.members;
  WaitText text;
  site.describe(site, text);
  StatusWriter(status_).set(Phase::waiting, site.call, text);
  saved.shown = text.wait;
  show_progress(saved.shown);
  return true;
}

void Waiter::unpublish(const Saved& saved) noexcept {
  Counters& counters = status_->counters;  // written by this thread alone, until the flag is cleared
  counters.waits.store(counters.waits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  counters.waited_ns.store(counters.waited_ns.load(std::memory_order_relaxed) + now_ns() - saved.began_ns,
                           std::memory_order_relaxed);
  // Unless the program ends meanwhile, in another thread.
  StatusWriter writer(status_);
  if (writer.now().phase == Phase::waiting) writer.set(saved.phase, saved.call, saved.text);
  publishing_.clear(std::memory_order_release);
}

void Waiter::show_progress(const Wait& wait) noexcept {
  status_->counters.polls.store(status_->counters.polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (wait.width == 0) return;
  const auto read = [&]<class T>(T) {
    const T value = std::atomic_ref<T>(*reinterpret_cast<T*>(wait.address)).load(std::memory_order_relaxed);
    return wait.is_signed != 0 ? static_cast<std::uint64_t>(static_cast<std::make_signed_t<T>>(value))
                               : std::uint64_t{value};
  };
  std::uint64_t value = 0;
  switch (wait.width) {
    case 1: value = read(std::uint8_t{}); break;
    case 2: value = read(std::uint16_t{}); break;
    case 4: value = read(std::uint32_t{}); break;
    default: value = read(std::uint64_t{}); break;
  }
  status_->counters.seen.store(value, std::memory_order_relaxed);
}

void Waiter::wait_slowly(Doorbell& doorbell, Bell bell, const WaitSite& site, bool (*done)(void*),
                         void* argument) noexcept {
  if (transport_ != nullptr)
    for (int i = 0; i < far_spins_ / kFarPolls; ++i) {
      if (transport_->progress()) i = 0;  // while something goes on it is worth staying awake
      if (done(argument)) return;
    }
  for (int i = 0; i < kYields; ++i) {
    if (transport_ != nullptr) transport_->progress();
    if (done(argument)) return;
    ::sched_yield();
    if (done(argument)) return;
  }
  if (transport_ != nullptr) {
    transport_->progress();
    transport_->rest();
  }
  Saved before_wait;
  bool publishes = false;
  std::uint64_t bound_ns = kFirstSleepNs;
  int futile = 0;
  unsigned sleeps = 0;
  for (;;) {
    if (publishes) show_progress(before_wait.shown);
    if (observer_ != nullptr && ++sleeps % kToldEvery == 0) observer_->waiting(site.call);
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
  if (publishes) unpublish(before_wait);
}

}  // namespace shoal

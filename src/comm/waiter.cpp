// SPDX-License-Identifier: Apache-2.0
#include "comm/waiter.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/ticks.hpp"
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

void WaitSite::describe_by_format(const WaitSite& site, const SegmentTable&, WaitText& text) noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  std::snprintf(text.detail, sizeof text.detail, static_cast<const char*>(site.object), site.a, site.b, site.c);
#pragma GCC diagnostic pop
}

bool Waiter::publish(const WaitSite& site, Published& published) noexcept {
  if (status_ == nullptr || publishing_.test_and_set(std::memory_order_acquire)) return false;
  WaitText text;
  site.describe(site, segments_, text);
  published.wait = status_fields(Phase::waiting, site.call, text);
  // A thread that ends the program is the news, not what another one waits for.
  const bool finalizes = std::strncmp(site.call, "shmem_finalize", 14) == 0;
  const auto no_news = [&](const StatusFields& said) { return said.phase != Phase::leaving || finalizes; };
  if (!StatusWriter(status_).replace_if(no_news, published.wait, &published.before)) {
    publishing_.clear(std::memory_order_release);
    return false;
  }
  show_progress(published.wait.wait);
  return true;
}

void Waiter::unpublish(Published& published) noexcept {
  const std::uint64_t now = now_ns();
  Counters& counters = status_->counters;  // written by this thread alone, until the flag is cleared
  counters.waits.store(counters.waits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  counters.waited_ns.store(counters.waited_ns.load(std::memory_order_relaxed) + now - published.wait.since_ns,
                           std::memory_order_relaxed);
  published.before.since_ns = now;
  // Unless the program ends meanwhile, in another thread.
  StatusWriter(status_).replace_if([](const StatusFields& said) { return said.phase == Phase::waiting; },
                                   published.before, nullptr);
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
  if (observer_ == nullptr) return wait_long(doorbell, bell, site, done, argument);
  const std::uint64_t began = ticks();
  wait_long(doorbell, bell, site, done, argument);
  observer_->waited(began);
}

void Waiter::wait_long(Doorbell& doorbell, Bell bell, const WaitSite& site, bool (*done)(void*),
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
  Published published;
  bool publishes = false;
  std::uint64_t bound_ns = kFirstSleepNs;
  int futile = 0;
  unsigned sleeps = 0;
  for (;;) {
    if (publishes) show_progress(published.wait.wait);
    if (observer_ != nullptr && ++sleeps % kToldEvery == 0) observer_->waiting(site.call);
    publishes = publishes || publish(site, published);  // another thread may have been first, and done since
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
  if (publishes) unpublish(published);
}

}  // namespace shoal

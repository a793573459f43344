// SPDX-License-Identifier: Apache-2.0
#include "comm/chaos.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/quiet_signals.hpp"
#include "comm/context.hpp"

namespace shoal {
namespace {

constexpr std::uint64_t kLongestPauseNs = 3'000'000;  // before a delivery of a quiet
constexpr std::uint64_t kLookNs = 1'000'000;          // how exactly the thread keeps due times

std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Chaos::Chaos(const Domain& domain, std::uint64_t seed)
    : domain_(domain), seed_(mix(seed + 0x9e3779b97f4a7c15u * (static_cast<std::uint64_t>(domain.me) + 1))) {
  const QuietSignals quiet;
  thread_ = std::thread([this] { run(); });
}

Chaos::~Chaos() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint64_t Chaos::roll() noexcept { return mix(seed_ + 0x9e3779b97f4a7c15u * ++rolls_); }

bool Chaos::may_go(const Operation& operation) const noexcept {
  for (const Operation& other : queue_) {
    if (&other == &operation) return true;  // the rest was given later
    if (other.context != operation.context || other.place.far.pe != operation.place.far.pe) continue;
    if (other.epoch < operation.epoch) return false;
  }
  return true;
}

void Chaos::carry_out(const Operation& operation) noexcept {
  char* const here = operation.place.here;
  if (here == nullptr) return carry_out_far(operation);
  switch (operation.kind) {
    case Kind::put:
      copy_shared(here, operation.data.empty() ? operation.source : operation.data.data(), operation.bytes);
      break;
    case Kind::get: copy_shared(operation.dest, here, operation.bytes); break;
    case Kind::update: {
      const std::uint64_t old = apply(operation.call, here);
      if (operation.dest != nullptr) std::memcpy(operation.dest, &old, operation.bytes);
    }
  }
  full_fence();
  ring(domain_.controls[static_cast<std::size_t>(operation.place.far.pe)].doorbell(), Bell::user);
}

void Chaos::carry_out_far(const Operation& operation) noexcept {
  Transport& transport = *domain_.transport;
  const Far& far = operation.place.far;
  // What a fence of the program's puts before it is with the transport already, but came to it after that fence did.
  transport.fence();
  switch (operation.kind) {
    case Kind::put:
      return transport.put(far, operation.data.empty() ? operation.source : operation.data.data(), operation.bytes);
    case Kind::get: return transport.get(far, operation.dest, operation.bytes, *domain_.unwaited, true);
    case Kind::update:
      if (operation.dest == nullptr) return transport.update(far, operation.call);
      return transport.fetch(far, operation.call, operation.dest, *domain_.unwaited, true);
  }
}

void Chaos::deliver(Queue::iterator operation) noexcept {
  carry_out(*operation);
  queue_.erase(operation);
}

std::size_t Chaos::one_of(std::size_t count) noexcept {
  const std::uint64_t chance = roll();
  return chance % 4 != 0 ? count - 1 : chance / 4 % count;
}

/// One that may go, by chance.
void Chaos::deliver_any() noexcept {
  std::vector<Queue::iterator> candidates;
  for (auto it = queue_.begin(); it != queue_.end(); ++it)
    if (may_go(*it)) candidates.push_back(it);
  deliver(candidates[one_of(candidates.size())]);  // the oldest epoch may always go
}

/// Those for which `chosen(operation)` holds, by chance among those that may go.
/// @param slowly  with a pause after the first, and now and then before one, in which others see what is there already
/// and what is not: who lets the others go on from a meeting mostly comes to its next quiet before they have looked
template <class Chosen>
void Chaos::deliver_all(Chosen&& chosen, bool slowly) noexcept {
  for (std::size_t given = 0;; ++given) {
    std::vector<Queue::iterator> candidates;
    for (auto it = queue_.begin(); it != queue_.end(); ++it)
      if (chosen(*it) && may_go(*it)) candidates.push_back(it);
    if (candidates.empty()) return;
    if (slowly && (given == 1 || roll() % 3 == 0))
      std::this_thread::sleep_for(std::chrono::nanoseconds(kLongestPauseNs / 2 + roll() % (kLongestPauseNs / 2)));
    deliver(candidates[one_of(candidates.size())]);
  }
}

void Chaos::settle(const void* context, int pe) noexcept {
  const std::uint64_t epoch = epochs_[context];
  deliver_all([&](const Operation& operation) {
    return operation.context == context && operation.place.far.pe == pe && operation.epoch < epoch;
  });
}

void Chaos::add(Operation operation) {
  const std::lock_guard guard(mutex_);
  operation.epoch = epochs_[operation.context];
  const std::uint64_t chance = roll();
  // One at once, most within the time of some calls, a few as late as is allowed: long programs are to come to an end.
  static constexpr std::uint64_t kMost[] = {
      0,        kLatestNs / 400, kLatestNs / 400, kLatestNs / 400, kLatestNs / 100, kLatestNs / 100, kLatestNs / 10,
      kLatestNs};
  const std::uint64_t most = kMost[chance % 8];
  operation.due_ns = now_ns() + (most == 0 ? 0 : (chance >> 8) % most);
  queue_.push_back(std::move(operation));
  const auto last = std::prev(queue_.end());
  if (most == 0 && may_go(*last)) deliver(last);
  while (queue_.size() > kMostQueued) deliver_any();
}

void Chaos::put(const void* context, const Place& to, const void* from, std::size_t bytes, bool blocking) {
  const auto* source = static_cast<const char*>(from);
  Operation operation{.kind = Kind::put, .context = context, .place = to, .bytes = bytes, .source = source};
  if (blocking) operation.data.assign(source, source + bytes);
  add(std::move(operation));
}

void Chaos::get_nbi(const void* context, void* to, const Place& from, std::size_t bytes) {
  add({.kind = Kind::get, .context = context, .place = from, .bytes = bytes, .dest = to});
}

void Chaos::update(const void* context, const Place& word, const AtomicCall& call, void* result) {
  add({.kind = Kind::update, .context = context, .place = word, .bytes = call.width, .dest = result, .call = call});
}

void Chaos::put_early(const void* context, const Place& to, const void* from, std::size_t bytes) {
  const std::lock_guard guard(mutex_);
  settle(context, to.far.pe);
  carry_out({.kind = Kind::put, .context = context, .place = to, .bytes = bytes, .source = from});
}

void Chaos::signal(const void* context, const Place& word, const AtomicCall& call) {
  const std::lock_guard guard(mutex_);
  settle(context, word.far.pe);
  carry_out({.kind = Kind::update, .context = context, .place = word, .bytes = call.width, .call = call});
}

void Chaos::settle_range(const void* context, const Place& place, std::size_t bytes) noexcept {
  const Far& at = place.far;
  const auto there = [&](const Operation& operation) {
    return operation.context == context && operation.place.far.pe == at.pe;
  };
  const auto overlaps = [&](const Operation& operation) {
    const Far& other = operation.place.far;
    return there(operation) && other.key == at.key && at.offset < other.offset + operation.bytes &&
           other.offset < at.offset + bytes;
  };
  if (std::any_of(queue_.begin(), queue_.end(), overlaps)) deliver_all(there);
}

void Chaos::before_read(const void* context, const Place& from, std::size_t bytes) {
  const std::lock_guard guard(mutex_);
  if (roll() % 2 == 0) settle_range(context, from, bytes);
}

void Chaos::before_atomic(const void* context, const Place& word, std::size_t width) {
  const std::lock_guard guard(mutex_);
  settle(context, word.far.pe);
  if (roll() % 2 == 0) settle_range(context, word, width);
}

void Chaos::fence(const void* context) {
  const std::lock_guard guard(mutex_);
  ++epochs_[context];
}

void Chaos::quiet(const void* context) {
  const std::lock_guard guard(mutex_);
  deliver_all([&](const Operation& operation) { return operation.context == context; }, true);
}

void Chaos::drain() {
  const std::lock_guard guard(mutex_);
  deliver_all([](const Operation&) { return true; });
}

void Chaos::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const std::uint64_t now = now_ns();
    for (bool more = true; more;) {
      const auto due = std::find_if(queue_.begin(), queue_.end(), [&](const Operation& operation) {
        return operation.due_ns <= now && may_go(operation);
      });
      more = due != queue_.end();
      if (more) deliver(due);
    }
    changed_.wait_for(lock, std::chrono::nanoseconds(kLookNs));
  }
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "comm/chaos.hpp"

#include <algorithm>
#include <chrono>

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
    if (other.context != operation.context || other.pe != operation.pe) continue;
    if (other.epoch < operation.epoch) return false;
  }
  return true;
}

bool Chaos::overlap(const Operation& operation, const char* at, std::size_t bytes) noexcept {
  return at < operation.to + operation.bytes && operation.to < at + bytes;
}

void Chaos::deliver(Queue::iterator operation) noexcept {
  const char* from = operation->data.empty() ? operation->from : operation->data.data();
  if (operation->update.run != nullptr)
    operation->update.run(operation->to, operation->update);
  else
    copy_shared(operation->to, from, operation->bytes);
  full_fence();
  ring(domain_.controls[static_cast<std::size_t>(operation->pe)].doorbell(), Bell::user);
  queue_.erase(operation);
}

/// One that may go, by chance.
void Chaos::deliver_any() noexcept {
  std::vector<Queue::iterator> candidates;
  for (auto it = queue_.begin(); it != queue_.end(); ++it)
    if (may_go(*it)) candidates.push_back(it);
  deliver(candidates[roll() % candidates.size()]);  // the oldest epoch may always go
}

/// Those for which `chosen(operation)` holds, by chance among those that may go.
/// @param slowly  now and then after a pause, in which others see what is there already and what is not: who lets the
/// others go on from a meeting mostly comes to its next quiet before they have looked
template <class Chosen>
void Chaos::deliver_all(Chosen&& chosen, bool slowly) noexcept {
  while (true) {
    std::vector<Queue::iterator> candidates;
    for (auto it = queue_.begin(); it != queue_.end(); ++it)
      if (chosen(*it) && may_go(*it)) candidates.push_back(it);
    if (candidates.empty()) return;
    if (slowly && roll() % 3 == 0)
      std::this_thread::sleep_for(std::chrono::nanoseconds(roll() % kLongestPauseNs));
    deliver(candidates[roll() % candidates.size()]);
  }
}

void Chaos::settle(const void* context, int pe) noexcept {
  const std::uint64_t epoch = epochs_[context];
  deliver_all([&](const Operation& operation) {
    return operation.context == context && operation.pe == pe && operation.epoch < epoch;
  });
}

void Chaos::add(Operation operation) {
  const std::lock_guard guard(mutex_);
  operation.epoch = epochs_[operation.context];
  const std::uint64_t chance = roll();
  // Some at once, most within the time of some calls, a few as late as is allowed: long programs are to come to an end.
  static constexpr std::uint64_t kMost[] = {
      0, 0, kLatestNs / 400, kLatestNs / 400, kLatestNs / 100, kLatestNs / 100, kLatestNs / 10, kLatestNs};
  const std::uint64_t most = kMost[chance % 8];
  operation.due_ns = now_ns() + (most == 0 ? 0 : (chance >> 8) % most);
  queue_.push_back(std::move(operation));
  const auto last = std::prev(queue_.end());
  if (most == 0 && may_go(*last)) deliver(last);
  while (queue_.size() > kMostQueued) deliver_any();
}

void Chaos::put(const void* context, int pe, char* to, const void* from, std::size_t bytes, bool blocking) {
  const auto* source = static_cast<const char*>(from);
  add({context,
       pe,
       0,
       0,
       to,
       source,
       bytes,
       blocking ? std::vector<char>(source, source + bytes) : std::vector<char>(),
       {}});
}

void Chaos::get_nbi(const void* context, int pe, void* to, const char* from, std::size_t bytes) {
  add({context, pe, 0, 0, static_cast<char*>(to), from, bytes, {}, {}});
}

void Chaos::update(const void* context, int pe, void* word, std::size_t width, const Update& update) {
  add({context, pe, 0, 0, static_cast<char*>(word), nullptr, width, {}, update});
}

void Chaos::put_early(const void* context, int pe, char* to, const void* from, std::size_t bytes) {
  const std::lock_guard guard(mutex_);
  settle(context, pe);
  copy_shared(to, from, bytes);
}

void Chaos::signal(const void* context, int pe, void* word, const Update& update) {
  const std::lock_guard guard(mutex_);
  settle(context, pe);
  full_fence();
  update.run(word, update);
  full_fence();
  ring(domain_.controls[static_cast<std::size_t>(pe)].doorbell(), Bell::user);
}

void Chaos::settle_range(const void* context, int pe, const char* at, std::size_t bytes) noexcept {
  const auto here = [&](const Operation& operation) { return operation.context == context && operation.pe == pe; };
  if (std::any_of(queue_.begin(), queue_.end(),
                  [&](const Operation& operation) { return here(operation) && overlap(operation, at, bytes); }))
    deliver_all(here);
}

void Chaos::before_read(const void* context, int pe, const char* from, std::size_t bytes) {
  const std::lock_guard guard(mutex_);
  if (roll() % 2 == 0) settle_range(context, pe, from, bytes);
}

void Chaos::before_atomic(const void* context, int pe, const char* word, std::size_t width) {
  const std::lock_guard guard(mutex_);
  settle(context, pe);
  if (roll() % 2 == 0) settle_range(context, pe, word, width);
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

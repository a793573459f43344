// SPDX-License-Identifier: Apache-2.0
// Waiting for, and testing, words of one's own: the six comparisons, alone and over arrays with a status mask.
// A status of nonzero leaves an element out. OpenSHMEM 1.6, "Point-to-Point Synchronization Routines".
#pragma once
#include <shmem/constants.h>

#include <atomic>
#include <cstddef>
#include <type_traits>

#include "base/error.hpp"
#include "comm/context.hpp"

namespace shoal {

template <class T>
T load_acquire(const T* word) noexcept {
  return std::atomic_ref<T>(*const_cast<T*>(word)).load(std::memory_order_acquire);
}

template <class T>
bool compare(T left, int cmp, T right) noexcept {
  switch (cmp) {
    case SHMEM_CMP_EQ: return left == right;
    case SHMEM_CMP_NE: return left != right;
    case SHMEM_CMP_GT: return left > right;
    case SHMEM_CMP_GE: return left >= right;
    case SHMEM_CMP_LT: return left < right;
    default: return left <= right;
  }
}

inline void check_comparison(const Context& context, int cmp, const char* call) noexcept {
  switch (cmp) {
    case SHMEM_CMP_EQ:
    case SHMEM_CMP_NE:
    case SHMEM_CMP_GT:
    case SHMEM_CMP_GE:
    case SHMEM_CMP_LT:
    case SHMEM_CMP_LE: return;
    default: context.fatal(call, strf("comparison %d is none of SHMEM_CMP_EQ, NE, GT, GE, LT, LE", cmp));
  }
}

/// How a wait for values is shown; `site` is what WaitSet::site makes.
void describe_value_wait(const WaitSite& site, const SegmentTable& segments, WaitText& text) noexcept;

/// A set of words with the values that they are compared to.
template <class T>
struct WaitSet {
  T* words;
  std::size_t count;
  const int* status;  ///< null: all take part
  int cmp;
  const T* values;  ///< one for each word (vector forms), or one for all
  bool vector;

  bool takes_part(std::size_t i) const noexcept { return status == nullptr || status[i] == 0; }
  bool holds(std::size_t i) const noexcept { return compare(load_acquire(words + i), cmp, values[vector ? i : 0]); }
  bool empty() const noexcept {
    for (std::size_t i = 0; i < count; ++i)
      if (takes_part(i)) return false;
    return true;
  }
  bool all() const noexcept {
    for (std::size_t i = 0; i < count; ++i)
      if (takes_part(i) && !holds(i)) return false;
    return true;
  }
  /// An element that holds, fairly chosen; SIZE_MAX when there is none.
  std::size_t any(Waiter& waiter) const noexcept {
    if (count == 0) return SIZE_MAX;
    const std::size_t first = waiter.turn(count);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = first + k < count ? first + k : first + k - count;
      if (takes_part(i) && holds(i)) return i;
    }
    return SIZE_MAX;
  }
  /// Writes the indices of all elements that hold, in order; gives back how many.
  std::size_t some(std::size_t* indices) const noexcept {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (takes_part(i) && holds(i)) indices[found++] = i;
    return found;
  }
  WaitSet& check(const Context& context, const char* call) noexcept {
    check_comparison(context, cmp, call);
    context.own(words, count, call);
    return *this;
  }
  WaitSite site(const char* call) const noexcept {
    const auto value =
        static_cast<unsigned long long>(vector || count == 0 ? T{} : values[0]);  // sign-extended where signed
    const unsigned how = static_cast<unsigned>(cmp) | (vector ? kVector : 0u) | (std::is_signed_v<T> ? kSigned : 0u) |
                         sizeof(T) * kWidth;
    return {call, describe_value_wait, words, count, value, how};
  }
  // How describe_value_wait is told about the words, beside the comparison.
  static constexpr unsigned kVector = 1u << 8, kSigned = 1u << 9, kWidth = 1u << 16;
};

/// A wait or test of `set` as the observer sees it. @param parts  tell_seen tells which words it has seen
template <class T>
Call call_of(const WaitSet<T>& set, CallKind kind, const char* call, bool parts) noexcept {
  return {.name = call, .kind = kind, .local = set.words, .bytes = bytes_of(set.count, sizeof(T)), .parts = parts};
}

/// Where calls are watched, tells which words have been seen to hold: only these order what comes behind the call.
/// @param seen  says it of an index; asked from the first to the last
template <class T, class Seen>
void tell_seen(const Context& context, const WaitSet<T>& set, const char* call, Seen&& seen) noexcept {
  if (context.plain()) [[likely]]
    return;
  for (std::size_t i = 0; i < set.count; ++i) {
    if (!seen(i)) continue;
    const std::size_t first = i;
    while (i + 1 < set.count && seen(i + 1)) ++i;
    const Observed words(context.domain().observer, [&] {
      return Call{.name = call,
                  .kind = CallKind::test,
                  .local = set.words + first,
                  .bytes = (i + 1 - first) * sizeof(T),
                  .part = true};
    });
  }
}
template <class T>
void tell_seen_all(const Context& context, const WaitSet<T>& set, const char* call) noexcept {
  if (set.status != nullptr) tell_seen(context, set, call, [&](std::size_t i) { return set.takes_part(i); });
}
template <class T>
void tell_seen_one(const Context& context, const WaitSet<T>& set, const char* call, std::size_t found) noexcept {
  tell_seen(context, set, call, [&](std::size_t i) { return i == found; });
}
template <class T>
void tell_seen_some(const Context& context, const WaitSet<T>& set, const char* call, const std::size_t* indices,
                    std::size_t found) noexcept {
  tell_seen(context, set, call, [&, next = indices](std::size_t i) mutable {
    if (next == indices + found || *next != i) return false;
    ++next;
    return true;
  });
}

/// Waits until `done()`; what the set is is only put into words when that takes longer.
template <class T, class Done>
void wait_for(const Context& context, const WaitSet<T>& set, const char* call, Done&& done) noexcept {
  Waiter& waiter = *context.domain().waiter;
  if (!waiter.spin(done)) waiter.wait_longer(Bell::user, set.site(call), done);
}

/// Returns when the one word compares; gives back its value then.
template <class T>
T wait_until(const Context& context, T* word, int cmp, T value, const char* call) noexcept {
  WaitSet<T> set{word, 1, nullptr, cmp, &value, false};
  return watched(
      context, [&] { return call_of(set, CallKind::wait, call, false); }, call,
      [&] {
        set.check(context, call);
        T seen{};
        wait_for(context, set, call, [&] {
          seen = load_acquire(word);
          return compare(seen, cmp, value);
        });
        return seen;
      });
}

template <class T>
void wait_all(const Context& context, WaitSet<T> set, const char* call) noexcept {
  watched(
      context, [&] { return call_of(set, CallKind::wait, call, set.status != nullptr); }, call,
      [&] {
        set.check(context, call);
        wait_for(context, set, call, [&] { return set.all(); });
        tell_seen_all(context, set, call);
      });
}

template <class T>
std::size_t wait_any(const Context& context, WaitSet<T> set, const char* call) noexcept {
  return watched(
      context, [&] { return call_of(set, CallKind::wait, call, true); }, call,
      [&] {
        std::size_t found = SIZE_MAX;
        if (set.check(context, call).empty()) return found;
        Waiter& waiter = *context.domain().waiter;
        wait_for(context, set, call, [&] { return (found = set.any(waiter)) != SIZE_MAX; });
        tell_seen_one(context, set, call, found);
        return found;
      });
}

template <class T>
std::size_t wait_some(const Context& context, WaitSet<T> set, std::size_t* indices, const char* call) noexcept {
  return watched(
      context, [&] { return call_of(set, CallKind::wait, call, true); }, call,
      [&] {
        std::size_t found = 0;
        if (set.check(context, call).empty()) return found;
        wait_for(context, set, call, [&] { return (found = set.some(indices)) != 0; });
        tell_seen_some(context, set, call, indices, found);
        return found;
      });
}

/// Looks once at a set, by `look(set)`. Programs poll in a loop of tests, so one that gave `failed` lets others run now
/// and then. @param parts  `tell(result)` tells what was seen
template <class T, class Result, class Look, class Tell>
Result test_set(const Context& context, WaitSet<T> set, const char* call, bool parts, Result failed, Look&& look,
                Tell&& tell) noexcept {
  return watched(
      context, [&] { return call_of(set, CallKind::test, call, parts); }, call,
      [&] {
        const Result result = look(set.check(context, call));
        if (result == failed) context.domain().waiter->test_failed();
        tell(result);
        return result;
      });
}

template <class T>
bool test_all(const Context& context, WaitSet<T> set, const char* call) noexcept {
  return test_set(
      context, set, call, set.status != nullptr, false, [](const WaitSet<T>& words) { return words.all(); },
      [&](bool) { tell_seen_all(context, set, call); });
}
template <class T>
std::size_t test_any(const Context& context, WaitSet<T> set, const char* call) noexcept {
  return test_set(
      context, set, call, true, SIZE_MAX, [&](const WaitSet<T>& words) { return words.any(*context.domain().waiter); },
      [&](std::size_t found) { tell_seen_one(context, set, call, found); });
}
template <class T>
std::size_t test_some(const Context& context, WaitSet<T> set, std::size_t* indices, const char* call) noexcept {
  return test_set(
      context, set, call, true, std::size_t{0}, [&](const WaitSet<T>& words) { return words.some(indices); },
      [&](std::size_t found) { tell_seen_some(context, set, call, indices, found); });
}

}  // namespace shoal

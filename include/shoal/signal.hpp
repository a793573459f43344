// SPDX-License-Identifier: Apache-2.0
/// \file
/// Signal words: one PE sets or adds, with or without data, another waits. OpenSHMEM 1.6, section "Signaling
/// Operations".
#pragma once

#include <utility>

#include "detail/owner.hpp"
#include "types.hpp"

namespace shoal::inline v1 {

/// A symmetric std::uint64_t that somebody else owns (static, or an element of an Array), used as a signal.
class SignalRef {
 public:
  explicit SignalRef(std::uint64_t* word) noexcept : word_(word) {}

  /// Sets, or adds to, the signal on PE `pe`, atomically; orders nothing else. Data goes by put_signal().
  void set(std::uint64_t value, int pe) const { shmem_signal_set(word_, value, pe); }
  void add(std::uint64_t value, int pe) const { shmem_signal_add(word_, value, pe); }

  /// This PE's own signal; data put with the value seen is visible.
  [[nodiscard]] std::uint64_t load() const { return shmem_signal_fetch(word_); }
  /// Waits for this PE's own signal; returns the value that fulfilled the comparison.
  std::uint64_t wait_until(Cmp cmp, std::uint64_t value) const {
    return shmem_signal_wait_until(word_, static_cast<int>(cmp), value);
  }
  /// Sets this PE's own signal to 0. Whoever signals next must know that it has happened.
  void reset() const { shmem_atomic_set(word_, std::uint64_t{0}, shmem_my_pe()); }

  [[nodiscard]] std::uint64_t* word() const noexcept { return word_; }

 private:
  std::uint64_t* word_;
};

/// A signal of its own in the symmetric heap, 0 at first. Made and destroyed by all PEs, in the same order (see Array).
class Signal : public SignalRef, private detail::CollectiveOwner {
 public:
  /// Collective over the world. Throws HeapExhausted.
  Signal() : SignalRef(static_cast<std::uint64_t*>(shmem_calloc(1, sizeof(std::uint64_t)))) {
    if (word() == nullptr) throw HeapExhausted(sizeof(std::uint64_t));
  }
  ~Signal() {
    if (word() != nullptr && may_release()) shmem_free(word());
  }
  Signal(Signal&& other) noexcept : SignalRef(std::exchange(static_cast<SignalRef&>(other), SignalRef(nullptr))) {}
  Signal& operator=(Signal&&) = delete;
};

}  // namespace shoal::inline v1

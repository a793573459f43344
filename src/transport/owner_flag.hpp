// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sched.h>

#include <atomic>

#include "base/fence.hpp"

namespace shoal {

/// Who has it uses what it guards, one thread at a time. Thread safe.
class OwnerFlag final {
 public:
  bool try_own() noexcept {
    return !owned_.load(std::memory_order_relaxed) && !owned_.exchange(true, std::memory_order_acquire);
  }
  void own() noexcept {
    while (!own_soon()) {
    }
  }
  /// For one who must go on: false when the owner keeps it, since it waits for another PE, say; it serves what it owns.
  bool own_soon() noexcept {
    for (int i = 0; i < kSpins + kYields; ++i) {
      if (try_own()) return true;
      if (i < kSpins)
        cpu_relax();
      else
        ::sched_yield();
    }
    return false;
  }
  void disown() noexcept { owned_.store(false, std::memory_order_release); }

 private:
  static constexpr int kSpins = 200, kYields = 100;
  alignas(64) std::atomic<bool> owned_{false};
};

/// Owns while it lives.
class Owning final {
 public:
  explicit Owning(OwnerFlag& flag) noexcept : flag_(flag) { flag_.own(); }
  ~Owning() { flag_.disown(); }
  Owning(const Owning&) = delete;
  Owning& operator=(const Owning&) = delete;

 private:
  OwnerFlag& flag_;
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// For the last words of a process, which must not wait for ever to be said.
#pragma once
#include <poll.h>

#include <mutex>

#include "base/clock.hpp"

namespace shoal {

/// Takes `mutex` if it comes free within 200 ms: its holder may be another thread in the middle of a frame, which is
/// soon done, or this very thread, interrupted by a signal, which never is. Ask the result whether it owns the lock.
inline std::unique_lock<std::mutex> lock_briefly(std::mutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  for (const std::uint64_t until = now_ns() + 200'000'000; !lock && now_ns() < until;) {
    ::poll(nullptr, 0, 1);
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

}  // namespace shoal

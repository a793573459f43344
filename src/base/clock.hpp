// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <time.h>

#include <cstdint>

namespace shoal {

/// Monotonic time in nanoseconds; the same clock in all processes of a machine.
inline std::uint64_t now_ns() noexcept {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// The processor's own clock, read in a few nanoseconds; of constant rate and equal on all cores on the processors of
// the last decade. For times that people look at, not for anything that must be right.
#pragma once
#include <cstdint>

namespace shoal {

inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#endif
}

/// Measured against CLOCK_MONOTONIC since the first call of this function in the process, for 10 ms at least.
double ns_per_tick() noexcept;

}  // namespace shoal

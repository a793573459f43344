// SPDX-License-Identifier: Apache-2.0
// The plainest code that does what an operation does, through pointers that shmem_ptr gave: what the machine can do at
// best. All that depends on the processor is here.
#pragma once
#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace shoal::perf {

/// Whatever memory holds must be there now, and may be different afterwards: keeps a loop's work in the loop.
inline void keep() { asm volatile("" ::: "memory"); }

/// The value is needed, in a register: a load that leads to it must happen.
template <class T>
inline void use(T value) {
  if constexpr (std::is_floating_point_v<T>) {
#if defined(__x86_64__)
    asm volatile("" : : "x"(value) : "memory");
#elif defined(__aarch64__)
    asm volatile("" : : "w"(value) : "memory");
#else
    asm volatile("" : : "m"(value) : "memory");
#endif
  } else {
    asm volatile("" : : "r"(value) : "memory");
  }
}

/// The cheapest full fence that there is.
inline void full_fence() {
#if defined(__x86_64__)
  asm volatile("lock; addl $0, -8(%%rsp)" ::: "memory", "cc");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// Copies as plainly as can be: a few instructions where they are enough, else memcpy.
inline void copy(void* to, const void* from, std::size_t bytes) {
  switch (bytes) {
    case 1: std::memcpy(to, from, 1); break;
    case 2: std::memcpy(to, from, 2); break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    case 16: std::memcpy(to, from, 16); break;
    case 32: std::memcpy(to, from, 32); break;
    case 64: std::memcpy(to, from, 64); break;
    default: std::memcpy(to, from, bytes); break;
  }
  keep();
}

/// Every `stride`-th element.
inline void strided(std::uint64_t* __restrict to, const std::uint64_t* __restrict from, std::size_t count,
                    std::size_t stride) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4, to += 4 * stride, from += 4 * stride) {
    const std::uint64_t a = from[0], b = from[stride], c = from[2 * stride], d = from[3 * stride];
    to[0] = a;
    to[stride] = b;
    to[2 * stride] = c;
    to[3 * stride] = d;
  }
  for (; i < count; ++i, to += stride, from += stride) *to = *from;
  keep();
}

/// One word on a pair of cache lines of its own (adjacent lines are fetched together).
struct alignas(128) Line {
  std::uint64_t word;
};

inline void store_release(std::uint64_t* word, std::uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

/// How a plain wait polls.
struct Polling {
  std::uint32_t patience;  // polls before the processor is given away between them
  std::uint32_t eager;     // of these, the first so many follow each other at once; the rest pause
};

/// Polls until `*word >= value`.
inline void await(const std::uint64_t* word, std::uint64_t value, Polling polling) {
  for (std::uint32_t polls = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value; ++polls) {
    if (polls < polling.eager) continue;
    relax();
    if (polls >= polling.patience) ::sched_yield();
  }
}

}  // namespace shoal::perf

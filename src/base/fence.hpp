// SPDX-License-Identifier: Apache-2.0
// The memory fences of the ordering rules, in one place: ThreadSanitizer does not understand fences, so under it they
// become a read-modify-write on a word that all fences share, which it does.
#pragma once
#include <atomic>

namespace shoal {

#if defined(__SANITIZE_THREAD__)
#define SHOAL_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHOAL_TSAN 1
#endif
#endif

#ifdef SHOAL_TSAN
inline std::atomic<unsigned> fence_word{0};
inline void release_fence() noexcept { fence_word.fetch_add(1, std::memory_order_acq_rel); }
inline void acquire_fence() noexcept { fence_word.fetch_add(1, std::memory_order_acq_rel); }
inline void full_fence() noexcept { fence_word.fetch_add(1, std::memory_order_seq_cst); }
#else
/// Stores before it are seen before stores after it.
inline void release_fence() noexcept { std::atomic_thread_fence(std::memory_order_release); }
/// Loads before it happen before loads and stores after it.
inline void acquire_fence() noexcept { std::atomic_thread_fence(std::memory_order_acquire); }
/// Stores before it are visible to everyone before any load after it.
inline void full_fence() noexcept {
#if defined(__x86_64__)
  // A locked instruction orders stores and loads like mfence does, at a third of its cost; it does not order
  // non-temporal stores, which is why whoever issues those fences them at once.
  asm volatile("lock; addl $0, -8(%%rsp)" ::: "memory", "cc");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}
#endif

/// Tells the processor that this is a spin loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace shoal

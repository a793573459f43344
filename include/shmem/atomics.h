/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Atomic memory operations. OpenSHMEM 1.6, section "Atomic Memory Operations".
///
/// Each call is one indivisible update of a symmetric, naturally aligned object on PE `pe`; all atomics of one type
/// width on an object are atomic to each other, from any PE. Only the object's own bytes are touched. Operations that
/// return a value are complete on return; the others after shmem_quiet; `fetch` of an `_nbi` form is local and valid
/// after shmem_quiet. Integer arithmetic wraps around. A misaligned object, a PE out of range or an address that isn't
/// symmetric ends the job with a line that says which. Threads: as in shmem/rma.h.
#include <shmem/constants.h>

#if !defined(SHMEM_ATOMICS_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_ATOMICS_H
#endif
#include <shmem/begin.h>

/// Returns the value of `*source` on PE `pe`.
#define SHMEM_DECLARE_(N, T)                                       \
  SHMEM_API T SHMEM_FN(N##_atomic_fetch)(const T *source, int pe); \
  SHMEM_API T SHMEM_FN(ctx_##N##_atomic_fetch)(shmem_ctx_t ctx, const T *source, int pe);
SHMEM_FOR_AMO_EXTENDED_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Sets `*dest` on PE `pe` to `value`.
#define SHMEM_DECLARE_(N, T)                                         \
  SHMEM_API void SHMEM_FN(N##_atomic_set)(T *dest, T value, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_set)(shmem_ctx_t ctx, T *dest, T value, int pe);
SHMEM_FOR_AMO_EXTENDED_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Sets `*dest` on PE `pe` to `value` and returns the old value.
#define SHMEM_DECLARE_(N, T)                                       \
  SHMEM_API T SHMEM_FN(N##_atomic_swap)(T *dest, T value, int pe); \
  SHMEM_API T SHMEM_FN(ctx_##N##_atomic_swap)(shmem_ctx_t ctx, T *dest, T value, int pe);
SHMEM_FOR_AMO_EXTENDED_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Sets `*dest` on PE `pe` to `value` if it equals `cond`; returns the old value either way.
#define SHMEM_DECLARE_(N, T)                                                       \
  SHMEM_API T SHMEM_FN(N##_atomic_compare_swap)(T *dest, T cond, T value, int pe); \
  SHMEM_API T SHMEM_FN(ctx_##N##_atomic_compare_swap)(shmem_ctx_t ctx, T *dest, T cond, T value, int pe);
SHMEM_FOR_AMO_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Adds 1 to `*dest` on PE `pe`.
#define SHMEM_DECLARE_(N, T)                                \
  SHMEM_API void SHMEM_FN(N##_atomic_inc)(T *dest, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_inc)(shmem_ctx_t ctx, T *dest, int pe);
SHMEM_FOR_AMO_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Adds 1 to `*dest` on PE `pe` and returns the old value.
#define SHMEM_DECLARE_(N, T)                                   \
  SHMEM_API T SHMEM_FN(N##_atomic_fetch_inc)(T *dest, int pe); \
  SHMEM_API T SHMEM_FN(ctx_##N##_atomic_fetch_inc)(shmem_ctx_t ctx, T *dest, int pe);
SHMEM_FOR_AMO_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Adds `value` to `*dest` on PE `pe`.
#define SHMEM_DECLARE_(N, T)                                         \
  SHMEM_API void SHMEM_FN(N##_atomic_add)(T *dest, T value, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_add)(shmem_ctx_t ctx, T *dest, T value, int pe);
SHMEM_FOR_AMO_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Adds `value` to `*dest` on PE `pe` and returns the old value.
#define SHMEM_DECLARE_(N, T)                                            \
  SHMEM_API T SHMEM_FN(N##_atomic_fetch_add)(T *dest, T value, int pe); \
  SHMEM_API T SHMEM_FN(ctx_##N##_atomic_fetch_add)(shmem_ctx_t ctx, T *dest, T value, int pe);
SHMEM_FOR_AMO_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_atomic_fetch, without waiting.
#define SHMEM_DECLARE_(N, T)                                                        \
  SHMEM_API void SHMEM_FN(N##_atomic_fetch_nbi)(T *fetch, const T *source, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_fetch_nbi)(shmem_ctx_t ctx, T *fetch, const T *source, int pe);
SHMEM_FOR_AMO_EXTENDED_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_atomic_swap, without waiting.
#define SHMEM_DECLARE_(N, T)                                                        \
  SHMEM_API void SHMEM_FN(N##_atomic_swap_nbi)(T *fetch, T *dest, T value, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_swap_nbi)(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe);
SHMEM_FOR_AMO_EXTENDED_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_atomic_compare_swap, without waiting.
#define SHMEM_DECLARE_(N, T)                                                                                      \
  SHMEM_API void SHMEM_FN(N##_atomic_compare_swap_nbi)(T *fetch, T *dest, T cond, T value, int pe);               \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_compare_swap_nbi)(shmem_ctx_t ctx, T *fetch, T *dest, T cond, T value, \
      int pe);
SHMEM_FOR_AMO_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_atomic_fetch_inc, without waiting.
#define SHMEM_DECLARE_(N, T)                                                    \
  SHMEM_API void SHMEM_FN(N##_atomic_fetch_inc_nbi)(T *fetch, T *dest, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_fetch_inc_nbi)(shmem_ctx_t ctx, T *fetch, T *dest, int pe);
SHMEM_FOR_AMO_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_atomic_fetch_add, without waiting.
#define SHMEM_DECLARE_(N, T)                                                             \
  SHMEM_API void SHMEM_FN(N##_atomic_fetch_add_nbi)(T *fetch, T *dest, T value, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_fetch_add_nbi)(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe);
SHMEM_FOR_AMO_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Replaces `*dest` on PE `pe` by `*dest` and `value`.
#define SHMEM_DECLARE_(N, T)                                         \
  SHMEM_API void SHMEM_FN(N##_atomic_and)(T *dest, T value, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_and)(shmem_ctx_t ctx, T *dest, T value, int pe);
SHMEM_FOR_AMO_BITWISE_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_atomic_and; returns the old value.
#define SHMEM_DECLARE_(N, T)                                            \
  SHMEM_API T SHMEM_FN(N##_atomic_fetch_and)(T *dest, T value, int pe); \
  SHMEM_API T SHMEM_FN(ctx_##N##_atomic_fetch_and)(shmem_ctx_t ctx, T *dest, T value, int pe);
SHMEM_FOR_AMO_BITWISE_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_atomic_fetch_and, without waiting: `*fetch` holds the old value after shmem_quiet.
#define SHMEM_DECLARE_(N, T)                                                             \
  SHMEM_API void SHMEM_FN(N##_atomic_fetch_and_nbi)(T *fetch, T *dest, T value, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_fetch_and_nbi)(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe);
SHMEM_FOR_AMO_BITWISE_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Replaces `*dest` on PE `pe` by `*dest` or `value`.
#define SHMEM_DECLARE_(N, T)                                        \
  SHMEM_API void SHMEM_FN(N##_atomic_or)(T *dest, T value, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_or)(shmem_ctx_t ctx, T *dest, T value, int pe);
SHMEM_FOR_AMO_BITWISE_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_atomic_or; returns the old value.
#define SHMEM_DECLARE_(N, T)                                           \
  SHMEM_API T SHMEM_FN(N##_atomic_fetch_or)(T *dest, T value, int pe); \
  SHMEM_API T SHMEM_FN(ctx_##N##_atomic_fetch_or)(shmem_ctx_t ctx, T *dest, T value, int pe);
SHMEM_FOR_AMO_BITWISE_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_atomic_fetch_or, without waiting: `*fetch` holds the old value after shmem_quiet.
#define SHMEM_DECLARE_(N, T)                                                            \
  SHMEM_API void SHMEM_FN(N##_atomic_fetch_or_nbi)(T *fetch, T *dest, T value, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_fetch_or_nbi)(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe);
SHMEM_FOR_AMO_BITWISE_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Replaces `*dest` on PE `pe` by `*dest` xor `value`.
#define SHMEM_DECLARE_(N, T)                                         \
  SHMEM_API void SHMEM_FN(N##_atomic_xor)(T *dest, T value, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_xor)(shmem_ctx_t ctx, T *dest, T value, int pe);
SHMEM_FOR_AMO_BITWISE_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_atomic_xor; returns the old value.
#define SHMEM_DECLARE_(N, T)                                            \
  SHMEM_API T SHMEM_FN(N##_atomic_fetch_xor)(T *dest, T value, int pe); \
  SHMEM_API T SHMEM_FN(ctx_##N##_atomic_fetch_xor)(shmem_ctx_t ctx, T *dest, T value, int pe);
SHMEM_FOR_AMO_BITWISE_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_atomic_fetch_xor, without waiting: `*fetch` holds the old value after shmem_quiet.
#define SHMEM_DECLARE_(N, T)                                                             \
  SHMEM_API void SHMEM_FN(N##_atomic_fetch_xor_nbi)(T *fetch, T *dest, T value, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_atomic_fetch_xor_nbi)(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe);
SHMEM_FOR_AMO_BITWISE_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

#include <shmem/end.h>
#endif

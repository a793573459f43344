/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Put with signal, and signal words. OpenSHMEM 1.6, section "Signaling Operations".
///
/// A signal is a symmetric, aligned uint64_t at `sig_addr` on PE `pe`. `sig_op` is SHMEM_SIGNAL_SET or
/// SHMEM_SIGNAL_ADD and is atomic. Whoever sees the signal updated sees the data of that call, too; nothing is said
/// about other puts. The signal word mustn't lie inside `dest`. With zero elements only the signal is updated. An
/// unknown `sig_op` ends the job with a message; else as in shmem/rma.h.
#include <shmem/constants.h>

#if !defined(SHMEM_SIGNALS_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_SIGNALS_H
#endif
#include <shmem/begin.h>

/// Copies `nelems` elements to `dest` on PE `pe`, then updates the signal there. On return the source may be reused.
#define SHMEM_DECLARE_(N, T)                                                                              \
  SHMEM_API void SHMEM_FN(N##_put_signal)(T *dest, const T *source, size_t nelems, uint64_t *sig_addr,    \
      uint64_t signal, int sig_op, int pe);                                                               \
  SHMEM_API void SHMEM_FN(ctx_##N##_put_signal)(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, \
      uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_put_signal of elements of S bits.
#define SHMEM_DECLARE_(S)                                                                                      \
  SHMEM_API void SHMEM_FN(put##S##_signal)(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,  \
      uint64_t signal, int sig_op, int pe);                                                                    \
  SHMEM_API void SHMEM_FN(ctx_put##S##_signal)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, \
      uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_FOR_SIZES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_put_signal of `nelems` bytes.
SHMEM_API void SHMEM_FN(putmem_signal)(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
SHMEM_API void SHMEM_FN(ctx_putmem_signal)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);

/// shmem_put_signal that returns at once: the source may be reused after shmem_quiet.
#define SHMEM_DECLARE_(N, T)                                                                                  \
  SHMEM_API void SHMEM_FN(N##_put_signal_nbi)(T *dest, const T *source, size_t nelems, uint64_t *sig_addr,    \
      uint64_t signal, int sig_op, int pe);                                                                   \
  SHMEM_API void SHMEM_FN(ctx_##N##_put_signal_nbi)(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, \
      uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_put_signal_nbi of elements of S bits.
#define SHMEM_DECLARE_(S)                                                                                          \
  SHMEM_API void SHMEM_FN(put##S##_signal_nbi)(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,  \
      uint64_t signal, int sig_op, int pe);                                                                        \
  SHMEM_API void SHMEM_FN(ctx_put##S##_signal_nbi)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, \
      uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
SHMEM_FOR_SIZES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_put_signal_nbi of `nelems` bytes.
SHMEM_API void SHMEM_FN(putmem_signal_nbi)(void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
    uint64_t signal, int sig_op, int pe);
SHMEM_API void SHMEM_FN(ctx_putmem_signal_nbi)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);

/// Adds `signal` to the signal on PE `pe`, atomically.
SHMEM_API void SHMEM_FN(signal_add)(uint64_t *sig_addr, uint64_t signal, int pe);
SHMEM_API void SHMEM_FN(ctx_signal_add)(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);

/// Sets the signal on PE `pe` to `signal`, atomically.
SHMEM_API void SHMEM_FN(signal_set)(uint64_t *sig_addr, uint64_t signal, int pe);
SHMEM_API void SHMEM_FN(ctx_signal_set)(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);

/// Reads this PE's own signal word, atomically; data put with the value seen is visible.
SHMEM_API uint64_t SHMEM_FN(signal_fetch)(const uint64_t *sig_addr);

#include <shmem/end.h>
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Deprecated routines that programs in the field still call: active sets, the old names of atomics, the old names of
/// set-up and heap. OpenSHMEM 1.6, annex "Deprecated API". New programs use teams and shmem_atomic_*.
///
/// An active set is the PEs PE_start + i * 2^logPE_stride, 0 <= i < PE_size. All its PEs call with equal arguments.
/// `pSync` is a symmetric array of the operation's SYNC_SIZE longs, SHMEM_SYNC_VALUE before the first use and again
/// after each call; `pWrk` is accepted and not used. Counts are in elements of 32 or 64 bits. An illegal set, or a
/// caller outside it, ends the job with a message.
#include <shmem/constants.h>

#if !defined(SHMEM_DEPRECATED_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_DEPRECATED_H
#endif
#include <shmem/begin.h>

/* ---- Active sets ---- */

/// Completes the caller's operations on the default context and waits for all PEs of the active set.
SHMEM_API void SHMEM_FN(barrier)(int PE_start, int logPE_stride, int PE_size, long *pSync);

/// Waits for all PEs of the active set.
SHMEM_API void SHMEM_FN(sync)(int PE_start, int logPE_stride, int PE_size, long *pSync);

/// As shmem_broadcast; `PE_root` counts in the active set, and the root's own `dest` isn't written.
SHMEM_API void SHMEM_FN(broadcast32)(void *dest, const void *source, size_t nelems, int PE_root, int PE_start,
    int logPE_stride, int PE_size, long *pSync);
SHMEM_API void SHMEM_FN(broadcast64)(void *dest, const void *source, size_t nelems, int PE_root, int PE_start,
    int logPE_stride, int PE_size, long *pSync);

/// As shmem_collect.
SHMEM_API void SHMEM_FN(collect32)(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride,
    int PE_size, long *pSync);
SHMEM_API void SHMEM_FN(collect64)(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride,
    int PE_size, long *pSync);

/// As shmem_fcollect.
SHMEM_API void SHMEM_FN(fcollect32)(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride,
    int PE_size, long *pSync);
SHMEM_API void SHMEM_FN(fcollect64)(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride,
    int PE_size, long *pSync);

/// As shmem_alltoall.
SHMEM_API void SHMEM_FN(alltoall32)(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride,
    int PE_size, long *pSync);
SHMEM_API void SHMEM_FN(alltoall64)(void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride,
    int PE_size, long *pSync);

/// As shmem_alltoalls.
SHMEM_API void SHMEM_FN(alltoalls32)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
    int PE_start, int logPE_stride, int PE_size, long *pSync);
SHMEM_API void SHMEM_FN(alltoalls64)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
    int PE_start, int logPE_stride, int PE_size, long *pSync);

/// As shmem_and_reduce; `pWrk` has max(nreduce / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE) elements.
#define SHMEM_DECLARE_(N, T)                                                                                     \
  SHMEM_API void SHMEM_FN(N##_and_to_all)(T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, \
      int PE_size, T *pWrk, long *pSync);
SHMEM_FOR_TO_ALL_AND_OR_XOR_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_or_reduce; `pWrk` has max(nreduce / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE) elements.
#define SHMEM_DECLARE_(N, T)                                                                                    \
  SHMEM_API void SHMEM_FN(N##_or_to_all)(T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, \
      int PE_size, T *pWrk, long *pSync);
SHMEM_FOR_TO_ALL_AND_OR_XOR_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_xor_reduce; `pWrk` has max(nreduce / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE) elements.
#define SHMEM_DECLARE_(N, T)                                                                                     \
  SHMEM_API void SHMEM_FN(N##_xor_to_all)(T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, \
      int PE_size, T *pWrk, long *pSync);
SHMEM_FOR_TO_ALL_AND_OR_XOR_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_max_reduce; `pWrk` has max(nreduce / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE) elements.
#define SHMEM_DECLARE_(N, T)                                                                                     \
  SHMEM_API void SHMEM_FN(N##_max_to_all)(T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, \
      int PE_size, T *pWrk, long *pSync);
SHMEM_FOR_TO_ALL_MAX_MIN_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_min_reduce; `pWrk` has max(nreduce / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE) elements.
#define SHMEM_DECLARE_(N, T)                                                                                     \
  SHMEM_API void SHMEM_FN(N##_min_to_all)(T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, \
      int PE_size, T *pWrk, long *pSync);
SHMEM_FOR_TO_ALL_MAX_MIN_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_sum_reduce; `pWrk` has max(nreduce / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE) elements.
#define SHMEM_DECLARE_(N, T)                                                                                     \
  SHMEM_API void SHMEM_FN(N##_sum_to_all)(T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, \
      int PE_size, T *pWrk, long *pSync);
SHMEM_FOR_TO_ALL_SUM_PROD_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_prod_reduce; `pWrk` has max(nreduce / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE) elements.
#define SHMEM_DECLARE_(N, T)                                                                                      \
  SHMEM_API void SHMEM_FN(N##_prod_to_all)(T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, \
      int PE_size, T *pWrk, long *pSync);
SHMEM_FOR_TO_ALL_SUM_PROD_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/* ---- Old names of atomics: shmem_int_add is shmem_int_atomic_add, and so on ---- */

#define SHMEM_DECLARE_(N, T)                                  \
  SHMEM_API void SHMEM_FN(N##_add)(T *dest, T value, int pe); \
  SHMEM_API void SHMEM_FN(N##_inc)(T *dest, int pe);          \
  SHMEM_API T SHMEM_FN(N##_fadd)(T *dest, T value, int pe);   \
  SHMEM_API T SHMEM_FN(N##_finc)(T *dest, int pe);            \
  SHMEM_API T SHMEM_FN(N##_cswap)(T *dest, T cond, T value, int pe);
SHMEM_FOR_LEGACY_AMO_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

#define SHMEM_DECLARE_(N, T)                                  \
  SHMEM_API T SHMEM_FN(N##_fetch)(const T *source, int pe);   \
  SHMEM_API void SHMEM_FN(N##_set)(T *dest, T value, int pe); \
  SHMEM_API T SHMEM_FN(N##_swap)(T *dest, T value, int pe);
SHMEM_FOR_LEGACY_AMO_EXTENDED_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/* ---- Waiting ---- */

/// Waits until `*ivar` differs from `cmp_value`.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API void SHMEM_FN(N##_wait)(T *ivar, T cmp_value);
SHMEM_FOR_LEGACY_WAIT_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_
SHMEM_API void SHMEM_FN(wait)(long *ivar, long cmp_value);

/// shmem_long_wait_until.
SHMEM_API void SHMEM_FN(wait_until)(long *ivar, int cmp, long cmp_value);

/* ---- Names from before OpenSHMEM 1.2 ---- */

/// As shmem_init, but there is no matching shmem_finalize: the library ends with the program. `npes` is ignored.
SHMEM_API void SHMEM_LEGACY_FN(start_pes)(int npes);

/// shmem_my_pe and shmem_n_pes.
SHMEM_API int SHMEM_LEGACY_FN(_my_pe)(void);
SHMEM_API int SHMEM_LEGACY_FN(_num_pes)(void);

/// shmem_malloc, shmem_free, shmem_realloc and shmem_align.
SHMEM_API void *SHMEM_LEGACY_FN(shmalloc)(size_t size);
SHMEM_API void SHMEM_LEGACY_FN(shfree)(void *ptr);
SHMEM_API void *SHMEM_LEGACY_FN(shrealloc)(void *ptr, size_t size);
SHMEM_API void *SHMEM_LEGACY_FN(shmemalign)(size_t alignment, size_t size);

#include <shmem/end.h>
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Contiguous put and get. OpenSHMEM 1.6, sections "Remote Memory Access Routines" and "Non-blocking Remote Memory
/// Access Routines".
///
/// Counts are elements of the named type or width, `mem` forms count bytes. The remote side (`dest` of a put, `source`
/// of a get) is a symmetric address; the local side is any memory. `pe` counts in the context's team, in the world
/// without one. Zero elements are a no-op, even with NULL. Source and destination mustn't overlap, except that they
/// may be equal. A PE out of range, or a remote address outside any symmetric object, ends the job with a line that
/// says which. Safe from any thread under SHMEM_THREAD_MULTIPLE, as far as the context's options allow.
#include <shmem/constants.h>

#if !defined(SHMEM_RMA_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_RMA_H
#endif
#include <shmem/begin.h>

/// Copies `nelems` elements from the local `source` to `dest` on PE `pe`. On return the source may be reused; the data
/// is at its destination after shmem_quiet or a barrier.
#define SHMEM_DECLARE_(N, T)                                                         \
  SHMEM_API void SHMEM_FN(N##_put)(T *dest, const T *source, size_t nelems, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_put)(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_put of elements of S bits.
#define SHMEM_DECLARE_(S)                                                                 \
  SHMEM_API void SHMEM_FN(put##S)(void *dest, const void *source, size_t nelems, int pe); \
  SHMEM_API void SHMEM_FN(ctx_put##S)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
SHMEM_FOR_SIZES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_put of `nelems` bytes.
SHMEM_API void SHMEM_FN(putmem)(void *dest, const void *source, size_t nelems, int pe);
SHMEM_API void SHMEM_FN(ctx_putmem)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);

/// Copies `nelems` elements from `source` on PE `pe` to the local `dest`; complete on return.
#define SHMEM_DECLARE_(N, T)                                                         \
  SHMEM_API void SHMEM_FN(N##_get)(T *dest, const T *source, size_t nelems, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_get)(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_get of elements of S bits.
#define SHMEM_DECLARE_(S)                                                                 \
  SHMEM_API void SHMEM_FN(get##S)(void *dest, const void *source, size_t nelems, int pe); \
  SHMEM_API void SHMEM_FN(ctx_get##S)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
SHMEM_FOR_SIZES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_get of `nelems` bytes.
SHMEM_API void SHMEM_FN(getmem)(void *dest, const void *source, size_t nelems, int pe);
SHMEM_API void SHMEM_FN(ctx_getmem)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);

/// Writes one element to `dest` on PE `pe`; there after shmem_quiet or a barrier.
#define SHMEM_DECLARE_(N, T)                                \
  SHMEM_API void SHMEM_FN(N##_p)(T *dest, T value, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_p)(shmem_ctx_t ctx, T *dest, T value, int pe);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Returns the element at `source` on PE `pe`.
#define SHMEM_DECLARE_(N, T)                            \
  SHMEM_API T SHMEM_FN(N##_g)(const T *source, int pe); \
  SHMEM_API T SHMEM_FN(ctx_##N##_g)(shmem_ctx_t ctx, const T *source, int pe);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_put that returns at once: the source may be reused, and the data is at its destination, after shmem_quiet.
#define SHMEM_DECLARE_(N, T)                                                             \
  SHMEM_API void SHMEM_FN(N##_put_nbi)(T *dest, const T *source, size_t nelems, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_put_nbi)(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_put_nbi of elements of S bits.
#define SHMEM_DECLARE_(S)                                                                                   \
  SHMEM_API void SHMEM_FN(put##S##_nbi)(void *dest, const void *source, size_t nelems, int pe);             \
  SHMEM_API void SHMEM_FN(ctx_put##S##_nbi)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, \
      int pe);
SHMEM_FOR_SIZES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_put_nbi of `nelems` bytes.
SHMEM_API void SHMEM_FN(putmem_nbi)(void *dest, const void *source, size_t nelems, int pe);
SHMEM_API void SHMEM_FN(ctx_putmem_nbi)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);

/// shmem_get that returns at once: `dest` holds the data after shmem_quiet.
#define SHMEM_DECLARE_(N, T)                                                             \
  SHMEM_API void SHMEM_FN(N##_get_nbi)(T *dest, const T *source, size_t nelems, int pe); \
  SHMEM_API void SHMEM_FN(ctx_##N##_get_nbi)(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_get_nbi of elements of S bits.
#define SHMEM_DECLARE_(S)                                                                                   \
  SHMEM_API void SHMEM_FN(get##S##_nbi)(void *dest, const void *source, size_t nelems, int pe);             \
  SHMEM_API void SHMEM_FN(ctx_get##S##_nbi)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, \
      int pe);
SHMEM_FOR_SIZES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_get_nbi of `nelems` bytes.
SHMEM_API void SHMEM_FN(getmem_nbi)(void *dest, const void *source, size_t nelems, int pe);
SHMEM_API void SHMEM_FN(ctx_getmem_nbi)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);

#include <shmem/end.h>
#endif

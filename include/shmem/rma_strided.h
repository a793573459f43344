/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Strided put and get. OpenSHMEM 1.6, section "Remote Memory Access Routines".
///
/// `dst` and `sst` are the distances between consecutive elements (or blocks) of the destination and the source, in
/// elements, at least 1. Everything else is as in shmem/rma.h.
#include <shmem/constants.h>

#if !defined(SHMEM_RMA_STRIDED_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_RMA_STRIDED_H
#endif
#include <shmem/begin.h>

/// Element i of `nelems` goes from source[i * sst], local, to dest[i * dst] on PE `pe`.
#define SHMEM_DECLARE_(N, T)                                                                                       \
  SHMEM_API void SHMEM_FN(N##_iput)(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,         \
      int pe);                                                                                                     \
  SHMEM_API void SHMEM_FN(ctx_##N##_iput)(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
      size_t nelems, int pe);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_iput of elements of S bits.
#define SHMEM_DECLARE_(S)                                                                                       \
  SHMEM_API void SHMEM_FN(iput##S)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
      int pe);                                                                                                  \
  SHMEM_API void SHMEM_FN(ctx_iput##S)(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,          \
      ptrdiff_t sst, size_t nelems, int pe);
SHMEM_FOR_SIZES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Element i of `nelems` comes from source[i * sst] on PE `pe` to the local dest[i * dst].
#define SHMEM_DECLARE_(N, T)                                                                                       \
  SHMEM_API void SHMEM_FN(N##_iget)(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,         \
      int pe);                                                                                                     \
  SHMEM_API void SHMEM_FN(ctx_##N##_iget)(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
      size_t nelems, int pe);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_iget of elements of S bits.
#define SHMEM_DECLARE_(S)                                                                                       \
  SHMEM_API void SHMEM_FN(iget##S)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
      int pe);                                                                                                  \
  SHMEM_API void SHMEM_FN(ctx_iget##S)(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,          \
      ptrdiff_t sst, size_t nelems, int pe);
SHMEM_FOR_SIZES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Puts `nblocks` blocks of `bsize` adjacent elements; block i goes from source + i * sst to dest + i * dst on PE
/// `pe`. Strides are in elements, between the starts of blocks, and at least `bsize`.
#define SHMEM_DECLARE_(N, T)                                                                                        \
  SHMEM_API void SHMEM_FN(N##_ibput)(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,          \
      size_t nblocks, int pe);                                                                                      \
  SHMEM_API void SHMEM_FN(ctx_##N##_ibput)(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
      size_t bsize, size_t nblocks, int pe);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_ibput of elements of S bits.
#define SHMEM_DECLARE_(S)                                                                                       \
  SHMEM_API void SHMEM_FN(ibput##S)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, \
      size_t nblocks, int pe);                                                                                  \
  SHMEM_API void SHMEM_FN(ctx_ibput##S)(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,         \
      ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_FOR_SIZES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Gets `nblocks` blocks of `bsize` adjacent elements; the mirror image of shmem_ibput.
#define SHMEM_DECLARE_(N, T)                                                                                        \
  SHMEM_API void SHMEM_FN(N##_ibget)(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,          \
      size_t nblocks, int pe);                                                                                      \
  SHMEM_API void SHMEM_FN(ctx_##N##_ibget)(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
      size_t bsize, size_t nblocks, int pe);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_ibget of elements of S bits.
#define SHMEM_DECLARE_(S)                                                                                       \
  SHMEM_API void SHMEM_FN(ibget##S)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, \
      size_t nblocks, int pe);                                                                                  \
  SHMEM_API void SHMEM_FN(ctx_ibget##S)(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,         \
      ptrdiff_t sst, size_t bsize, size_t nblocks, int pe);
SHMEM_FOR_SIZES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

#include <shmem/end.h>
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Reductions and scans over a team. OpenSHMEM 1.6, section "Collective Routines".
///
/// Element i of `dest`, on every PE, is the combination of element i of all PEs' sources. `dest` and `source` are
/// symmetric arrays of `nreduce` (`nelems`) elements, the same or disjoint. The order of combination is fixed by the
/// team's size and the count, so equal runs round equally, and all PEs get the same bits. Returns 0, or nonzero for an
/// invalid team; else as in shmem/collectives.h.
#include <shmem/constants.h>

#if !defined(SHMEM_REDUCTIONS_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_REDUCTIONS_H
#endif
#include <shmem/begin.h>

/// Bitwise and.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_and_reduce)(shmem_team_t team, T *dest, const T *source, size_t nreduce);
SHMEM_FOR_REDUCE_AND_OR_XOR_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Bitwise or.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_or_reduce)(shmem_team_t team, T *dest, const T *source, size_t nreduce);
SHMEM_FOR_REDUCE_AND_OR_XOR_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Bitwise exclusive or.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_xor_reduce)(shmem_team_t team, T *dest, const T *source, size_t nreduce);
SHMEM_FOR_REDUCE_AND_OR_XOR_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Greatest value.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_max_reduce)(shmem_team_t team, T *dest, const T *source, size_t nreduce);
SHMEM_FOR_REDUCE_MAX_MIN_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Least value.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_min_reduce)(shmem_team_t team, T *dest, const T *source, size_t nreduce);
SHMEM_FOR_REDUCE_MAX_MIN_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Sum.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_sum_reduce)(shmem_team_t team, T *dest, const T *source, size_t nreduce);
SHMEM_FOR_REDUCE_SUM_PROD_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Product.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_prod_reduce)(shmem_team_t team, T *dest, const T *source, size_t nreduce);
SHMEM_FOR_REDUCE_SUM_PROD_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Inclusive scan: element i of `dest` on PE k of the team is the sum of element i of PEs 0 to k.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_sum_inscan)(shmem_team_t team, T *dest, const T *source, size_t nelems);
SHMEM_FOR_REDUCE_SUM_PROD_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Exclusive scan: as shmem_sum_inscan without PE k's own element; 0 on PE 0.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_sum_exscan)(shmem_team_t team, T *dest, const T *source, size_t nelems);
SHMEM_FOR_REDUCE_SUM_PROD_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

#include <shmem/end.h>
#endif

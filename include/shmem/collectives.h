/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Barriers and collectives that move data. OpenSHMEM 1.6, section "Collective Routines".
///
/// All PEs of `team` call, in the same order, with equal counts unless said otherwise; one thread of a PE at a time on
/// a team. `dest` and `source` are symmetric, don't overlap unless said otherwise, and may be reused on return. `mem`
/// forms count bytes. Zero elements are legal. Returns 0, or nonzero for an invalid team; other illegal arguments end
/// the job with a message. No barrier is implied beyond what the data needs.
#include <shmem/constants.h>

#if !defined(SHMEM_COLLECTIVES_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_COLLECTIVES_H
#endif
#include <shmem/begin.h>

/// Completes all operations of the calling PE on the default context, then waits until all PEs of the job have
/// arrived.
SHMEM_API void SHMEM_FN(barrier_all)(void);

/// Waits until all PEs of the job have arrived; doesn't complete remote operations.
SHMEM_API void SHMEM_FN(sync_all)(void);

/// Waits until all PEs of `team` have arrived; doesn't complete remote operations. Generic name: shmem_sync.
SHMEM_API int SHMEM_FN(team_sync)(shmem_team_t team);

/// Copies `nelems` elements from `source` on PE `PE_root` (counted in the team) to `dest` on every PE of the team, the
/// root included. Source and destination may be the same.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_broadcast)(shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_broadcast of `nelems` bytes.
SHMEM_API int SHMEM_FN(broadcastmem)(shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root);

/// Concatenates the sources of all PEs in the team's order into `dest` on every PE; `nelems`, the length of the own
/// source, may differ from PE to PE.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_collect)(shmem_team_t team, T *dest, const T *source, size_t nelems);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_collect of `nelems` bytes.
SHMEM_API int SHMEM_FN(collectmem)(shmem_team_t team, void *dest, const void *source, size_t nelems);

/// Concatenates `nelems` elements of each PE; `dest` has room for nelems * shmem_team_n_pes(team).
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_fcollect)(shmem_team_t team, T *dest, const T *source, size_t nelems);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_fcollect of `nelems` bytes of each PE.
SHMEM_API int SHMEM_FN(fcollectmem)(shmem_team_t team, void *dest, const void *source, size_t nelems);

/// Block j of each PE's source (`nelems` elements) goes to PE j of the team, which stores it as block i, i being the
/// sender's number. Both arrays have room for nelems * shmem_team_n_pes(team).
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_alltoall)(shmem_team_t team, T *dest, const T *source, size_t nelems);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_alltoall of blocks of `nelems` bytes.
SHMEM_API int SHMEM_FN(alltoallmem)(shmem_team_t team, void *dest, const void *source, size_t nelems);

/// shmem_alltoall with elements `dst` apart in the destination and `sst` apart in the source, counted in elements, at
/// least 1.
#define SHMEM_DECLARE_(N, T)                                                                                       \
  SHMEM_API int SHMEM_FN(N##_alltoalls)(shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
      size_t nelems);
SHMEM_FOR_RMA_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// shmem_alltoalls of bytes.
SHMEM_API int SHMEM_FN(alltoallsmem)(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
    size_t nelems);

#include <shmem/end.h>
#endif

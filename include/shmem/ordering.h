/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Ordering and completion. OpenSHMEM 1.6, section "Memory Ordering Routines".
///
/// Each call covers one context: SHMEM_CTX_DEFAULT, or the one given. SHMEM_CTX_INVALID is a no-op.
#include <shmem/constants.h>

#if !defined(SHMEM_ORDERING_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_ORDERING_H
#endif
#include <shmem/begin.h>

/// Orders delivery: to each PE, puts, atomics, signals and stores made before arrive before those made after.
SHMEM_API void SHMEM_FN(fence)(void);
SHMEM_API void SHMEM_FN(ctx_fence)(shmem_ctx_t ctx);

/// Completes: puts, atomics, signals, stores and non-blocking gets made before are done, everywhere, on return.
SHMEM_API void SHMEM_FN(quiet)(void);
SHMEM_API void SHMEM_FN(ctx_quiet)(shmem_ctx_t ctx);

/// As shmem_quiet, for operations to the `npes` PEs listed in `target_pes` (numbers in the context's team) only. An
/// empty list is a no-op.
SHMEM_API void SHMEM_FN(pe_quiet)(const int *target_pes, size_t npes);
SHMEM_API void SHMEM_FN(ctx_pe_quiet)(shmem_ctx_t ctx, const int *target_pes, size_t npes);

#include <shmem/end.h>
#endif

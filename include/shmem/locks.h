/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Distributed locks. OpenSHMEM 1.6, section "Distributed Locking Routines".
///
/// A lock is a symmetric long, in the heap or static, 0 before its first use and written by nothing else. One lock
/// serves the whole job; waiters get it in order of arrival. It belongs to the PE that set it; setting it twice, or
/// clearing what one doesn't hold, ends the job with a message.
#include <shmem/constants.h>

#if !defined(SHMEM_LOCKS_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_LOCKS_H
#endif
#include <shmem/begin.h>

/// Waits until the lock is free, then takes it.
SHMEM_API void SHMEM_FN(set_lock)(long *lock);

/// Completes the calling PE's operations on the default context, then frees the lock.
SHMEM_API void SHMEM_FN(clear_lock)(long *lock);

/// Takes the lock if it is free: 0; else 1, at once.
SHMEM_API int SHMEM_FN(test_lock)(long *lock);

#include <shmem/end.h>
#endif

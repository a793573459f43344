/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Thread levels. OpenSHMEM 1.6, section "Thread Support".
#include <shmem/constants.h>

#if !defined(SHMEM_THREADS_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_THREADS_H
#endif
#include <shmem/begin.h>

/// Starts the library as shmem_init does, for programs with threads. `requested` is one of SHMEM_THREAD_SINGLE,
/// FUNNELED, SERIALIZED, MULTIPLE; `*provided` receives the level in force: `requested`, or, when the library
/// runs already, that of the first start, which stays. Returns 0, or nonzero when it can't start (then
/// nothing has been started and a line on stderr says why).
SHMEM_API int SHMEM_FN(init_thread)(int requested, int *provided);

/// Writes the thread level in force. Safe from any thread; needs a started library.
SHMEM_API void SHMEM_FN(query_thread)(int *provided);

#include <shmem/end.h>
#endif

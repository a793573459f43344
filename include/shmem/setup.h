/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Starting and ending the library; who am I, how many are we, whom can I reach. OpenSHMEM 1.6, section "Library
/// Setup, Exit, and Query Routines".
///
/// Unless said otherwise: a call before shmem_init or after the last shmem_finalize, or with a PE number outside [0,
/// shmem_n_pes()), prints one line that names the call, the value and the remedy, and ends the job with status 1.
#include <shmem/constants.h>

#if !defined(SHMEM_SETUP_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_SETUP_H
#endif
#include <shmem/begin.h>

/// Starts the library, collectively over all PEs of the job; on return the symmetric heap and static data are
/// accessible everywhere. May be called again (each call needs its own shmem_finalize); later calls only count. The
/// thread level is SHMEM_THREAD_SINGLE. A failure (no launcher answers, invalid SHMEM_SYMMETRIC_SIZE) ends the
/// program.
SHMEM_API void SHMEM_FN(init)(void);

/// Ends the library once per successful start, collectively; the last call completes all communication, releases the
/// symmetric heap and waits for everyone. A program that returns from main without it is finalized then.
SHMEM_API void SHMEM_FN(finalize)(void);

/// Ends the whole job at once with exit status `status`, from any one PE, without the others' help; doesn't return.
/// Safe from any thread.
SHMEM_API SHMEM_NORETURN void SHMEM_FN(global_exit)(int status);

/// This PE's number in the world team, in [0, shmem_n_pes()). Safe from any thread.
SHMEM_API int SHMEM_FN(my_pe)(void);

/// The number of PEs in the job. Safe from any thread.
SHMEM_API int SHMEM_FN(n_pes)(void);

/// 1 if `pe` is a PE of this job whose memory this PE can reach, else 0; any number is a legal question.
SHMEM_API int SHMEM_FN(pe_accessible)(int pe);

/// 1 if the symmetric object at the local address `addr` can be reached on PE `pe` by OpenSHMEM routines, else 0. Any
/// address is a legal question.
SHMEM_API int SHMEM_FN(addr_accessible)(const void *addr, int pe);

/// An address at which this PE may load and store PE `pe`'s copy of the symmetric object `dest`, or NULL where that is
/// impossible or `dest` isn't symmetric. For the calling PE itself it is `dest`. Loads and stores through it need
/// shmem_fence, shmem_quiet or C atomics for order, as between threads.
SHMEM_API void *SHMEM_FN(ptr)(const void *dest, int pe);

/// Writes the version of the specification that is implemented: 1 and 6. Callable at any time.
SHMEM_API void SHMEM_FN(info_get_version)(int *major, int *minor);

/// Writes SHMEM_VENDOR_STRING with its closing NUL to `name`, which has room for SHMEM_MAX_NAME_LEN bytes. Callable at
/// any time.
SHMEM_API void SHMEM_FN(info_get_name)(char *name);

/// Sets `*initialized` to 1 between the first start and the last shmem_finalize, else to 0. Callable at any time.
SHMEM_API void SHMEM_FN(query_initialized)(int *initialized);

/// Tells a profiling tool what level of detail is wanted: 0 none, 1 normal, 2 normal after a flush, others the tool's
/// own. The library itself ignores it. OpenSHMEM 1.6, section "OpenSHMEM Profiling Interface".
SHMEM_API void SHMEM_FN(pcontrol)(int level, ...);

#include <shmem/end.h>
#endif

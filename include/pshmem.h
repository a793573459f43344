/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The profiling interface: each routine under its pshmem_ name, same signature, same behaviour. A tool defines
/// shmem_x itself and calls pshmem_x. The oldest names have twins too: pstart_pes, p_my_pe, p_num_pes, pshmalloc,
/// pshfree, pshrealloc, pshmemalign. OpenSHMEM 1.6, section "OpenSHMEM Profiling Interface".
///
/// A tool that wraps a name that is generic as well (shmem_sync, shmem_wait_until, shmem_signal_set, shmem_signal_add)
/// defines SHMEM_NO_GENERICS before it includes shmem.h.
#ifndef PSHMEM_H
#define PSHMEM_H

#define SHMEM_DECLARE_PSHMEM
#include <shmem/atomics.h>
#include <shmem/collectives.h>
#include <shmem/contexts.h>
#include <shmem/deprecated.h>
#include <shmem/locks.h>
#include <shmem/memory.h>
#include <shmem/ordering.h>
#include <shmem/reductions.h>
#include <shmem/rma.h>
#include <shmem/rma_strided.h>
#include <shmem/setup.h>
#include <shmem/signals.h>
#include <shmem/teams.h>
#include <shmem/threads.h>
#include <shmem/wait.h>
#undef SHMEM_DECLARE_PSHMEM

#endif

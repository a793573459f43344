/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// OpenSHMEM 1.6: every routine, in C and C++. One header a chapter of the specification under shmem/.
///
/// From C11 on the type-generic names (`shmem_put`, `shmem_atomic_add`, ...) are macros, in C++ they are overloads;
/// define SHMEM_NO_GENERICS before the include to have the plain functions only.
#ifndef SHMEM_H
#define SHMEM_H

#include <shmem/atomics.h>
#include <shmem/collectives.h>
#include <shmem/constants.h>
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
#include <shmem/types.h>
#include <shmem/wait.h>

#ifdef __cplusplus
#include <aclshmemx.h>
#endif

#ifndef SHMEM_NO_GENERICS
#ifdef __cplusplus
#include <shmem/overloads.hpp>
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include <shmem/generic.h>
#endif
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Library constants. OpenSHMEM 1.6, section "Library Constants". All may be used in static initialisers, the plain
/// numbers in preprocessor conditions as well.
#ifndef SHMEM_CONSTANTS_H
#define SHMEM_CONSTANTS_H

#include <shmem/types.h>

/* Version of the specification, and who made the library. Checked against the build's version by a test. */
#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
/// Bytes that shmem_info_get_name writes at most, with the closing NUL.
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "Shoal 0.1.0"

/* Thread levels, each including the ones before. */
#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

/* Handles that exist without being made. */
#ifdef __cplusplus
#define SHMEM_HANDLE_(type, value) (reinterpret_cast<type>(static_cast<uintptr_t>(value)))
#else
#define SHMEM_HANDLE_(type, value) ((type)(uintptr_t)(value))
#endif
#define SHMEM_CTX_INVALID SHMEM_HANDLE_(shmem_ctx_t, 0)
#define SHMEM_CTX_DEFAULT SHMEM_HANDLE_(shmem_ctx_t, 1)
#define SHMEM_TEAM_INVALID SHMEM_HANDLE_(shmem_team_t, 0)
#define SHMEM_TEAM_WORLD SHMEM_HANDLE_(shmem_team_t, 1)
/// The PEs whose memory this PE can load from and store to.
#define SHMEM_TEAM_SHARED SHMEM_HANDLE_(shmem_team_t, 2)

/* Options of shmem_ctx_create and shmem_team_create_ctx; may be or-ed. */
#define SHMEM_CTX_SERIALIZED (1L << 0)
#define SHMEM_CTX_PRIVATE (1L << 1)
#define SHMEM_CTX_NOSTORE (1L << 2)

/* Options and configuration mask of shmem_ctx_session_start. */
#define SHMEM_CTX_SESSION_BATCH (1L << 0)
#define SHMEM_CTX_SESSION_TOTAL_OPS (1L << 0)

/* Configuration mask of the team splits. */
#define SHMEM_TEAM_NUM_CONTEXTS (1L << 0)

/* Hints of shmem_malloc_with_hints; may be or-ed. */
#define SHMEM_MALLOC_ATOMICS_REMOTE (1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE (1L << 1)

/* What put-with-signal does to the signal word. */
#define SHMEM_SIGNAL_SET 0
#define SHMEM_SIGNAL_ADD 1

/* Comparisons of the wait and test routines. */
#define SHMEM_CMP_EQ 0
#define SHMEM_CMP_NE 1
#define SHMEM_CMP_GT 2
#define SHMEM_CMP_LE 3
#define SHMEM_CMP_LT 4
#define SHMEM_CMP_GE 5

/* Work arrays of the deprecated active-set collectives, in elements: of long (pSync), of the reduced type (pWrk). */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_BARRIER_SYNC_SIZE 8
#define SHMEM_BCAST_SYNC_SIZE 8
#define SHMEM_REDUCE_SYNC_SIZE 8
#define SHMEM_COLLECT_SYNC_SIZE 8
#define SHMEM_ALLTOALL_SYNC_SIZE 8
#define SHMEM_ALLTOALLS_SYNC_SIZE 8
/// Enough for any of them.
#define SHMEM_SYNC_SIZE 8
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 8

/* The same under the names they had before OpenSHMEM 1.2. */
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_ALLTOALL_SYNC_SIZE SHMEM_ALLTOALL_SYNC_SIZE
#define _SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_ALLTOALLS_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The accelerator-style interface: heaps, teams and init attributes by the names that device programs use. A thin layer over shmem.h,
/// and part of it in C++; kernels include device/team.h and device/gm2gm.h beside. Routines that return int32_t return 0 for success
/// or a code that aclshmemx_strerror puts into words; the exact cause has been printed then. What shmem.h says of PE numbers,
/// symmetric addresses and threads holds here as well.
#ifndef ACLSHMEMX_H
#define ACLSHMEMX_H

#include <shmem/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define ACLSHMEMX_DEFAULT_(value) = value
extern "C" {
#else
#define ACLSHMEMX_DEFAULT_(value)
#endif

/* ---- Init and end ---- */

/// Which threads may call: as SHMEM_THREAD_.
typedef enum {
  ACLSHMEMX_THREAD_SINGLE = 0,
  ACLSHMEMX_THREAD_FUNNELED = 1,
  ACLSHMEMX_THREAD_SERIALIZED = 2,
  ACLSHMEMX_THREAD_MULTIPLE = 3
} aclshmemx_thread_mode_t;

/// What is printed on stderr; each level includes those before. 0 leaves it to SHOAL_LOG.
typedef enum {
  ACLSHMEMX_LOG_DEFAULT = 0,
  ACLSHMEMX_LOG_ERROR = 1,
  ACLSHMEMX_LOG_WARNING = 2,
  ACLSHMEMX_LOG_INFO = 3,
  ACLSHMEMX_LOG_DEBUG = 4
} aclshmemx_log_level_t;

/// How to start. A variable of the environment (SHOAL_LOG, SHOAL_TLS, SHMEM_SYMMETRIC_SIZE, SHOAL_PROFILE, SHOAL_RDZV,
/// SHOAL_RDZV_TIMEOUT, SHOAL_SILENCE) wins over an attribute. In C++ an attribute that is not set has its default; in C set all to
/// zero first, and tls_enabled to true.
typedef struct aclshmemx_init_attr_s {
  int32_t thread_mode ACLSHMEMX_DEFAULT_(ACLSHMEMX_THREAD_SINGLE); /**< an aclshmemx_thread_mode_t */
  bool tls_enabled ACLSHMEMX_DEFAULT_(true);                       /**< traffic between machines is encrypted */
  int32_t log_level ACLSHMEMX_DEFAULT_(ACLSHMEMX_LOG_DEFAULT);     /**< an aclshmemx_log_level_t */
  size_t heap_size ACLSHMEMX_DEFAULT_(0);                          /**< bytes of the default heap; 0: as SHMEM_SYMMETRIC_SIZE */
  bool profile ACLSHMEMX_DEFAULT_(false);       /**< a table of all calls is printed at the end, as by SHOAL_PROFILE=1 */
  int32_t timeout_s ACLSHMEMX_DEFAULT_(0);      /**< seconds until all PEs must have come; 0: 120 */
  int32_t silence_s ACLSHMEMX_DEFAULT_(0);      /**< seconds after which a silent machine counts as gone; 0: 10 */
  const char *ip_port ACLSHMEMX_DEFAULT_(NULL); /**< with n_pes, where they meet: "tcp://10.0.0.1:8666"; the port may be left out */
  int32_t my_pe ACLSHMEMX_DEFAULT_(0);          /**< which of n_pes this one is */
  int32_t n_pes ACLSHMEMX_DEFAULT_(0);          /**< of a job that no launcher starts; 0: as the environment or the launcher says */
} aclshmemx_init_attr_t;

/// As shmem_init_thread. `attr` may be null; `flags` must be 0 and `reserved` null. Collective, also where it
/// fails: a wrong argument on one PE makes it fail on all that have come, and all may then try again.
SHMEM_API int32_t aclshmemx_init_attr(const aclshmemx_init_attr_t *attr, int32_t flags, void *reserved);
/// As shmem_finalize; also a no-op before init. Collective.
SHMEM_API int32_t aclshmemx_finalize(int32_t flags, void *reserved);
/// Before init: whether traffic is encrypted, and by what: `info`, `length` bytes or up to its NUL for 0, is null for the
/// job secret or "ca=FILE;cert=FILE;key=FILE". After init it is refused.
SHMEM_API int32_t aclshmemx_set_conf_store_tls(bool enable, const char *info, uint32_t length);
/// What a code means; never null.
SHMEM_API const char *aclshmemx_strerror(int32_t code);

/* ---- Teams ---- */

/// A team that this PE is a member of. Passed to kernels by value.
typedef struct aclshmemx_team_object *aclshmemx_team_t;

/// All PEs.
SHMEM_API int32_t aclshmemx_team_get_default(aclshmemx_team_t *team);
/// Members of the team. Also in kernels.
SHMEM_API int32_t aclshmemx_team_size(aclshmemx_team_t team);
/// This PE's number in the team, from 0. Also in kernels.
SHMEM_API int32_t aclshmemx_team_global_rank(aclshmemx_team_t team);
/// Consecutive groups of `group_size` members (the last may be smaller); this PE's becomes *sub. Collective over the team.
SHMEM_API int32_t aclshmemx_team_split(aclshmemx_team_t team, int32_t group_size, aclshmemx_team_t *sub);
/// The members whose memory this PE can map, in order: those of its machine. Collective over the team.
SHMEM_API int32_t aclshmemx_team_split_node(aclshmemx_team_t team, aclshmemx_team_t *sub);
/// Completes this PE's operations and waits for all members. In a kernel: for all cores of the launch on all members.
SHMEM_API int32_t aclshmemx_team_sync(aclshmemx_team_t team);
/// Collective over the team. A no-op for null.
SHMEM_API int32_t aclshmemx_team_destroy(aclshmemx_team_t team);

/* ---- Heaps ---- */

typedef struct aclshmemx_heap_object *aclshmemx_heap_t;

/// Where a heap's memory is.
typedef enum { ACLSHMEMX_MEM_HOST = 0, ACLSHMEMX_MEM_DEVICE = 1 } aclshmemx_mem_kind_t;

typedef struct aclshmemx_heap_attr_s {
  size_t heap_size ACLSHMEMX_DEFAULT_(0);                   /**< bytes on each PE */
  size_t alignment ACLSHMEMX_DEFAULT_(0);                   /**< of each block: a power of two up to 2 MiB; 0: 64 */
  int32_t mem_kind ACLSHMEMX_DEFAULT_(ACLSHMEMX_MEM_DEVICE); /**< an aclshmemx_mem_kind_t */
  aclshmemx_team_t team ACLSHMEMX_DEFAULT_(NULL);           /**< who alone may reach it; null: all PEs */
} aclshmemx_heap_attr_t;

/// Collective over the heap's team; so are the three after it, for their heap.
SHMEM_API int32_t aclshmemx_create_heap(const aclshmemx_heap_attr_t *attr, aclshmemx_heap_t *heap);
SHMEM_API int32_t aclshmemx_malloc(aclshmemx_heap_t heap, size_t size, void **ptr);
SHMEM_API int32_t aclshmemx_free(void *ptr);
SHMEM_API int32_t aclshmemx_destroy_heap(aclshmemx_heap_t heap, int32_t flags, void *reserved);

/* ---- Collectives, on the host and in kernels: see device/team.h for the latter ---- */

typedef enum {
  ACLSHMEMX_SUM = 0,
  ACLSHMEMX_PROD = 1,
  ACLSHMEMX_MAX = 2,
  ACLSHMEMX_MIN = 3
} aclshmemx_op_t;

typedef enum {
  ACLSHMEMX_FLOAT32 = 0,
  ACLSHMEMX_FLOAT64 = 1,
  ACLSHMEMX_FLOAT16 = 2,
  ACLSHMEMX_BFLOAT16 = 3,
  ACLSHMEMX_INT8 = 4,
  ACLSHMEMX_INT16 = 5,
  ACLSHMEMX_INT32 = 6,
  ACLSHMEMX_INT64 = 7,
  ACLSHMEMX_UINT8 = 8,
  ACLSHMEMX_UINT16 = 9,
  ACLSHMEMX_UINT32 = 10,
  ACLSHMEMX_UINT64 = 11
} aclshmemx_dtype_t;

/// out[i] on all members = op over the members of in[i]; both symmetric, the same or apart.
SHMEM_API int32_t aclshmemx_allreduce(aclshmemx_team_t team, const void *in, void *out, size_t count, int32_t op, int32_t dtype);
/// out[i] on member r = op over the members of in[r * count + i].
SHMEM_API int32_t aclshmemx_reduce_scatter(aclshmemx_team_t team, const void *in, void *out, size_t count, int32_t op, int32_t dtype);
/// out[r * count + i] = in[i] of member r.
SHMEM_API int32_t aclshmemx_allgather(aclshmemx_team_t team, const void *in, void *out, size_t count, int32_t dtype);
/// out[i] = in[i] of member `root`.
SHMEM_API int32_t aclshmemx_broadcast(aclshmemx_team_t team, const void *in, void *out, size_t count, int32_t root, int32_t dtype);
/// out[s * count + i] on member r = in[r * count + i] of member s.
SHMEM_API int32_t aclshmemx_alltoall(aclshmemx_team_t team, const void *in, void *out, size_t count, int32_t dtype);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif

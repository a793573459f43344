/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Shoal's extensions to OpenSHMEM, in C and C++. What shmem.h says of PE numbers, symmetric addresses, errors and
/// threads holds here as well. They have no profiling twins.
#ifndef SHMEMX_H
#define SHMEMX_H

#include <shmem.h>
#include <shmem/half.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Starting without Shoal's launcher ---- */

/// What one PE makes and all others need to meet it. Secret: who knows it can join the job.
typedef struct {
  unsigned char bytes[128];
} shmemx_uniqueid_t;

/// How a PE that shoalrun did not start finds the others: all members zero but `pe`, `n_pes` and one of `id` and `rdzv`.
typedef struct {
  int pe;                      /**< this PE, from 0 */
  int n_pes;                   /**< how many there are */
  const shmemx_uniqueid_t *id; /**< the same on all PEs; one of them has made it */
  const char *rdzv;            /**< "tcp://HOST:PORT" of PE 0 (port 8666 unless given), or "unix:NAME" where all are on one machine */
} shmemx_init_attr_t;

/// Makes a new id, before init, on one PE: the user carries it to the others (by MPI_Bcast, a file of mode 0600), and all,
/// this PE too, start with it. One id is for one job. Returns 0, or nonzero, with a line on stderr, where there is no network.
SHMEM_API int shmemx_get_uniqueid(shmemx_uniqueid_t *id);
/// As shmem_init_thread, with the others found as `attr` says; `provided` may be null. Collective, also where it fails:
/// a wrong argument on one PE makes it fail on all that have come, and all may then try again.
SHMEM_API int shmemx_init_attr(const shmemx_init_attr_t *attr, int requested, int *provided);

/* ---- float16 and bfloat16 reductions ---- */

/// The 16-bit types that reductions take: `X(TYPENAME, TYPE)`.
#define SHMEMX_FOR_HALF_TYPES(X) X(half, shmemx_half_t) X(bfloat16, shmemx_bfloat16_t)

/// As shmem_sum_reduce and its kin, on `nreduce` 16-bit elements. Accumulates in float and rounds once at the end,
/// in teams of more than 8 PEs on several nodes once a node and again as nodes are combined.
/// Returns 0, or nonzero for an invalid team.
#define SHMEMX_DECLARE_(N, T)                                                                          \
  SHMEM_API int shmemx_##N##_sum_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce);  \
  SHMEM_API int shmemx_##N##_prod_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce); \
  SHMEM_API int shmemx_##N##_min_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce);  \
  SHMEM_API int shmemx_##N##_max_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce);
SHMEMX_FOR_HALF_TYPES(SHMEMX_DECLARE_)
#undef SHMEMX_DECLARE_

/* ---- Arithmetic on local memory ---- */

/// Element types and operations, where they are values. Complex types have sums and products only, floating ones no bit
/// operations.
typedef enum {
  SHMEMX_INT8, SHMEMX_INT16, SHMEMX_INT32, SHMEMX_INT64, SHMEMX_UINT8, SHMEMX_UINT16, SHMEMX_UINT32, SHMEMX_UINT64,
  SHMEMX_FLOAT, SHMEMX_DOUBLE, SHMEMX_LONGDOUBLE, SHMEMX_COMPLEXF, SHMEMX_COMPLEXD, SHMEMX_HALF, SHMEMX_BFLOAT16
} shmemx_type_t;
typedef enum {
  SHMEMX_AND, SHMEMX_OR, SHMEMX_XOR, SHMEMX_MAX, SHMEMX_MIN, SHMEMX_SUM, SHMEMX_PROD
} shmemx_op_t;

/// dest[i] = sources[0][i] op sources[1][i] op ..., combined in this order, for `nelems` elements of local memory, by the
/// arithmetic of the reductions: for whoever builds a collective of another kind out of puts and signals. At least one
/// source; `dest` may be one of them, and else doesn't overlap any. 16-bit types accumulate in float and round once.
/// Safe from any thread. Returns 0; nonzero, with nothing done, where the type has no such operation.
SHMEM_API int shmemx_reduce_local(void *dest, const void *const *sources, size_t nsources, size_t nelems,
                                  shmemx_type_t type, shmemx_op_t op);

/* ---- Atomic addition of floating-point numbers ---- */

/// The floating-point types with an atomic addition: `X(TYPENAME, TYPE)`.
#define SHMEMX_FOR_ATOMIC_ADD_TYPES(X) X(float, float) X(double, double)

/// As shmem_atomic_add and shmem_atomic_fetch_add, on float and double; atomic to the shmem_atomic_ routines on them.
#define SHMEMX_DECLARE_(N, T)                                                            \
  SHMEM_API void shmemx_##N##_atomic_add(T *dest, T value, int pe);                      \
  SHMEM_API void shmemx_ctx_##N##_atomic_add(shmem_ctx_t ctx, T *dest, T value, int pe); \
  SHMEM_API T shmemx_##N##_atomic_fetch_add(T *dest, T value, int pe);                   \
  SHMEM_API T shmemx_ctx_##N##_atomic_fetch_add(shmem_ctx_t ctx, T *dest, T value, int pe);
SHMEMX_FOR_ATOMIC_ADD_TYPES(SHMEMX_DECLARE_)
#undef SHMEMX_DECLARE_

/* ---- Counting semaphores ---- */

/// A counting semaphore: a symmetric object, one instance on each PE; zero bytes are a semaphore of count 0.
typedef struct {
  int64_t count; /**< the library's: read it by shmemx_sem_value */
} shmemx_sem_t;

/// Sets the count of the instance on PE `pe`. Not while others wait on it.
SHMEM_API void shmemx_sem_set(shmemx_sem_t *sem, int64_t value, int pe);
/// Completes the caller's operations on the default context, then raises the count on PE `pe` by 1.
SHMEM_API void shmemx_sem_post(shmemx_sem_t *sem, int pe);
/// Waits until the count on PE `pe` is above 0 and lowers it by 1.
SHMEM_API void shmemx_sem_wait(shmemx_sem_t *sem, int pe);
/// Lowers the count on PE `pe` by 1 if it is above 0: 0 then, else 1, at once.
SHMEM_API int shmemx_sem_trywait(shmemx_sem_t *sem, int pe);
/// The count on PE `pe` at some moment during the call.
SHMEM_API int64_t shmemx_sem_value(const shmemx_sem_t *sem, int pe);

/* ---- Two PEs meet ---- */

/// Waits until PE `pe` has made the matching call with this PE's number. Orders like a barrier of two: what either put
/// before is complete and visible to the other. Calls of one pair match in order; with itself a PE never waits.
SHMEM_API void shmemx_sync_pe(int pe);

/* ---- Accesses that SHOAL_RACE cannot see ---- */

/// Tells the search for races (SHOAL_RACE=1) of a load (`writes` 0) or store of the program's own, of symmetric memory of this PE or,
/// by an address from shmem_ptr, of another. What `shoalcc --race` compiles calls it for every access; by hand it is for
/// code of other compilers. `site`: an address of code behind the access, or NULL for where the call is. Does nothing without
/// SHOAL_RACE and for memory that is not symmetric. Safe from any thread.
SHMEM_API void shmemx_race_access(const void *address, size_t nbytes, int writes, const void *site);

/* ---- Many blocks, one call ---- */

/// One block of a batch: the remote side is symmetric, the other local.
typedef struct {
  void *dest;
  const void *source;
  size_t nbytes;
} shmemx_block_t;

/// shmem_putmem of each of the `nblocks` blocks to PE `pe`, in any order. Sources may be reused on return.
SHMEM_API void shmemx_putmem_batch(const shmemx_block_t *blocks, size_t nblocks, int pe);
SHMEM_API void shmemx_ctx_putmem_batch(shmem_ctx_t ctx, const shmemx_block_t *blocks, size_t nblocks, int pe);
/// shmem_getmem of each of the `nblocks` blocks from PE `pe`, in any order; complete on return.
SHMEM_API void shmemx_getmem_batch(const shmemx_block_t *blocks, size_t nblocks, int pe);
SHMEM_API void shmemx_ctx_getmem_batch(shmem_ctx_t ctx, const shmemx_block_t *blocks, size_t nblocks, int pe);

/* ---- Further heaps: an invalid handle ends the job with a message, except where said otherwise ---- */

/// A symmetric heap beside the default one, that only the members of its team can reach.
typedef struct shmemx_heap_handle *shmemx_heap_t;
#define SHMEMX_HEAP_INVALID SHMEM_HANDLE_(shmemx_heap_t, 0)
/// The heap of shmem_malloc.
#define SHMEMX_HEAP_DEFAULT SHMEM_HANDLE_(shmemx_heap_t, 1)

/// What a new heap is to be.
typedef struct {
  size_t size;       /**< bytes on each PE */
  size_t alignment;  /**< least of its objects, in bytes: a power of two up to 2 MiB; 0 for 64 */
  shmem_team_t team; /**< its members */
} shmemx_heap_attr_t;

/// Makes a heap, collectively over `attr->team`, with equal attributes. Returns 0; nonzero, with SHMEMX_HEAP_INVALID
/// on all members alike, if the attributes are illegal or there is no room.
SHMEM_API int shmemx_heap_create(const shmemx_heap_attr_t *attr, shmemx_heap_t *heap);
/// As shmem_malloc, shmem_align and shmem_free in `heap`, collectively over its team; any power of two up to 2
/// MiB aligns.
SHMEM_API void *shmemx_heap_malloc(shmemx_heap_t heap, size_t size);
SHMEM_API void *shmemx_heap_align(shmemx_heap_t heap, size_t alignment, size_t size);
SHMEM_API void shmemx_heap_free(shmemx_heap_t heap, void *ptr);
/// Ends a heap with all its objects, collectively over its team. A no-op for SHMEMX_HEAP_INVALID.
SHMEM_API void shmemx_heap_destroy(shmemx_heap_t heap);
/// The heap's size on each PE, in bytes.
SHMEM_API size_t shmemx_heap_size(shmemx_heap_t heap);
/// The bytes of it that live objects take, with their padding.
SHMEM_API size_t shmemx_heap_used(shmemx_heap_t heap);

/* ---- Devices: what shoal/device/device.hpp is made of ---- */

/// The device of this PE, a shoal::device::Backend. The first call is collective over all PEs. `abi`: the caller's
/// shoal::device::kAbi; another one than the library's ends the job.
SHMEM_API void *shmemx_device_backend(int abi);
/// Whether the device of this number (shoal::device::Facts) is the running job's: it is not after finalize, nor in a
/// later job. With `call`, a name for the message, it must be.
SHMEM_API int shmemx_device_current(uint64_t number, const char *call);
/// `team` must be a valid aclshmemx_team_t. In kernels as well.
SHMEM_API void shmemx_device_check_team(const void *team, const char *call);
/// Fills in a shoal::device::TeamView of `team`, which must be valid.
SHMEM_API void shmemx_device_team(shmem_team_t team, void *view);
/// As shmem_malloc and shmem_free in the device's symmetric memory; collective over all PEs.
SHMEM_API void *shmemx_device_malloc(size_t size);
SHMEM_API void shmemx_device_free(void *ptr);

#ifdef __cplusplus
} /* extern "C" */

#ifndef SHMEM_NO_GENERICS
extern "C++" {
/// shmemx_sync_pe.
inline void shmem_sync(int pe) { shmemx_sync_pe(pe); }
}
#endif
#endif

#endif

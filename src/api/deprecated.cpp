// SPDX-License-Identifier: Apache-2.0
// The collectives over active sets: OpenSHMEM 1.6, "Collective Routines", deprecated forms. The same algorithms as the
// teams', over a Group that meets on the caller's pSync; pWrk isn't needed.
#include "api/define.hpp"
#include "base/error.hpp"
#include "coll/collectives.hpp"
#include "team/active_set.hpp"
#include "team/watched.hpp"

using namespace shoal;

#define SHOAL_ACTIVE_SET int PE_start, int logPE_stride, int PE_size
#define SHOAL_GROUP(call) ActiveSet group(world(), PE_start, logPE_stride, PE_size, pSync, call)

SHOAL_API(void, barrier, (SHOAL_ACTIVE_SET, long* pSync)) {
  SHOAL_GROUP("shmem_barrier");
  const WatchedCollective watched(group, CallKind::meeting, "shmem_barrier");
  world().quiet();
  group.sync("shmem_barrier");
}

SHOAL_API(void, sync, (SHOAL_ACTIVE_SET, long* pSync)) {
  SHOAL_GROUP("shmem_sync");
  const WatchedCollective watched(group, CallKind::meeting, "shmem_sync");
  group.sync("shmem_sync");
}

#define SHOAL_DEFINE(BITS)                                                                                            \
  SHOAL_API(void, broadcast##BITS,                                                                                    \
            (void* dest, const void* source, size_t nelems, int PE_root, SHOAL_ACTIVE_SET, long* pSync)) {            \
    constexpr const char* call = "shmem_broadcast" #BITS;                                                             \
    SHOAL_GROUP(call);                                                                                                \
    broadcast(group, dest, source, bytes_of(nelems, BITS / 8), PE_root, false, call);                                 \
  }                                                                                                                   \
  SHOAL_API(void, collect##BITS, (void* dest, const void* source, size_t nelems, SHOAL_ACTIVE_SET, long* pSync)) {    \
    constexpr const char* call = "shmem_collect" #BITS;                                                               \
    SHOAL_GROUP(call);                                                                                                \
    collect(group, dest, source, nelems, BITS / 8, call);                                                             \
  }                                                                                                                   \
  SHOAL_API(void, fcollect##BITS, (void* dest, const void* source, size_t nelems, SHOAL_ACTIVE_SET, long* pSync)) {   \
    constexpr const char* call = "shmem_fcollect" #BITS;                                                              \
    SHOAL_GROUP(call);                                                                                                \
    fcollect(group, dest, source, bytes_of(nelems, BITS / 8), call);                                                  \
  }                                                                                                                   \
  SHOAL_API(void, alltoall##BITS, (void* dest, const void* source, size_t nelems, SHOAL_ACTIVE_SET, long* pSync)) {   \
    constexpr const char* call = "shmem_alltoall" #BITS;                                                              \
    SHOAL_GROUP(call);                                                                                                \
    alltoall(group, dest, source, 1, 1, nelems, BITS / 8, call);                                                      \
  }                                                                                                                   \
  SHOAL_API(                                                                                                          \
      void, alltoalls##BITS,                                                                                          \
      (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, SHOAL_ACTIVE_SET, long* pSync)) { \
    constexpr const char* call = "shmem_alltoalls" #BITS;                                                             \
    SHOAL_GROUP(call);                                                                                                \
    alltoall(group, dest, source, dst, sst, nelems, BITS / 8, call);                                                  \
  }
SHOAL_DEFINE(32)
SHOAL_DEFINE(64)
#undef SHOAL_DEFINE

namespace {

template <class T>
void reduce_active(T* dest, const T* source, int count, SHOAL_ACTIVE_SET, long* pSync, ReduceOp op,
                   const char* call) noexcept {
  SHOAL_GROUP(call);
  if (count < 0) world().fatal(call, strf("nreduce is negative: %d", count));
  if (count != 0) world().expect_aligned(dest, source, call);
  const CollTuning& tuning = current.job->coll_tuning();
  reduce(group, dest, source, static_cast<size_t>(count), tuning.kernels->at(op, element_of<T>()), tuning, call);
}

}  // namespace

#define SHOAL_DEFINE_TO_ALL(name, T, Op)                                                                        \
  SHOAL_API(void, name, (T * dest, const T* source, int nreduce, SHOAL_ACTIVE_SET, T* /*pWrk*/, long* pSync)) { \
    reduce_active(dest, source, nreduce, PE_start, logPE_stride, PE_size, pSync, ReduceOp::Op, "shmem_" #name); \
  }

#define SHOAL_DEFINE(NAME, T)                    \
  SHOAL_DEFINE_TO_ALL(NAME##_and_to_all, T, And) \
  SHOAL_DEFINE_TO_ALL(NAME##_or_to_all, T, Or)   \
  SHOAL_DEFINE_TO_ALL(NAME##_xor_to_all, T, Xor)
SHMEM_FOR_TO_ALL_AND_OR_XOR_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(NAME, T)                    \
  SHOAL_DEFINE_TO_ALL(NAME##_max_to_all, T, Max) \
  SHOAL_DEFINE_TO_ALL(NAME##_min_to_all, T, Min)
SHMEM_FOR_TO_ALL_MAX_MIN_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(NAME, T)                    \
  SHOAL_DEFINE_TO_ALL(NAME##_sum_to_all, T, Sum) \
  SHOAL_DEFINE_TO_ALL(NAME##_prod_to_all, T, Prod)
SHMEM_FOR_TO_ALL_SUM_PROD_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

// SPDX-License-Identifier: Apache-2.0
// Team reductions and scans: OpenSHMEM 1.6, "Collective Routines". All return nonzero for SHMEM_TEAM_INVALID.
#include "api/define.hpp"
#include "coll/collectives.hpp"

using namespace shoal;

namespace {

template <class T>
int reduce_over(shmem_team_t team, T* dest, const T* source, size_t count, ReduceOp op, const char* call) noexcept {
  Team* members = team_of(team, call);
  if (members == nullptr) return -1;
  if (count != 0) world().expect_aligned(dest, source, call);
  const CollTuning& tuning = current.job->coll_tuning();
  reduce(*members, dest, source, count, tuning.kernels->at(op, element_of<T>()), tuning, call);
  return 0;
}

template <class T>
int scan_over(shmem_team_t team, T* dest, const T* source, size_t count, bool inclusive, const char* call) noexcept {
  Team* members = team_of(team, call);
  if (members == nullptr) return -1;
  if (count != 0) world().expect_aligned(dest, source, call);
  scan(*members, dest, source, count, current.job->coll_tuning().kernels->at(ReduceOp::Sum, element_of<T>()), inclusive,
       call);
  return 0;
}

}  // namespace

#define SHOAL_DEFINE_REDUCE(name, T, Op)                                                 \
  SHOAL_API(int, name, (shmem_team_t team, T * dest, const T* source, size_t nreduce)) { \
    return reduce_over(team, dest, source, nreduce, ReduceOp::Op, "shmem_" #name);       \
  }

#define SHOAL_DEFINE(NAME, T)                    \
  SHOAL_DEFINE_REDUCE(NAME##_and_reduce, T, And) \
  SHOAL_DEFINE_REDUCE(NAME##_or_reduce, T, Or)   \
  SHOAL_DEFINE_REDUCE(NAME##_xor_reduce, T, Xor)
SHMEM_FOR_REDUCE_AND_OR_XOR_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(NAME, T)                    \
  SHOAL_DEFINE_REDUCE(NAME##_max_reduce, T, Max) \
  SHOAL_DEFINE_REDUCE(NAME##_min_reduce, T, Min)
SHMEM_FOR_REDUCE_MAX_MIN_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(NAME, T)                                                                        \
  SHOAL_DEFINE_REDUCE(NAME##_sum_reduce, T, Sum)                                                     \
  SHOAL_DEFINE_REDUCE(NAME##_prod_reduce, T, Prod)                                                   \
  SHOAL_API(int, NAME##_sum_inscan, (shmem_team_t team, T * dest, const T* source, size_t nelems)) { \
    return scan_over(team, dest, source, nelems, true, "shmem_" #NAME "_sum_inscan");                \
  }                                                                                                  \
  SHOAL_API(int, NAME##_sum_exscan, (shmem_team_t team, T * dest, const T* source, size_t nelems)) { \
    return scan_over(team, dest, source, nelems, false, "shmem_" #NAME "_sum_exscan");               \
  }
SHMEM_FOR_REDUCE_SUM_PROD_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

// The 16-bit floating types, which C has no names for.
#define SHOAL_DEFINE_REDUCE_X(NAME, T, op, Op)                                                        \
  extern "C" __attribute__((visibility("default"))) int shmemx_##NAME##_##op##_reduce(                \
      shmem_team_t team, T* dest, const T* source, size_t nreduce) {                                  \
    return reduce_over(team, dest, source, nreduce, ReduceOp::Op, "shmemx_" #NAME "_" #op "_reduce"); \
  }
#define SHOAL_DEFINE(NAME, T)                \
  SHOAL_DEFINE_REDUCE_X(NAME, T, sum, Sum)   \
  SHOAL_DEFINE_REDUCE_X(NAME, T, prod, Prod) \
  SHOAL_DEFINE_REDUCE_X(NAME, T, min, Min)   \
  SHOAL_DEFINE_REDUCE_X(NAME, T, max, Max)
SHOAL_DEFINE(half, shmemx_half_t)
SHOAL_DEFINE(bfloat16, shmemx_bfloat16_t)
#undef SHOAL_DEFINE

// SPDX-License-Identifier: Apache-2.0
// Team reductions and scans: OpenSHMEM 1.6, "Collective Routines". All return nonzero for SHMEM_TEAM_INVALID.
#include "api/define.hpp"
#include "coll/collectives.hpp"
#include "coll/combine.hpp"

using namespace shoal;

namespace {

int reduce_over(shmem_team_t team, void* dest, const void* source, size_t count, const Combine& combine, const char* call) noexcept {
  Team* members = team_of(team, call);
  if (members == nullptr) return -1;
  reduce(*members, dest, source, count, combine, current.job->reduce_algorithm(), call);
  return 0;
}

int scan_over(shmem_team_t team, void* dest, const void* source, size_t count, const Combine& combine, bool inclusive,
              const char* call) noexcept {
  Team* members = team_of(team, call);
  if (members == nullptr) return -1;
  scan(*members, dest, source, count, combine, inclusive, call);
  return 0;
}

}  // namespace

#define SHOAL_DEFINE_REDUCE(name, T, Op)                                                        \
  SHOAL_API(int, name, (shmem_team_t team, T* dest, const T* source, size_t nreduce)) {          \
    return reduce_over(team, dest, source, nreduce, kCombine<Op, T>, "shmem_" #name);            \
  }

#define SHOAL_DEFINE(NAME, T)                           \
  SHOAL_DEFINE_REDUCE(NAME##_and_reduce, T, OpAnd)      \
  SHOAL_DEFINE_REDUCE(NAME##_or_reduce, T, OpOr)        \
  SHOAL_DEFINE_REDUCE(NAME##_xor_reduce, T, OpXor)
SHMEM_FOR_REDUCE_AND_OR_XOR_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(NAME, T)                           \
  SHOAL_DEFINE_REDUCE(NAME##_max_reduce, T, OpMax)      \
  SHOAL_DEFINE_REDUCE(NAME##_min_reduce, T, OpMin)
SHMEM_FOR_REDUCE_MAX_MIN_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(NAME, T)                                                                                     \
  SHOAL_DEFINE_REDUCE(NAME##_sum_reduce, T, OpSum)                                                                \
  SHOAL_DEFINE_REDUCE(NAME##_prod_reduce, T, OpProd)                                                              \
  SHOAL_API(int, NAME##_sum_inscan, (shmem_team_t team, T* dest, const T* source, size_t nelems)) {                \
    return scan_over(team, dest, source, nelems, kCombine<OpSum, T>, true, "shmem_" #NAME "_sum_inscan");          \
  }                                                                                                               \
  SHOAL_API(int, NAME##_sum_exscan, (shmem_team_t team, T* dest, const T* source, size_t nelems)) {                \
    return scan_over(team, dest, source, nelems, kCombine<OpSum, T>, false, "shmem_" #NAME "_sum_exscan");         \
  }
SHMEM_FOR_REDUCE_SUM_PROD_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

// The 16-bit floating types, which C has no names for.
#define SHOAL_DEFINE_REDUCE_X(NAME, T, op, Op)                                                                           \
  extern "C" __attribute__((visibility("default"))) int shmemx_##NAME##_##op##_reduce(shmem_team_t team, T* dest,        \
                                                                                      const T* source, size_t nreduce) { \
    return reduce_over(team, dest, source, nreduce, kCombineWide<Op, T>, "shmemx_" #NAME "_" #op "_reduce");                 \
  }
#define SHOAL_DEFINE(NAME, T)                        \
  SHOAL_DEFINE_REDUCE_X(NAME, T, sum, OpSum)         \
  SHOAL_DEFINE_REDUCE_X(NAME, T, prod, OpProd)       \
  SHOAL_DEFINE_REDUCE_X(NAME, T, min, OpMin)         \
  SHOAL_DEFINE_REDUCE_X(NAME, T, max, OpMax)
SHOAL_DEFINE(half, shmemx_half_t)
SHOAL_DEFINE(bfloat16, shmemx_bfloat16_t)
#undef SHOAL_DEFINE

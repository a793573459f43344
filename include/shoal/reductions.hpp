// SPDX-License-Identifier: Apache-2.0
/// \file
/// The operators of TeamRef::all_reduce, in namespace shoal::op.
#pragma once

#include "types.hpp"

namespace shoal::inline v1 {
namespace op {

// An operator takes the types that the C interface has a routine for; others don't compile.
#define SHOAL_OPERATOR_(Name, name, routine)                                                            \
  struct Name {                                                                                         \
    template <class T>                                                                                  \
    requires requires(shmem_team_t team, T* dest, const T* source) { routine(team, dest, source, 1u); } \
    int operator()(shmem_team_t team, T* dest, const T* source, std::size_t count) const {              \
      return routine(team, dest, source, count);                                                        \
    }                                                                                                   \
  };                                                                                                    \
  inline constexpr Name name{};
SHOAL_OPERATOR_(BitAnd, bit_and, shmem_and_reduce)
SHOAL_OPERATOR_(BitOr, bit_or, shmem_or_reduce)
SHOAL_OPERATOR_(BitXor, bit_xor, shmem_xor_reduce)
#undef SHOAL_OPERATOR_

// These take float16 and bfloat16 as well.
#define SHOAL_OPERATOR_(Name, name, short_name)                                                                    \
  struct Name {                                                                                                    \
    template <class T>                                                                                             \
    requires requires(shmem_team_t team, T* dest, const T* source) {                                               \
      shmem_##short_name##_reduce(team, dest, source, 1u);                                                         \
    }                                                                                                              \
    int operator()(shmem_team_t team, T* dest, const T* source, std::size_t count) const {                         \
      return shmem_##short_name##_reduce(team, dest, source, count);                                               \
    }                                                                                                              \
    int operator()(shmem_team_t team, shmemx_half_t* dest, const shmemx_half_t* source, std::size_t count) const { \
      return shmemx_half_##short_name##_reduce(team, dest, source, count);                                         \
    }                                                                                                              \
    int operator()(shmem_team_t team, shmemx_bfloat16_t* dest, const shmemx_bfloat16_t* source,                    \
                   std::size_t count) const {                                                                      \
      return shmemx_bfloat16_##short_name##_reduce(team, dest, source, count);                                     \
    }                                                                                                              \
  };                                                                                                               \
  inline constexpr Name name{};
SHOAL_OPERATOR_(Sum, sum, sum)
SHOAL_OPERATOR_(Product, product, prod)
SHOAL_OPERATOR_(Min, min, min)
SHOAL_OPERATOR_(Max, max, max)
#undef SHOAL_OPERATOR_

}  // namespace op

/// `Op` (a type of shoal::op) can reduce elements of type T.
template <class T, class Op>
concept ReducibleBy = Element<T> && requires(const Op& op, shmem_team_t team, T* dest, const T* source) {
  { op(team, dest, source, std::size_t{1}) } -> std::same_as<int>;
};

/// A type that has prefix sums.
template <class T>
concept Scannable = Element<T> && requires(shmem_team_t team, T* dest, const T* source) {
  shmem_sum_inscan(team, dest, source, 1u);
};

}  // namespace shoal::inline v1

// SPDX-License-Identifier: Apache-2.0
/// \file
/// The arithmetic of reductions in kernels: what a type is accumulated in, and the operators.
#pragma once

#include <shmem/half.h>

#include "view.hpp"

namespace shoal::device {

/// How sums of T are kept: integers wrap, 16-bit floating-point numbers are kept as float and rounded once.
template <class T>
struct Accumulator {
  using type = T;
  SHOAL_DEVICE_FN static type widen(T value) noexcept { return value; }
  SHOAL_DEVICE_FN static T narrow(type value) noexcept { return value; }
};
template <>
struct Accumulator<shmemx_half_t> {
  using type = float;
  SHOAL_DEVICE_FN static float widen(shmemx_half_t value) noexcept { return shmemx_half_to_float(value); }
  SHOAL_DEVICE_FN static shmemx_half_t narrow(float value) noexcept { return shmemx_half_from_float(value); }
};
template <>
struct Accumulator<shmemx_bfloat16_t> {
  using type = float;
  SHOAL_DEVICE_FN static float widen(shmemx_bfloat16_t value) noexcept { return shmemx_bfloat16_to_float(value); }
  SHOAL_DEVICE_FN static shmemx_bfloat16_t narrow(float value) noexcept { return shmemx_bfloat16_from_float(value); }
};

/// Unsigned for integers, at least as wide as unsigned int, so that overflow wraps.
template <class T, bool = std::is_integral_v<T>>
struct Wrapping {
  using type = T;
};
template <class T>
struct Wrapping<T, true> {
  using type = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;
};

struct Sum {
  template <class T>
  SHOAL_DEVICE_FN T operator()(T a, T b) const noexcept {
    using W = typename Wrapping<T>::type;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
};
struct Prod {
  template <class T>
  SHOAL_DEVICE_FN T operator()(T a, T b) const noexcept {
    using W = typename Wrapping<T>::type;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
};
struct Min {
  template <class T>
  SHOAL_DEVICE_FN T operator()(T a, T b) const noexcept { return b < a ? b : a; }
};
struct Max {
  template <class T>
  SHOAL_DEVICE_FN T operator()(T a, T b) const noexcept { return a < b ? b : a; }
};
struct BitAnd {
  template <class T>
  SHOAL_DEVICE_FN T operator()(T a, T b) const noexcept { return static_cast<T>(a & b); }
};
struct BitOr {
  template <class T>
  SHOAL_DEVICE_FN T operator()(T a, T b) const noexcept { return static_cast<T>(a | b); }
};
struct BitXor {
  template <class T>
  SHOAL_DEVICE_FN T operator()(T a, T b) const noexcept { return static_cast<T>(a ^ b); }
};

}  // namespace shoal::device

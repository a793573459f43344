// SPDX-License-Identifier: Apache-2.0
// The arithmetic of reductions and scans: out[i] = a[i] op b[i], one function for each operation and type.
#pragma once
#include <shmem/half.h>

#include <complex>
#include <cstddef>
#include <type_traits>

#include "coll/collectives.hpp"

namespace shoal {

// Integers are added and multiplied as unsigned numbers: overflow wraps instead of being undefined, and narrow types are
// not promoted to int on the way.
template <class T>
struct Wrapping { using type = T; };
template <class T> requires std::is_integral_v<T>
struct Wrapping<T> { using type = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>; };

struct OpAnd { template <class T> static T apply(T a, T b) noexcept { return static_cast<T>(a & b); } };
struct OpOr { template <class T> static T apply(T a, T b) noexcept { return static_cast<T>(a | b); } };
struct OpXor { template <class T> static T apply(T a, T b) noexcept { return static_cast<T>(a ^ b); } };
struct OpMax { template <class T> static T apply(T a, T b) noexcept { return a < b ? b : a; } };
struct OpMin { template <class T> static T apply(T a, T b) noexcept { return b < a ? b : a; } };
struct OpSum {
  template <class T>
  static T apply(T a, T b) noexcept {
    using W = typename Wrapping<T>::type;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
};
struct OpProd {
  template <class T>
  static T apply(T a, T b) noexcept {
    if constexpr (requires { a.imag(); }) {
      // Spelled out: the operator would also look for infinities, at a call an element.
      return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
    } else {
      using W = typename Wrapping<T>::type;
      return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
    }
  }
};

template <class Op, class T>
void combine_elements(void* out, const void* a, const void* b, std::size_t count) noexcept {
  auto* o = static_cast<T*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  for (std::size_t i = 0; i < count; ++i) o[i] = Op::apply(x[i], y[i]);
}

template <class Op, class T>
inline constexpr Combine kCombine{sizeof(T), &combine_elements<Op, T>, nullptr};

// The 16-bit floating types are accumulated in float and rounded once, at the end.
inline float widen(shmemx_half_t v) noexcept { return shmemx_half_to_float(v); }
inline float widen(shmemx_bfloat16_t v) noexcept { return shmemx_bfloat16_to_float(v); }
inline void narrow(float v, shmemx_half_t& out) noexcept { out = shmemx_half_from_float(v); }
inline void narrow(float v, shmemx_bfloat16_t& out) noexcept { out = shmemx_bfloat16_from_float(v); }

template <class T>
void widen_elements(void* out, const void* in, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) static_cast<float*>(out)[i] = widen(static_cast<const T*>(in)[i]);
}
template <class T>
void narrow_elements(void* out, const void* in, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) narrow(static_cast<const float*>(in)[i], static_cast<T*>(out)[i]);
}
template <class Op, class T>
void accumulate_elements(void* accumulator, const void* in, std::size_t count) noexcept {
  auto* sum = static_cast<float*>(accumulator);
  for (std::size_t i = 0; i < count; ++i) sum[i] = Op::apply(sum[i], widen(static_cast<const T*>(in)[i]));
}

template <class Op, class T>
inline constexpr WideCombine kWide{sizeof(float), &widen_elements<T>, &accumulate_elements<Op, T>, &narrow_elements<T>};
template <class Op, class T>
inline constexpr Combine kCombineWide{sizeof(T), nullptr, &kWide<Op, T>};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// The kernels themselves, compiled once for each instruction set: a kernels_*.cpp defines SHOAL_ISA, the name of a
// namespace, and includes this. Everything here stays inside that namespace, and no inline function from elsewhere is
// called: the linker would keep one copy of it for all, perhaps one that this processor cannot run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "coll/kernels.hpp"
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace shoal::SHOAL_ISA {
namespace {

#if defined(__F16C__)
/// A virtual machine may hide it although AVX2 is there; clang 14's __builtin_cpu_supports doesn't know it.
bool has_f16c() noexcept {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

struct Complex32 {
  float re, im;
};
struct Complex64 {
  double re, im;
};

/// Integers are added and multiplied as unsigned numbers, narrow ones as unsigned int: overflow wraps, nothing is
/// undefined.
template <class T>
struct WrappingOf {
  using type = T;
};
template <>
struct WrappingOf<std::int8_t> {
  using type = unsigned;
};
template <>
struct WrappingOf<std::int16_t> {
  using type = unsigned;
};
template <>
struct WrappingOf<std::int32_t> {
  using type = unsigned;
};
template <>
struct WrappingOf<std::int64_t> {
  using type = std::uint64_t;
};
template <>
struct WrappingOf<std::uint8_t> {
  using type = unsigned;
};
template <>
struct WrappingOf<std::uint16_t> {
  using type = unsigned;
};
template <class T>
using Wrapping = typename WrappingOf<T>::type;

struct And {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(a ^ b);
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) noexcept {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T>
  static T apply(T a, T b) noexcept {
    return b < a ? b : a;
  }
};
struct Sum {
  template <class T>
  static T apply(T a, T b) noexcept {
    using W = Wrapping<T>;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
  static Complex32 apply(Complex32 a, Complex32 b) noexcept { return {a.re + b.re, a.im + b.im}; }
  static Complex64 apply(Complex64 a, Complex64 b) noexcept { return {a.re + b.re, a.im + b.im}; }
};
struct Prod {
  template <class T>
  static T apply(T a, T b) noexcept {
    using W = Wrapping<T>;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
  static Complex32 apply(Complex32 a, Complex32 b) noexcept {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  static Complex64 apply(Complex64 a, Complex64 b) noexcept {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

template <class Op, class T>
void combine(void* out, const void* a, const void* b, std::size_t count) noexcept {
  auto* o = static_cast<T*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  for (std::size_t i = 0; i < count; ++i) o[i] = Op::apply(x[i], y[i]);
}

// float16 and bfloat16: accumulated in float, rounded once. The conversions of shmem/half.h are static, so each
// instruction set has its own; with F16C the processor's are used.
inline void widen_one(shmemx_half_t v, float& out) noexcept { out = shmemx_half_to_float(v); }
inline void widen_one(shmemx_bfloat16_t v, float& out) noexcept { out = shmemx_bfloat16_to_float(v); }
inline void narrow_one(float v, shmemx_half_t& out) noexcept { out = shmemx_half_from_float(v); }
inline void narrow_one(float v, shmemx_bfloat16_t& out) noexcept { out = shmemx_bfloat16_from_float(v); }

template <class T>
void widen(void* accumulator, const void* in, std::size_t count) noexcept {
  auto* o = static_cast<float*>(accumulator);
  const auto* x = static_cast<const T*>(in);
  std::size_t i = 0;
#ifdef __F16C__
  if constexpr (std::is_same_v<T, shmemx_half_t>)
    for (; i + 8 <= count; i += 8)
      _mm256_storeu_ps(o + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
#endif
  for (; i < count; ++i) widen_one(x[i], o[i]);
}

template <class T>
void narrow(void* out, const void* accumulator, std::size_t count) noexcept {
  auto* o = static_cast<T*>(out);
  const auto* x = static_cast<const float*>(accumulator);
  std::size_t i = 0;
#ifdef __F16C__
  if constexpr (std::is_same_v<T, shmemx_half_t>)
    for (; i + 8 <= count; i += 8)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(o + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < count; ++i) narrow_one(x[i], o[i]);
}

template <class Op, class T>
void accumulate(void* accumulator, const void* in, std::size_t count) noexcept {
  constexpr std::size_t kStrip = 256;
  float wide[kStrip];
  auto* sum = static_cast<float*>(accumulator);
  for (std::size_t done = 0; done < count; done += kStrip) {
    const std::size_t strip = count - done < kStrip ? count - done : kStrip;
    widen<T>(wide, static_cast<const T*>(in) + done, strip);
    for (std::size_t i = 0; i < strip; ++i) sum[done + i] = Op::apply(sum[done + i], wide[i]);
  }
}

void stream(void* dest, const void* source, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  auto* d = static_cast<char*>(dest);
  const auto* s = static_cast<const char*>(source);
#if defined(__x86_64__)
#if defined(__AVX512F__)
  using Vector = __m512i;
  const auto move = [](char* to, const char* from) {
    _mm512_stream_si512(reinterpret_cast<Vector*>(to), _mm512_loadu_si512(from));
  };
#elif defined(__AVX2__)
  using Vector = __m256i;
  const auto move = [](char* to, const char* from) {
    _mm256_stream_si256(reinterpret_cast<Vector*>(to), _mm256_loadu_si256(reinterpret_cast<const Vector*>(from)));
  };
#else
  using Vector = __m128i;
  const auto move = [](char* to, const char* from) {
    _mm_stream_si128(reinterpret_cast<Vector*>(to), _mm_loadu_si128(reinterpret_cast<const Vector*>(from)));
  };
#endif
  const std::size_t head = (64 - reinterpret_cast<std::uintptr_t>(d) % 64) % 64;
  if (head >= bytes) {
    std::memcpy(d, s, bytes);
    return;
  }
  std::memcpy(d, s, head);
  std::size_t i = head;
  for (; i + 64 <= bytes; i += 64)
    for (std::size_t k = 0; k < 64; k += sizeof(Vector)) move(d + i + k, s + i + k);
  std::memcpy(d + i, s + i, bytes - i);
#else
  std::memcpy(d, s, bytes);
#endif
}

struct Table {
  Combine rows[kReduceOps][kElements];

  template <class Op, class T>
  constexpr void set(ReduceOp op, Element element) {
    rows[static_cast<std::size_t>(op)][static_cast<std::size_t>(element)] = {sizeof(T), &combine<Op, T>, {}};
  }
  template <class Op, class T>
  constexpr void set_wide(ReduceOp op, Element element) {
    rows[static_cast<std::size_t>(op)][static_cast<std::size_t>(element)] = {
        sizeof(T), nullptr, {&widen<T>, &accumulate<Op, T>, &narrow<T>}};
  }
  template <class T>
  constexpr void set_arithmetic(Element element) {
    set<Sum, T>(ReduceOp::Sum, element);
    set<Prod, T>(ReduceOp::Prod, element);
  }
  template <class T>
  constexpr void set_ordered(Element element) {
    set_arithmetic<T>(element);
    set<Max, T>(ReduceOp::Max, element);
    set<Min, T>(ReduceOp::Min, element);
  }
  template <class T>
  constexpr void set_integer(Element element) {
    set_ordered<T>(element);
    set<And, T>(ReduceOp::And, element);
    set<Or, T>(ReduceOp::Or, element);
    set<Xor, T>(ReduceOp::Xor, element);
  }
  template <class T>
  constexpr void set_sixteen_bit(Element element) {
    set_wide<Sum, T>(ReduceOp::Sum, element);
    set_wide<Prod, T>(ReduceOp::Prod, element);
    set_wide<Max, T>(ReduceOp::Max, element);
    set_wide<Min, T>(ReduceOp::Min, element);
  }
};

constexpr Kernels make_kernels(const char* name, bool (*runs_here)() noexcept) {
  Table table{};
  table.set_integer<std::int8_t>(Element::I8);
  table.set_integer<std::int16_t>(Element::I16);
  table.set_integer<std::int32_t>(Element::I32);
  table.set_integer<std::int64_t>(Element::I64);
  table.set_integer<std::uint8_t>(Element::U8);
  table.set_integer<std::uint16_t>(Element::U16);
  table.set_integer<std::uint32_t>(Element::U32);
  table.set_integer<std::uint64_t>(Element::U64);
  table.set_ordered<float>(Element::F32);
  table.set_ordered<double>(Element::F64);
  table.set_ordered<long double>(Element::LongDouble);
  table.set_arithmetic<Complex32>(Element::C32);
  table.set_arithmetic<Complex64>(Element::C64);
  table.set_sixteen_bit<shmemx_half_t>(Element::Half);
  table.set_sixteen_bit<shmemx_bfloat16_t>(Element::BFloat16);
  Kernels kernels{name, runs_here, {}, &stream};
  for (std::size_t op = 0; op < kReduceOps; ++op)
    for (std::size_t element = 0; element < kElements; ++element)
      kernels.combine[op][element] = table.rows[op][element];
  return kernels;
}

}  // namespace
}  // namespace shoal::SHOAL_ISA

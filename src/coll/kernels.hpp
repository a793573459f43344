// SPDX-License-Identifier: Apache-2.0
// The arithmetic of reductions and scans: one function for each operation and type, in one table for each instruction
// set that the library was built for. kernels_*.cpp hold the tables; a job chooses one at its start.
#pragma once
#include <shmem/half.h>
#include <shmem/types.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace shoal {

enum class ReduceOp : std::uint8_t { And, Or, Xor, Max, Min, Sum, Prod };
inline constexpr std::size_t kReduceOps = 7;

enum class Element : std::uint8_t {
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F32,
  F64,
  LongDouble,
  C32,
  C64,
  Half,
  BFloat16
};
inline constexpr std::size_t kElements = 15;

/// The Element that a C type is.
template <class T>
constexpr Element element_of() noexcept {
  if constexpr (std::is_same_v<T, float>)
    return Element::F32;
  else if constexpr (std::is_same_v<T, double>)
    return Element::F64;
  else if constexpr (std::is_same_v<T, long double>)
    return Element::LongDouble;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return Element::C32;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return Element::C64;
  else if constexpr (std::is_same_v<T, shmemx_half_t>)
    return Element::Half;
  else if constexpr (std::is_same_v<T, shmemx_bfloat16_t>)
    return Element::BFloat16;
  else {
    static_assert(std::is_integral_v<T>);
    constexpr int kWidth = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<Element>(kWidth + (std::is_signed_v<T> ? 0 : 4));
  }
}

/// For types whose sums are kept in a wider one until the end.
struct WideCombine {
  void (*widen)(void* accumulator, const void* in, std::size_t count) noexcept;
  void (*accumulate)(void* accumulator, const void* in, std::size_t count) noexcept;
  void (*narrow)(void* out, const void* accumulator, std::size_t count) noexcept;
};

/// What a reduction needs to know about an operation on a type.
struct Combine {
  std::size_t width = 0;  ///< bytes of an element, at most 32; an accumulator element is at most twice as wide
  /// out = a op b; `out` may be `a` or `b`. Null where the type is accumulated in a wider one.
  void (*run)(void* out, const void* a, const void* b, std::size_t count) noexcept = nullptr;
  WideCombine wide = {};
};

struct Kernels {
  const char* name;  ///< "baseline", "avx2", "avx512"
  bool (*runs_here)() noexcept;
  /// Rows that the specification has no routine for (float xor) are empty.
  Combine combine[kReduceOps][kElements];
  /// Copies past the caches. The caller fences (stream_fence) before it tells anyone. The ranges must not overlap.
  void (*stream)(void* dest, const void* source, std::size_t bytes) noexcept;

  const Combine& at(ReduceOp op, Element element) const noexcept {
    return combine[static_cast<std::size_t>(op)][static_cast<std::size_t>(element)];
  }
};

/// Stores of stream() before it are seen before stores after it.
void stream_fence() noexcept;

/// "auto": the best that runs on this processor. @throws Error{invalid_option} for a name that isn't built or doesn't
/// run here
const Kernels& choose_kernels(const char* name);

}  // namespace shoal

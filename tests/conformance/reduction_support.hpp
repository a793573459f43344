// SPDX-License-Identifier: Apache-2.0
// Operators with a model each, and values for which every result is exact and no signed integer overflows.
#pragma once
#include "collective_support.hpp"

namespace conformance {

enum class Op { kAnd, kOr, kXor, kMax, kMin, kSum, kProd };

/// The larger of the magnitudes that n PEs may add without overflow; at most 1000.
template <class T>
int safe_term() {
  if constexpr (std::is_integral_v<T>) {
    const auto most = std::numeric_limits<T>::max() / static_cast<T>(npes);
    return most > 1000 ? 1000 : static_cast<int>(most);
  } else {
    return 1000;
  }
}

template <class T>
T term(Op op, uint64_t step, int pe, size_t i) {
  const uint64_t bits =
      test_mix(step * UINT64_C(999983) + static_cast<uint64_t>(pe) * UINT64_C(104729) + i * UINT64_C(127));
  const int small = static_cast<int>(bits % 1001);
  const bool odd_one = static_cast<int>((i + step) % static_cast<size_t>(npes)) == pe;  // one PE for each element
  if constexpr (is_complex<T>::value) {
    using Part = typename T::value_type;
    if (op == Op::kSum)
      return T(static_cast<Part>(small - 500), static_cast<Part>(static_cast<int>(bits / 1001 % 1001) - 500));
    static const T units[4] = {T(1, 0), T(0, 1), T(-1, 0), T(0, -1)};
    return odd_one ? T(static_cast<Part>(3), static_cast<Part>(small % 5)) : units[bits / 1001 % 4];
  } else if constexpr (std::is_floating_point_v<T>) {
    if (op == Op::kProd) return odd_one ? static_cast<T>(small - 500) : (bits >> 20) % 2 ? T(-2) : T(0.5);
    return static_cast<T>(small - 500) / T(4);
  } else if (std::is_unsigned_v<T> || op == Op::kAnd || op == Op::kOr || op == Op::kXor || op == Op::kMax ||
             op == Op::kMin) {
    if (op == Op::kProd) return static_cast<T>(bits | 1);  // odd: the product keeps its low bits and wraps
    // A result of and, or that is not all zeros or ones whatever the number of PEs.
    if (op == Op::kAnd) return static_cast<T>(bits | test_mix(i + step));
    if (op == Op::kOr) return static_cast<T>(bits & test_mix(i + step));
    return static_cast<T>(bits);
  } else if (op == Op::kProd) {
    return odd_one ? static_cast<T>(small % 120 - 60) : static_cast<T>((bits >> 20) % 2 ? -1 : 1);
  } else {
    const int limit = safe_term<T>();
    return static_cast<T>(static_cast<int>(bits % static_cast<uint64_t>(2 * limit + 1)) - limit);
  }
}

template <class T>
T combine(Op op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::make_unsigned_t<T>;
    // Through unsigned long: what is promoted to int must not overflow either.
    const unsigned long ua = static_cast<Wide>(a), ub = static_cast<Wide>(b);
    switch (op) {
      case Op::kAnd:
        return static_cast<T>(static_cast<Wide>(ua & ub));
      case Op::kOr:
        return static_cast<T>(static_cast<Wide>(ua | ub));
      case Op::kXor:
        return static_cast<T>(static_cast<Wide>(ua ^ ub));
      case Op::kSum:
        return static_cast<T>(static_cast<Wide>(ua + ub));
      case Op::kProd:
        return static_cast<T>(static_cast<Wide>(ua * ub));
      case Op::kMax:
        return a > b ? a : b;
      case Op::kMin:
        return a < b ? a : b;
    }
  } else {
    if (op == Op::kSum) return a + b;
    if (op == Op::kProd) return a * b;
    if constexpr (!is_complex<T>::value) {
      if (op == Op::kMax) return a > b ? a : b;
      if (op == Op::kMin) return a < b ? a : b;
    }
  }
  test_check(0, "the operation exists for this type", __FILE__, __LINE__);
  return a;
}

template <class T>
T reduced(Op op, const std::vector<int>& world, uint64_t step, size_t i) {
  T result = term<T>(op, step, world[0], i);
  for (size_t r = 1; r < world.size(); ++r) result = combine(op, result, term<T>(op, step, world[r], i));
  return result;
}

}  // namespace conformance

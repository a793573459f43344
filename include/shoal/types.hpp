// SPDX-License-Identifier: Apache-2.0
/// \file
/// Concepts and enumerations of the native C++ interface. Everything under shoal/ is header-only over the C interface
/// (shmem.h, shmemx.h), so both may be mixed in one program. Namespace `shoal`; `shoal::detail` isn't for users.
#pragma once

#include <shmem.h>
#include <shmemx.h>

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#ifdef SHMEM_NO_GENERICS
#error "shoal/*.hpp needs the overloads of shmem.h: don't define SHMEM_NO_GENERICS"
#endif

namespace shoal::inline v1 {

/// What can be moved between PEs: any trivially copyable type, numbers and plain structures alike.
template <class T>
concept Element =
    std::is_trivially_copyable_v<T> && std::is_object_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>;

/// Integers with remote atomics: 32 and 64 bits.
template <class T>
concept AtomicInteger = std::integral<T> && !std::same_as<T, bool> && (sizeof(T) == 4 || sizeof(T) == 8);

/// Floating-point numbers with remote atomics: load, store, exchange and addition.
template <class T>
concept AtomicFloat = std::same_as<T, float> || std::same_as<T, double>;

template <class T>
concept AtomicElement = AtomicInteger<T> || AtomicFloat<T>;

/// What a PE can wait for in its own memory.
template <class T>
concept Waitable = requires(T* object, T value) {
  shmem_wait_until(object, SHMEM_CMP_EQ, value);
};

/// Anything that `std::span` takes: an Array, a span, a vector, a C array.
template <class R>
concept ElementRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    Element<std::remove_cv_t<std::ranges::range_value_t<R>>>;

/// How many threads may call the library; each level includes the ones before.
enum class ThreadLevel {
  single = SHMEM_THREAD_SINGLE,
  funneled = SHMEM_THREAD_FUNNELED,
  serialized = SHMEM_THREAD_SERIALIZED,
  multiple = SHMEM_THREAD_MULTIPLE,
};

/// Comparisons of waits and tests: `object <cmp> value`.
enum class Cmp {
  eq = SHMEM_CMP_EQ,
  ne = SHMEM_CMP_NE,
  gt = SHMEM_CMP_GT,
  ge = SHMEM_CMP_GE,
  lt = SHMEM_CMP_LT,
  le = SHMEM_CMP_LE,
};

/// What a put with signal does to the signal word.
enum class SignalOp { set = SHMEM_SIGNAL_SET, add = SHMEM_SIGNAL_ADD };

/// Promises about a context; combine them with `|`.
enum class ContextOption : long {
  none = 0,
  serialized = SHMEM_CTX_SERIALIZED,   ///< used by one thread at a time
  thread_private = SHMEM_CTX_PRIVATE,  ///< used by the creating thread only
  no_store = SHMEM_CTX_NOSTORE,        ///< quiet and fence needn't cover stores
};

[[nodiscard]] constexpr ContextOption operator|(ContextOption a, ContextOption b) noexcept {
  return static_cast<ContextOption>(static_cast<long>(a) | static_cast<long>(b));
}

/// Selects a constructor that leaves new memory as it is.
struct Uninitialized {
  explicit Uninitialized() = default;
};
inline constexpr Uninitialized uninitialized{};

}  // namespace shoal::inline v1

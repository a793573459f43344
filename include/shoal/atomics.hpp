// SPDX-License-Identifier: Apache-2.0
/// \file
/// Remote atomics: `shoal::atomic(&counter, pe).fetch_add(1)`. OpenSHMEM 1.6, section "Atomic Memory Operations".
#pragma once

#include "detail/word.hpp"
#include "types.hpp"

namespace shoal::inline v1 {

/// One PE's copy of a symmetric, naturally aligned number, for atomic access. A value: copy it freely. Operations that
/// return something are complete on return; the others after quiet() of the context. Integers wrap around.
template <AtomicElement T>
class AtomicRef {
 public:
  using value_type = T;

  /// `object` is the local address of the symmetric object; `pe` counts in the context's team.
  AtomicRef(T* object, int pe, shmem_ctx_t context = SHMEM_CTX_DEFAULT) noexcept
      : object_(object), pe_(pe), context_(context) {}

  [[nodiscard]] T load() const { return from_word(shmem_atomic_fetch(context_, word(), pe_)); }
  void store(T value) const { shmem_atomic_set(context_, word(), to_word(value), pe_); }
  /// Stores and returns the old value.
  [[nodiscard]] T exchange(T value) const {
    return from_word(shmem_atomic_swap(context_, word(), to_word(value), pe_));
  }

  /// Stores `desired` if the object equals `expected`; returns the old value either way.
  [[nodiscard]] T compare_swap(T expected, T desired) const requires AtomicInteger<T> {
    return from_word(shmem_atomic_compare_swap(context_, word(), to_word(expected), to_word(desired), pe_));
  }
  /// As std::atomic: true if `desired` was stored; else `expected` becomes what was found.
  [[nodiscard]] bool compare_exchange(T& expected, T desired) const requires AtomicInteger<T> {
    const T found = compare_swap(expected, desired);
    if (found == expected) return true;
    expected = found;
    return false;
  }

  void add(T value) const {
    if constexpr (std::same_as<T, float>)
      shmemx_ctx_float_atomic_add(context_, object_, value, pe_);
    else if constexpr (std::same_as<T, double>)
      shmemx_ctx_double_atomic_add(context_, object_, value, pe_);
    else
      shmem_atomic_add(context_, word(), to_word(value), pe_);
  }
  /// Adds and returns the old value.
  [[nodiscard]] T fetch_add(T value) const {
    if constexpr (std::same_as<T, float>)
      return shmemx_ctx_float_atomic_fetch_add(context_, object_, value, pe_);
    else if constexpr (std::same_as<T, double>)
      return shmemx_ctx_double_atomic_fetch_add(context_, object_, value, pe_);
    else
      return from_word(shmem_atomic_fetch_add(context_, word(), to_word(value), pe_));
  }
  void sub(T value) const { add(negative(value)); }
  [[nodiscard]] T fetch_sub(T value) const { return fetch_add(negative(value)); }

  void bit_and(T value) const requires AtomicInteger<T> { shmem_atomic_and(context_, word(), to_word(value), pe_); }
  void bit_or(T value) const requires AtomicInteger<T> { shmem_atomic_or(context_, word(), to_word(value), pe_); }
  void bit_xor(T value) const requires AtomicInteger<T> { shmem_atomic_xor(context_, word(), to_word(value), pe_); }
  [[nodiscard]] T fetch_and(T value) const requires AtomicInteger<T> {
    return from_word(shmem_atomic_fetch_and(context_, word(), to_word(value), pe_));
  }
  [[nodiscard]] T fetch_or(T value) const requires AtomicInteger<T> {
    return from_word(shmem_atomic_fetch_or(context_, word(), to_word(value), pe_));
  }
  [[nodiscard]] T fetch_xor(T value) const requires AtomicInteger<T> {
    return from_word(shmem_atomic_fetch_xor(context_, word(), to_word(value), pe_));
  }

  /// As fetch_add and load, without waiting: `*result` (local) holds the old value after quiet(), and must live until
  /// then.
  void fetch_add_nbi(T* result, T value) const requires AtomicInteger<T> {
    shmem_atomic_fetch_add_nbi(context_, detail::word(result), word(), to_word(value), pe_);
  }
  void load_nbi(T* result) const { shmem_atomic_fetch_nbi(context_, as_word(result), word(), pe_); }

 private:
  // Integers travel as unsigned ones of their size (long and long long are two types of one size); floats as
  // themselves.
  static constexpr auto* as_word(T* object) noexcept {
    if constexpr (AtomicFloat<T>)
      return object;
    else
      return detail::word(object);
  }
  [[nodiscard]] auto* word() const noexcept { return as_word(object_); }
  static constexpr auto to_word(T value) noexcept {
    if constexpr (AtomicFloat<T>)
      return value;
    else
      return static_cast<detail::Word<T>>(value);
  }
  template <class W>
  static constexpr T from_word(W value) noexcept {
    return static_cast<T>(value);
  }
  static constexpr T negative(T value) noexcept {
    if constexpr (AtomicFloat<T>)
      return -value;
    else
      return static_cast<T>(detail::Word<T>{0} - static_cast<detail::Word<T>>(value));
  }

  T* object_;
  int pe_;
  shmem_ctx_t context_;
};

/// The copy of `*object` on PE `pe`, for atomic access on the default context.
template <AtomicElement T>
[[nodiscard]] AtomicRef<T> atomic(T* object, int pe) noexcept {
  return AtomicRef<T>(object, pe);
}

}  // namespace shoal::inline v1

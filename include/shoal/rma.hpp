// SPDX-License-Identifier: Apache-2.0
/// \file
/// Remote memory access on the default context: the members of ContextRef as free functions, where `pe` counts in the
/// world.
#pragma once

#include "context.hpp"

namespace shoal::inline v1 {

/// Copies `source` to the symmetric `dest` on PE `pe`. On return the source may be reused; see quiet().
template <Element T>
void put(T* dest, std::span<const std::type_identity_t<T>> source, int pe) {
  ContextRef().put(dest, source, pe);
}
/// As put(), returning at once: the source must stay as it is until quiet().
template <Element T>
void put_nbi(T* dest, std::span<const std::type_identity_t<T>> source, int pe) {
  ContextRef().put_nbi(dest, source, pe);
}
/// Copies from the symmetric `source` on PE `pe` to `dest`, as many elements as `dest` has. Complete on return.
template <ElementRange R>
void get(R&& dest, const std::ranges::range_value_t<R>* source, int pe) {
  ContextRef().get(dest, source, pe);
}
/// As get(), returning at once: `dest` is valid after quiet().
template <ElementRange R>
void get_nbi(R&& dest, const std::ranges::range_value_t<R>* source, int pe) {
  ContextRef().get_nbi(dest, source, pe);
}
/// Puts one value; gets one value.
template <Element T>
void p(T* dest, const std::type_identity_t<T>& value, int pe) {
  ContextRef().p(dest, value, pe);
}
template <Element T>
[[nodiscard]] T g(const T* source, int pe) {
  return ContextRef().g(source, pe);
}
/// put(), then an update of `signal` on PE `pe`: whoever sees the signal sees the data.
template <Element T>
void put_signal(T* dest, std::span<const std::type_identity_t<T>> source, const SignalRef& signal, std::uint64_t value,
                int pe, SignalOp op = SignalOp::set) {
  ContextRef().put_signal(dest, source, signal, value, pe, op);
}

/// Completes, or orders, what this PE issued on the default context.
inline void quiet() { shmem_quiet(); }
inline void fence() { shmem_fence(); }

}  // namespace shoal::inline v1

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Waiting for, and testing, this PE's own symmetric objects. OpenSHMEM 1.6, section "Point-To-Point Synchronization
/// Routines". Whoever sees an awaited value also sees what its writer ordered before it.
#pragma once

#include <vector>

#include "error.hpp"
#include "types.hpp"

namespace shoal::inline v1 {

/// Waits until `*object <cmp> value`.
template <Waitable T>
void wait_until(T* object, Cmp cmp, std::type_identity_t<T> value) {
  shmem_wait_until(object, static_cast<int>(cmp), value);
}

/// Whether `*object <cmp> value` holds now.
template <Waitable T>
[[nodiscard]] bool test(T* object, Cmp cmp, std::type_identity_t<T> value) {
  return shmem_test(object, static_cast<int>(cmp), value) != 0;
}

namespace detail {
/// The mask as the C interface takes it: nonzero entries leave an object out.
[[nodiscard]] inline const int* mask_of(std::span<const int> mask, std::size_t objects, const char* call) {
  if (mask.empty()) return nullptr;
  if (mask.size() != objects)
    throw_size(call, "the mask must be empty or as long as the objects", mask.size(), objects);
  return mask.data();
}
}  // namespace detail

/// Waits until all objects fulfil the comparison. Nonzero entries of `mask` leave objects out; an empty mask leaves out
/// none.
template <ElementRange R>
requires Waitable<std::ranges::range_value_t<R>>
void wait_until_all(R&& objects, Cmp cmp, std::ranges::range_value_t<R> value, std::span<const int> mask = {}) {
  std::span span(objects);
  shmem_wait_until_all(span.data(), span.size(), detail::mask_of(mask, span.size(), "wait_until_all"),
                       static_cast<int>(cmp), value);
}

/// Waits until one object fulfils the comparison and returns its index; SIZE_MAX for an empty set.
template <ElementRange R>
requires Waitable<std::ranges::range_value_t<R>> std::size_t wait_until_any(R&& objects, Cmp cmp,
                                                                            std::ranges::range_value_t<R> value,
                                                                            std::span<const int> mask = {}) {
  std::span span(objects);
  return shmem_wait_until_any(span.data(), span.size(), detail::mask_of(mask, span.size(), "wait_until_any"),
                              static_cast<int>(cmp), value);
}

/// Waits until at least one object fulfils the comparison and returns the indices of all that do; none for an empty
/// set.
template <ElementRange R>
requires Waitable<std::ranges::range_value_t<R>>
[[nodiscard]] std::vector<std::size_t> wait_until_some(R&& objects, Cmp cmp, std::ranges::range_value_t<R> value,
                                                       std::span<const int> mask = {}) {
  std::span span(objects);
  std::vector<std::size_t> indices(span.size());
  const std::size_t found =
      shmem_wait_until_some(span.data(), span.size(), indices.data(),
                            detail::mask_of(mask, span.size(), "wait_until_some"), static_cast<int>(cmp), value);
  indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(found), indices.end());
  return indices;
}

/// Whether all objects fulfil the comparison now; true for an empty set.
template <ElementRange R>
requires Waitable<std::ranges::range_value_t<R>>
[[nodiscard]] bool test_all(R&& objects, Cmp cmp, std::ranges::range_value_t<R> value, std::span<const int> mask = {}) {
  std::span span(objects);
  return shmem_test_all(span.data(), span.size(), detail::mask_of(mask, span.size(), "test_all"), static_cast<int>(cmp),
                        value) != 0;
}

}  // namespace shoal::inline v1

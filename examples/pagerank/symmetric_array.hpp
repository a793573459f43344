// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <shmem.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <type_traits>

#include "errors.hpp"

namespace pagerank {

/// `count` zeroed elements in the symmetric heap, at the same place of it on every PE. Making one and its end are
/// collective. Where the heap is full, every PE throws AgreedError.
template <class T>
requires std::is_trivially_copyable_v<T>
class SymmetricArray final {
 public:
  explicit SymmetricArray(std::size_t count) : count_(count) {
    const std::size_t elements = std::max<std::size_t>(count, 1);
    data_ = static_cast<T*>(shmem_calloc(elements, sizeof(T)));
    if (data_ == nullptr) {
      throw AgreedError("the symmetric heap has no room for " + std::to_string(elements * sizeof(T)) +
                        " more bytes a PE: set SHMEM_SYMMETRIC_SIZE to more than it is, e.g. SHMEM_SYMMETRIC_SIZE=8G");
    }
  }

  /// When one PE alone is on its way out with an exception, the others wouldn't come to free this: it stays.
  ~SymmetricArray() {
    if (std::uncaught_exceptions() == 0) shmem_free(data_);
  }

  SymmetricArray(const SymmetricArray&) = delete;
  SymmetricArray& operator=(const SymmetricArray&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_;
  std::size_t count_;
};

}  // namespace pagerank

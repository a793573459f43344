// SPDX-License-Identifier: Apache-2.0
// Handles that users hold: small encoded integers, so that a stale, foreign or made-up one is recognised, never
// followed.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace shoal {

/// Owns objects and gives each a handle: its index in the low 16 bits, above it how often the index was used. Values
/// below `First` are the caller's own constants; there are at most `Most` objects and constants. find() may run on any
/// thread; an object must not be erased while it is used.
template <class T, std::uintptr_t First, std::uintptr_t Most>
class HandleTable final {
 public:
  static_assert(Most <= 0x10000);
  HandleTable() : entries_(std::make_unique<Entry[]>(Most)) {}
  ~HandleTable() {
    for (std::uintptr_t i = 0; i < Most; ++i) delete entries_[i].object.load(std::memory_order_relaxed);
  }

  /// @return the handle, or 0 when the table is full
  std::uintptr_t insert(std::unique_ptr<T> object) {
    const std::lock_guard guard(mutex_);
    for (std::uintptr_t k = 0; k < Most - First; ++k) {
      const std::uintptr_t index = First + (next_ + k) % (Most - First);
      Entry& entry = entries_[index];
      if (entry.object.load(std::memory_order_relaxed) != nullptr) continue;
      next_ = index - First + 1;
      const std::uintptr_t handle = ++entry.uses << 16 | index;
      entry.handle.store(handle, std::memory_order_relaxed);
      entry.object.store(object.release(), std::memory_order_release);
      return handle;
    }
    return 0;
  }
  /// The object of a live handle, or null.
  T* find(std::uintptr_t handle) const noexcept {
    const std::uintptr_t index = handle & 0xffff;
    if (index >= Most) return nullptr;
    const Entry& entry = entries_[index];
    T* object = entry.object.load(std::memory_order_acquire);
    return object != nullptr && entry.handle.load(std::memory_order_relaxed) == handle ? object : nullptr;
  }
  /// Gives the object of a live handle back to the caller; null for any other.
  std::unique_ptr<T> erase(std::uintptr_t handle) {
    const std::lock_guard guard(mutex_);
    if (find(handle) == nullptr) return nullptr;
    return std::unique_ptr<T>(entries_[handle & 0xffff].object.exchange(nullptr, std::memory_order_acq_rel));
  }
  /// An object for which `wanted(object)` holds, or null.
  template <class Predicate>
  T* find_if(Predicate&& wanted) {
    const std::lock_guard guard(mutex_);
    for (std::uintptr_t i = 0; i < Most; ++i) {
      T* object = entries_[i].object.load(std::memory_order_relaxed);
      if (object != nullptr && wanted(*object)) return object;
    }
    return nullptr;
  }
  /// Erases every object for which `unwanted(object)` holds.
  template <class Predicate>
  void erase_if(Predicate&& unwanted) {
    const std::lock_guard guard(mutex_);
    for (std::uintptr_t i = 0; i < Most; ++i) {
      T* object = entries_[i].object.load(std::memory_order_relaxed);
      if (object == nullptr || !unwanted(*object)) continue;
      entries_[i].object.store(nullptr, std::memory_order_release);
      delete object;
    }
  }

 private:
  struct Entry {
    std::atomic<T*> object{nullptr};
    std::atomic<std::uintptr_t> handle{0};
    std::uintptr_t uses = 0;
  };
  std::unique_ptr<Entry[]> entries_;
  std::mutex mutex_;
  std::uintptr_t next_ = 0;  // where the search for a free entry starts: an index is reused as late as possible
};

}  // namespace shoal

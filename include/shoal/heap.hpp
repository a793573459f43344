// SPDX-License-Identifier: Apache-2.0
/// \file
/// Further symmetric heaps, which only the members of their team can reach.
#pragma once

#include <utility>

#include "detail/owner.hpp"
#include "team.hpp"

namespace shoal::inline v1 {

/// A symmetric heap beside the default one. Made and destroyed by all PEs of its team, in the same order; its Arrays
/// end before it does.
class Heap : private detail::CollectiveOwner {
 public:
  /// Collective over `team`: `bytes` on each PE; every object is aligned to `alignment`, a power of
  /// two up to 2 MiB, or 0 for 64.
  /// Throws Error on all members alike.
  explicit Heap(std::size_t bytes, TeamRef team = TeamRef::world(), std::size_t alignment = 0) : team_(team) {
    const shmemx_heap_attr_t attributes = {bytes, alignment, team.handle()};
    detail::check(shmemx_heap_create(&attributes, &handle_), "shmemx_heap_create",
                  "the size or alignment is illegal, or there is no room");
  }
  ~Heap() {
    if (handle_ != SHMEMX_HEAP_INVALID && may_release()) shmemx_heap_destroy(handle_);
  }
  Heap(Heap&& other) noexcept : handle_(std::exchange(other.handle_, SHMEMX_HEAP_INVALID)), team_(other.team_) {}
  Heap& operator=(Heap&&) = delete;

  /// Bytes on each PE, and those that live objects take with their padding.
  [[nodiscard]] std::size_t size() const { return shmemx_heap_size(handle_); }
  [[nodiscard]] std::size_t used() const { return shmemx_heap_used(handle_); }
  [[nodiscard]] TeamRef team() const noexcept { return team_; }
  [[nodiscard]] shmemx_heap_t handle() const noexcept { return handle_; }

 private:
  shmemx_heap_t handle_ = SHMEMX_HEAP_INVALID;
  TeamRef team_;
};

}  // namespace shoal::inline v1

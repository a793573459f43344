// SPDX-License-Identifier: Apache-2.0
#include "team/symmetric_heap.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "team/watched.hpp"

namespace shoal {
namespace {

// Large blocks start on a page: copies between them are aligned alike, and pages are never shared with a neighbour's.
constexpr std::size_t kLargeBytes = 64 * 1024;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kMostAlignment = std::size_t{2}
                                       << 20;  // of the mappings: beyond it, offsets say nothing about addresses

}  // namespace

void* SymmetricHeap::take(std::size_t bytes, std::size_t alignment) noexcept {
  if (alignment > kMostAlignment) return nullptr;
  alignment = std::max(alignment, alignment_);
  if (bytes >= kLargeBytes) alignment = std::max(alignment, kPage);
  const auto offset = allocator_.allocate(bytes, alignment);
  if (offset && guard_ != nullptr) guard_->allocated(at(*offset), bytes);
  show();
  return offset ? at(*offset) : nullptr;
}

void SymmetricHeap::give_back(std::size_t offset) noexcept {
  if (guard_ != nullptr) guard_->freed(at(offset));
  allocator_.free(offset);
  show();
}

void SymmetricHeap::show() noexcept {
  if (shown_ == nullptr) return;
  shown_->heap_bytes.store(allocator_.capacity(), std::memory_order_relaxed);
  shown_->heap_used.store(allocator_.used(), std::memory_order_relaxed);
}

void* SymmetricHeap::allocate(Group& group, std::size_t bytes, std::size_t alignment, const char* call) noexcept {
  const WatchedCollective watched(group, CallKind::memory, call,
                                  {.count = bytes,
                                   .unit = "bytes",
                                   .also = {alignment == 0 ? "" : ", aligned to %ld", static_cast<long>(alignment)}});
  if (bytes == 0) return nullptr;
  void* block = take(bytes, alignment);
  group.world().quiet();  // as a barrier does
  group.sync(call);
  return block;
}

void* SymmetricHeap::allocate_zeroed(Group& group, std::size_t count, std::size_t size, const char* call) noexcept {
  const WatchedCollective watched(group, CallKind::memory, call, {.count = bytes_of(count, size), .unit = "bytes"});
  if (count == 0 || size == 0) return nullptr;
  std::size_t bytes;
  void* block = __builtin_mul_overflow(count, size, &bytes) ? nullptr : take(bytes, 0);
  if (block != nullptr) std::memset(block, 0, bytes);
  group.world().quiet();
  group.sync(call);
  return block;
}

std::size_t SymmetricHeap::block_offset(Group& group, void* block, const char* call) const noexcept {
  const std::size_t offset = offset_of(block);
  if (!holds(block))
    group.world().fatal(
        call, strf("%p is not in this symmetric heap (%p, %zu bytes)", block, static_cast<void*>(base_), size()));
  if (at(offset) != block || !allocator_.size_of(offset))
    group.world().fatal(call, why_no_block(block, group.world().domain().segments->place(block)));
  return offset;
}

std::string SymmetricHeap::why_no_block(const void* address, const std::string& place) const {
  const auto inside = [&](std::size_t before, std::size_t bytes) {
    return strf("%s is %zu bytes inside a block of %zu bytes, not its start", place.c_str(), before, bytes);
  };
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  if (guard_ != nullptr) {
    const Blocks::Block around = guard_->around(where);
    return around.bytes != 0 ? inside(where - around.start, around.bytes) : guard_->explain(where, 1);
  }
  const std::size_t offset = offset_of(address);
  const auto around = allocator_.find(offset);
  return around ? inside(offset - around->offset, around->bytes) : place + " is not allocated: freed already?";
}

void SymmetricHeap::free(Group& group, void* block, const char* call) noexcept {
  const WatchedCollective watched(group, CallKind::memory, call, {.unit = "", .dest = block});
  if (block == nullptr) return;
  const std::size_t offset = block_offset(group, block, call);
  group.world().quiet();
  group.sync(call);  // nobody uses it any more
  give_back(offset);
}

void* SymmetricHeap::reallocate(Group& group, void* block, std::size_t bytes, const char* call) noexcept {
  if (block == nullptr) return allocate(group, bytes, 0, call);
  if (bytes == 0) {
    free(group, block, call);
    return nullptr;
  }
  const std::size_t offset = block_offset(group, block, call);
  const WatchedCollective watched(group, CallKind::memory, call, {.count = bytes, .unit = "bytes", .dest = block});
  const std::size_t before = *allocator_.size_of(offset);
  group.world().quiet();
  group.sync(call);
  if (allocator_.resize_in_place(offset, bytes)) {
    if (guard_ != nullptr) guard_->allocated(at(offset), bytes);
    show();
    group.sync(call);
    return block;
  }
  void* moved = take(bytes, 0);
  if (moved != nullptr) {
    std::memcpy(moved, block, std::min(before, bytes));
    give_back(offset);
  }
  group.sync(call);
  return moved;
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// A heap whose blocks lie at the same offset on all members of a team. The allocator is outside the memory it manages,
// and equal sequences of calls give equal offsets, so nothing need be agreed on: members only meet.
//
// Thread safety: collective calls, one thread of a PE at a time.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "base/status_page.hpp"
#include "memory/allocator.hpp"
#include "team/group.hpp"
#include "team/heap_guard.hpp"

namespace shoal {

class SymmetricHeap final {
 public:
  /// @param base       this PE's own part
  /// @param alignment  of every block at least: a power of two up to 2 MiB
  /// @param shown      where to show how much is used; may be null
  /// @param guarded    not null: keep bytes behind each block that nobody may write, remember what was freed, and tell
  /// this table. HeapGuard::kBytes before `base` are this heap's then, too
  SymmetricHeap(char* base, std::size_t bytes, std::size_t alignment, Counters* shown = nullptr,
                SegmentTable* guarded = nullptr)
      : base_(base),
        spread_(spread(guarded != nullptr)),
        alignment_(alignment),
        allocator_(bytes, kGranule),
        shown_(shown) {
    if (guarded != nullptr) guard_ = std::make_shared<HeapGuard>(*guarded);
    show();
  }
  ~SymmetricHeap() {
    if (guard_ != nullptr) guard_->close();
  }
  SymmetricHeap(const SymmetricHeap&) = delete;
  SymmetricHeap& operator=(const SymmetricHeap&) = delete;

  /// The memory that a heap of `bytes` takes. Where it is guarded, twice as much: each block is followed by as much
  /// room again, in which its guard lies, so that the same blocks find room as in one that is not.
  static constexpr std::size_t room(std::size_t bytes, bool guarded) noexcept { return bytes * spread(guarded); }

  /// A block, or null on all members when there is no room (or bytes is 0: then nobody waits). Members meet at the end.
  /// @param alignment  a power of two up to 2 MiB, or 0 for the heap's own
  void* allocate(Group& group, std::size_t bytes, std::size_t alignment, const char* call) noexcept;
  /// The same, filled with zeros on every member before any returns.
  void* allocate_zeroed(Group& group, std::size_t count, std::size_t size, const char* call) noexcept;
  /// Members meet before the memory is given back. Null: nothing. Ends the job for what isn't a block's start.
  void free(Group& group, void* block, const char* call) noexcept;
  /// Keeps the smaller of both sizes' contents. Null when there is no room; the block is then as before.
  void* reallocate(Group& group, void* block, std::size_t bytes, const char* call) noexcept;

  /// Ends the job if somebody wrote behind a block; before the heap ends.
  void check_guards(const Context& world, const char* call) const noexcept {
    if (guard_ == nullptr) return;
    if (const auto damage = guard_->damage(true, nullptr)) world.fatal(call, *damage);
  }
  /// Null unless it is guarded.
  std::shared_ptr<const HeapGuard> guard() const noexcept { return guard_; }
  std::size_t size() const noexcept { return allocator_.capacity(); }
  std::size_t used() const noexcept { return allocator_.used(); }
  bool holds(const void* address) const noexcept { return offset_of(address) < allocator_.capacity(); }

 private:
  static constexpr std::size_t spread(bool guarded) noexcept { return guarded ? 2 : 1; }
  /// As the allocator counts.
  std::size_t offset_of(const void* address) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base_)) / spread_;
  }
  char* at(std::size_t offset) const noexcept { return base_ + offset * spread_; }
  void* take(std::size_t bytes, std::size_t alignment) noexcept;
  void give_back(std::size_t offset) noexcept;
  void show() noexcept;
  /// The offset of a block's start; ends the job for anything else.
  std::size_t block_offset(Group& group, void* block, const char* call) const noexcept;
  /// @param place  how it is told
  std::string why_no_block(const void* address, const std::string& place) const;

  static constexpr std::size_t kGranule = 64;  // sizes are rounded up to it
  static_assert(HeapGuard::kBytes <= kGranule, "the room behind the least block has its guard, and that of the next");
  char* base_;
  const std::size_t spread_;
  std::size_t alignment_;
  Allocator allocator_;
  Counters* shown_;
  // Shared with the heap's Segment, which other threads may still look at when the heap has gone.
  std::shared_ptr<HeapGuard> guard_;
};

}  // namespace shoal

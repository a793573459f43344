// SPDX-License-Identifier: Apache-2.0
// Hands out parts of a range of offsets. It never touches the memory that the offsets stand for: a remote write can't
// damage it, device memory works too, and two allocators that see the same calls give the same offsets.
//
// Best fit, lowest offset among equals; freed neighbours are merged at once. Every call costs O(log n) in the number of
// blocks, but for an aligned request that fits nowhere else than in a block of just about its size. Not thread safe:
// callers lock. May throw std::bad_alloc when the process itself is out of memory; the allocator can then only be
// destroyed.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace shoal {

class Allocator final {
 public:
  struct Block {
    std::size_t offset;
    std::size_t bytes;  ///< as asked for
  };

  /// Manages [0, bytes). Every block starts at a multiple of `min_alignment`, a power of two, and takes a multiple of
  /// it.
  /// @throws Error{invalid_argument} when min_alignment isn't a power of two
  explicit Allocator(std::size_t bytes, std::size_t min_alignment = 64);

  /// A block of `bytes` whose offset is a multiple of `alignment` (0: min_alignment). Nothing when bytes is 0,
  /// alignment isn't a power of two, or no free range is large enough.
  std::optional<std::size_t> allocate(std::size_t bytes, std::size_t alignment = 0);
  /// Gives back the block that starts at `offset`. False when there is none.
  bool free(std::size_t offset);
  /// Makes the block at `offset` `bytes` long where it is. False, and nothing changed, when there is no such block,
  /// bytes is 0, or what follows isn't free for long enough. Making it smaller always works.
  bool resize_in_place(std::size_t offset, std::size_t bytes);

  /// The size that the block starting at `offset` was asked for.
  std::optional<std::size_t> size_of(std::size_t offset) const;
  /// The block that `offset_inside` lies in (in the bytes asked for, not in the padding after them).
  std::optional<Block> find(std::size_t offset_inside) const;
  /// Bytes taken, padding included. used() plus all free ranges is capacity().
  std::size_t used() const noexcept { return used_; }
  /// The largest request that would succeed now with the least alignment.
  std::size_t largest_free() const noexcept { return free_by_size_.empty() ? 0 : free_by_size_.rbegin()->first; }
  /// Bytes managed: as given, rounded down to min_alignment.
  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t blocks() const noexcept { return used_blocks_.size(); }
  std::size_t min_alignment() const noexcept { return unit_; }

 private:
  struct Used {
    std::size_t asked, taken;
  };
  using FreeByOffset = std::map<std::size_t, std::size_t>;

  std::size_t round_up(std::size_t bytes) const noexcept { return (bytes + unit_ - 1) & ~(unit_ - 1); }
  /// The free range to serve a request from, or end().
  FreeByOffset::iterator choose(std::size_t taken, std::size_t alignment);
  void add_free(std::size_t offset, std::size_t bytes);
  void remove_free(FreeByOffset::iterator range);
  void move_free(FreeByOffset::iterator range, std::size_t offset, std::size_t bytes);

  std::size_t unit_;
  std::size_t capacity_;
  std::size_t used_ = 0;
  std::map<std::size_t, Used> used_blocks_;  ///< by offset
  // The same free ranges twice; never two that touch, for those are merged.
  FreeByOffset free_by_offset_;
  std::set<std::pair<std::size_t, std::size_t>> free_by_size_;  ///< (bytes, offset)
};

}  // namespace shoal

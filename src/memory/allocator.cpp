// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator.hpp"

#include <limits>

#include "base/error.hpp"

namespace shoal {
namespace {

constexpr bool is_power_of_two(std::size_t value) { return value != 0 && (value & (value - 1)) == 0; }

/// What is lost before the first multiple of `alignment` at or after `offset`.
constexpr std::size_t gap(std::size_t offset, std::size_t alignment) { return (0 - offset) & (alignment - 1); }

}  // namespace

Allocator::Allocator(std::size_t bytes, std::size_t min_alignment)
    : unit_(min_alignment), capacity_(bytes & ~(min_alignment - 1)) {
  if (!is_power_of_two(min_alignment))
    throw Error(Code::invalid_argument,
                strf("an allocator's alignment must be a power of two, not %zu", min_alignment));
  if (capacity_ > 0) add_free(0, capacity_);
}

void Allocator::add_free(std::size_t offset, std::size_t bytes) {
  free_by_offset_.emplace(offset, bytes);
  free_by_size_.emplace(bytes, offset);
}

void Allocator::remove_free(FreeByOffset::iterator range) {
  free_by_size_.erase({range->second, range->first});
  free_by_offset_.erase(range);
}

/// Gives a free range other bounds, in the same place among its neighbours: its nodes are used again.
void Allocator::move_free(FreeByOffset::iterator range, std::size_t offset, std::size_t bytes) {
  auto by_size = free_by_size_.extract({range->second, range->first});
  by_size.value() = {bytes, offset};
  free_by_size_.insert(std::move(by_size));
  if (range->first == offset) {
    range->second = bytes;
    return;
  }
  const auto next = std::next(range);
  auto by_offset = free_by_offset_.extract(range);
  by_offset.key() = offset;
  by_offset.mapped() = bytes;
  free_by_offset_.insert(next, std::move(by_offset));
}

Allocator::FreeByOffset::iterator Allocator::choose(std::size_t taken, std::size_t alignment) {
  const auto fits = [&](const std::pair<std::size_t, std::size_t>& range) {
    const std::size_t lost = gap(range.second, alignment);
    return lost <= range.first && range.first - lost >= taken;
  };
  // A few of the tightest, then one that is large enough wherever it starts; only when there is none, all between.
  constexpr int kTightest = 8;
  const auto begin = free_by_size_.lower_bound({taken, 0});
  auto candidate = begin;
  for (int i = 0; i < kTightest && candidate != free_by_size_.end(); ++i, ++candidate)
    if (fits(*candidate)) return free_by_offset_.find(candidate->second);
  if (candidate == free_by_size_.end()) return free_by_offset_.end();
  const std::size_t spare = alignment - unit_;
  if (taken <= std::numeric_limits<std::size_t>::max() - spare) {
    const auto sure = free_by_size_.lower_bound({taken + spare, 0});
    if (sure != free_by_size_.end()) return free_by_offset_.find(sure->second);
  }
  for (; candidate != free_by_size_.end(); ++candidate)
    if (fits(*candidate)) return free_by_offset_.find(candidate->second);
  return free_by_offset_.end();
}

std::optional<std::size_t> Allocator::allocate(std::size_t bytes, std::size_t alignment) {
  if (alignment == 0) alignment = unit_;
  if (bytes == 0 || bytes > capacity_ || !is_power_of_two(alignment)) return std::nullopt;
  if (alignment < unit_) alignment = unit_;
  const std::size_t taken = round_up(bytes);
  const auto range = choose(taken, alignment);
  if (range == free_by_offset_.end()) return std::nullopt;

  const std::size_t start = range->first, length = range->second;
  const std::size_t before = gap(start, alignment), offset = start + before, after = length - before - taken;
  used_blocks_.emplace(offset, Used{bytes, taken});
  used_ += taken;
  if (before == 0 && after == 0) {
    remove_free(range);
  } else if (before == 0) {
    move_free(range, offset + taken, after);
  } else {
    move_free(range, start, before);
    if (after > 0) add_free(offset + taken, after);
  }
  return offset;
}

bool Allocator::free(std::size_t offset) {
  const auto block = used_blocks_.find(offset);
  if (block == used_blocks_.end()) return false;
  const std::size_t bytes = block->second.taken, end = offset + bytes;
  used_blocks_.erase(block);
  used_ -= bytes;

  const auto next = free_by_offset_.lower_bound(offset);
  const auto previous = next == free_by_offset_.begin() ? free_by_offset_.end() : std::prev(next);
  const bool joins_previous = previous != free_by_offset_.end() && previous->first + previous->second == offset;
  const bool joins_next = next != free_by_offset_.end() && next->first == end;
  if (joins_previous) {
    std::size_t joined = previous->second + bytes;
    if (joins_next) {
      joined += next->second;
      remove_free(next);
    }
    move_free(previous, previous->first, joined);
  } else if (joins_next) {
    move_free(next, offset, bytes + next->second);
  } else {
    add_free(offset, bytes);
  }
  return true;
}

bool Allocator::resize_in_place(std::size_t offset, std::size_t bytes) {
  const auto block = used_blocks_.find(offset);
  if (block == used_blocks_.end() || bytes == 0 || bytes > capacity_) return false;
  const std::size_t had = block->second.taken, wanted = round_up(bytes), end = offset + had;
  const auto next = free_by_offset_.lower_bound(end);
  const bool next_touches = next != free_by_offset_.end() && next->first == end;
  if (wanted > had) {
    const std::size_t more = wanted - had;
    if (!next_touches || next->second < more) return false;
    if (next->second == more)
      remove_free(next);
    else
      move_free(next, end + more, next->second - more);
  } else if (wanted < had) {
    if (next_touches)
      move_free(next, offset + wanted, next->second + (had - wanted));
    else
      add_free(offset + wanted, had - wanted);
  }
  used_ = used_ - had + wanted;
  block->second = {bytes, wanted};
  return true;
}

std::optional<std::size_t> Allocator::size_of(std::size_t offset) const {
  const auto block = used_blocks_.find(offset);
  return block == used_blocks_.end() ? std::nullopt : std::optional(block->second.asked);
}

std::optional<Allocator::Block> Allocator::find(std::size_t offset_inside) const {
  auto block = used_blocks_.upper_bound(offset_inside);
  if (block == used_blocks_.begin()) return std::nullopt;
  --block;
  if (offset_inside - block->first >= block->second.asked) return std::nullopt;
  return Block{block->first, block->second.asked};
}

}  // namespace shoal

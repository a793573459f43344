// SPDX-License-Identifier: Apache-2.0
#include "team/heap_guard.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/error.hpp"

namespace shoal {
namespace {

constexpr unsigned char kPattern = 0xA5;
constexpr std::size_t kRemembered = 4096;  // freed blocks

std::optional<std::string> damage_of(std::uintptr_t start, std::size_t bytes) {
  const auto* guard = reinterpret_cast<const unsigned char*>(start) + bytes;
  const auto* end = guard + HeapGuard::kBytes;
  const auto* first = std::find_if(guard, end, [](unsigned char byte) { return byte != kPattern; });
  if (first == end) return std::nullopt;
  while (end[-1] == kPattern) --end;
  return strf(
      "the block of %zu bytes at %#zx was written past its end, at bytes %zu to %zu: by a plain store of this PE, or "
      "of a peer that has its address from shmem_ptr",
      bytes, start, bytes + static_cast<std::size_t>(first - guard), bytes + static_cast<std::size_t>(end - guard) - 1);
}

}  // namespace

void HeapGuard::allocated(char* start, std::size_t bytes) noexcept {
  std::memset(start + bytes, kPattern, kBytes);
  const std::lock_guard guard(mutex_);
  const auto begin = reinterpret_cast<std::uintptr_t>(start);
  live_[begin] = bytes;
  segments_.changed();
  std::erase_if(freed_, [&](const Freed& old) { return old.start < begin + bytes && begin < old.start + old.bytes; });
}

void HeapGuard::freed(char* start) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = live_.find(reinterpret_cast<std::uintptr_t>(start));
  if (found == live_.end()) return;
  freed_.push_back({found->first, found->second});
  if (freed_.size() > kRemembered) freed_.pop_front();
  live_.erase(found);
  segments_.changed();
}

HeapGuard::Live::const_iterator HeapGuard::before(std::uintptr_t address) const noexcept {
  auto next = live_.upper_bound(address);
  return next == live_.begin() ? live_.end() : --next;
}

Blocks::Block HeapGuard::around(std::uintptr_t address) const noexcept {
  const std::shared_lock guard(mutex_);
  const auto block = before(address);
  if (block == live_.end() || address - block->first >= block->second) return {};
  return {block->first, block->second};
}

std::string HeapGuard::explain(std::uintptr_t address, std::size_t bytes) const {
  const std::shared_lock guard(mutex_);
  const auto block = before(address);
  if (block != live_.end() && address - block->first < block->second)
    return strf("%zu bytes from %#zx run %zu bytes past the end of the block of %zu bytes at %#zx", bytes, address,
                address + bytes - block->first - block->second, block->second, block->first);
  for (auto old = freed_.rbegin(); old != freed_.rend(); ++old)
    if (address - old->start < old->bytes)
      return strf("%#zx is in the block of %zu bytes at %#zx, which has been freed", address, old->bytes, old->start);
  if (block != live_.end())
    return strf("%#zx is in no allocated block: the one before it, of %zu bytes at %#zx, ends %zu bytes earlier",
                address, block->second, block->first, address - block->first - block->second);
  return strf("%#zx is in no allocated block", address);
}

std::optional<std::string> HeapGuard::damage(bool all) const {
  const std::shared_lock guard(mutex_);
  auto block = live_.lower_bound(next_.load(std::memory_order_relaxed));
  for (std::size_t looked = all ? live_.size() : std::min(kLooked, live_.size()); looked > 0; --looked, ++block) {
    if (block == live_.end()) block = live_.begin();
    if (auto text = damage_of(block->first, block->second)) return text;
  }
  next_.store(block == live_.end() ? 0 : block->first, std::memory_order_relaxed);
  return std::nullopt;
}

std::optional<std::string> HeapGuard::damage(const void* start) const {
  const std::shared_lock guard(mutex_);
  const auto found = live_.find(reinterpret_cast<std::uintptr_t>(start));
  return found == live_.end() ? std::nullopt : damage_of(found->first, found->second);
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "team/heap_guard.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>

#include "base/error.hpp"

namespace shoal {
namespace {

constexpr unsigned char kPattern = 0xA5;
constexpr std::size_t kRemembered = 4096;  // freed blocks

/// Where bytes of [begin, end) are not as they were left: from the first to the last of them.
struct Damage {
  std::uintptr_t first, last;
};
std::optional<Damage> damage_in(std::uintptr_t begin, std::uintptr_t end) {
  const auto* const from = reinterpret_cast<const unsigned char*>(begin);
  const auto* to = reinterpret_cast<const unsigned char*>(end);
  const auto* first = std::find_if(from, to, [](unsigned char byte) { return byte != kPattern; });
  if (first == to) return std::nullopt;
  while (to[-1] == kPattern) --to;
  return Damage{reinterpret_cast<std::uintptr_t>(first), reinterpret_cast<std::uintptr_t>(to) - 1};
}

std::string at_bytes(const char* sign, std::size_t first, std::size_t last) {
  return first == last ? strf("at byte %s%zu", sign, first) : strf("at bytes %s%zu to %s%zu", sign, first, sign, last);
}

constexpr const char kByWhom[] = "by a plain store of this PE, or of a peer that has its address from shmem_ptr";

}  // namespace

void HeapGuard::allocated(char* start, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(start);
  if (begin != base_) std::memset(start - kBytes, kPattern, kBytes);
  std::memset(start + bytes, kPattern, kBytes);
  const std::lock_guard guard(mutex_);
  live_[begin] = bytes;
  segments_.changed();
  std::erase_if(freed_, [&](const Freed& old) { return old.start < begin + bytes && begin < old.start + old.bytes; });
}

std::optional<std::string> HeapGuard::damage_of(Live::const_iterator block) const {
  const auto& [start, bytes] = *block;
  const std::uintptr_t end = start + bytes;
  if (const auto behind = damage_in(end, end + kBytes))
    return strf("the block of %zu bytes at %s was written past its end, %s: %s", bytes, at(start).c_str(),
                at_bytes("", behind->first - start, behind->last - start).c_str(), kByWhom);
  // What follows the block before this one is said of that one.
  std::uintptr_t front = start == base_ ? start : start - kBytes;
  if (block != live_.begin()) front = std::max(front, std::prev(block)->first + std::prev(block)->second + kBytes);
  const auto before = front < start ? damage_in(front, start) : std::nullopt;
  if (!before) return std::nullopt;
  return strf("the block of %zu bytes at %s was written before its start, %s: %s", bytes, at(start).c_str(),
              at_bytes("-", start - before->first, start - before->last).c_str(), kByWhom);
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
    return strf(
        "%zu bytes from %s run %zu bytes past the end of the block of %zu bytes at %s; check the count, or "
        "allocate more",
        bytes, at(address).c_str(), address + bytes - block->first - block->second, block->second,
        at(block->first).c_str());
  for (auto old = freed_.rbegin(); old != freed_.rend(); ++old)
    if (address - old->start < old->bytes)
      return strf(
          "%s is in the block of %zu bytes at %s, which has been freed; free it once, after its last use by any PE",
          at(address).c_str(), old->bytes, at(old->start).c_str());
  if (block != live_.end())
    return strf(
        "%s is in no allocated block: the one before it, of %zu bytes at %s, ends %zu bytes earlier; "
        "check the index, or allocate it",
        at(address).c_str(), block->second, at(block->first).c_str(), address - block->first - block->second);
  return at(address) + " is in no allocated block; allocate it, and use it until it is freed";
}

std::optional<std::string> HeapGuard::damage(bool all, const void* always) const {
  const std::shared_lock guard(mutex_);
  all = all || live_.size() <= kLooked;
  if (!all)
    if (const auto wanted = live_.find(reinterpret_cast<std::uintptr_t>(always)); wanted != live_.end())
      if (auto text = damage_of(wanted)) return text;
  auto block = live_.lower_bound(next_.load(std::memory_order_relaxed));
  for (std::size_t looked = all ? live_.size() : kLooked; looked > 0; --looked, ++block) {
    if (block == live_.end()) block = live_.begin();
    if (auto text = damage_of(block)) return text;
  }
  next_.store(block == live_.end() ? 0 : block->first, std::memory_order_relaxed);
  return std::nullopt;
}

}  // namespace shoal

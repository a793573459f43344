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
  std::memset(start - kBytes, kPattern, kBytes);
  std::memset(start + bytes, kPattern, kBytes);
  const std::lock_guard guard(mutex_);
  live_[begin] = bytes;
  segments_.changed();
  std::erase_if(freed_, [&](const Freed& old) { return old.start < begin + bytes && begin < old.start + old.bytes; });
}

/// Whether the guards of a block's end and of the next one's start share bytes.
bool HeapGuard::shares_guard(Live::const_iterator block, Live::const_iterator next) const {
  return next != live_.end() && next->first - block->first - block->second < 2 * kBytes;
}

std::string HeapGuard::past_end(Live::const_iterator block, std::uintptr_t first, std::uintptr_t last) const {
  const auto& [start, bytes] = *block;
  return strf("the block of %zu bytes at %s was written past its end, %s: %s", bytes, at(start).c_str(),
              at_bytes("", first - start, last - start).c_str(), kByWhom);
}

std::string HeapGuard::before_start(Live::const_iterator block, std::uintptr_t first, std::uintptr_t last) const {
  const auto& [start, bytes] = *block;
  return strf("the block of %zu bytes at %s was written before its start, %s: %s", bytes, at(start).c_str(),
              at_bytes("-", start - first, start - last).c_str(), kByWhom);
}

/// Of the bytes between two blocks that share their guards: whose they are told to be is who alone has those that were
/// written, else whom they touch.
std::optional<std::string> HeapGuard::damage_between(Live::const_iterator block, Live::const_iterator next) const {
  const std::uintptr_t end = block->first + block->second, start = next->first;
  const auto found = damage_in(end, start);
  if (!found) return std::nullopt;
  const auto [first, last] = *found;
  const bool of_end = last < end + kBytes, of_start = first >= start - kBytes;
  const bool at_end = first == end, at_start = last == start - 1;
  if (of_end != of_start ? of_end : at_end && !at_start) return past_end(block, first, last);
  if (of_end != of_start ? of_start : at_start && !at_end) return before_start(next, first, last);
  return strf(
      "the bytes between the block of %zu bytes at %s and the block of %zu bytes at %s were written, %s of the "
      "former and %s of the latter: %s",
      block->second, at(block->first).c_str(), next->second, at(start).c_str(),
      at_bytes("", first - block->first, last - block->first).c_str(),
      at_bytes("-", start - first, start - last).c_str(), kByWhom);
}

/// Each byte is looked at with one block: what two share, with the second.
std::optional<std::string> HeapGuard::damage_of(Live::const_iterator block) const {
  const auto [start, bytes] = *block;
  if (block != live_.begin() && shares_guard(std::prev(block), block)) {
    if (auto text = damage_between(std::prev(block), block)) return text;
  } else if (const auto before = damage_in(start - kBytes, start)) {
    return before_start(block, before->first, before->last);
  }
  if (shares_guard(block, std::next(block))) return std::nullopt;
  const auto behind = damage_in(start + bytes, start + bytes + kBytes);
  return behind ? std::optional(past_end(block, behind->first, behind->last)) : std::nullopt;
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

void HeapGuard::close() noexcept {
  const std::lock_guard guard(mutex_);
  live_.clear();
  freed_.clear();
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
  const auto wanted = all ? live_.end() : live_.find(reinterpret_cast<std::uintptr_t>(always));
  if (wanted != live_.end()) {
    if (auto text = damage_of(wanted)) return text;
    if (const auto next = std::next(wanted); shares_guard(wanted, next))
      if (auto text = damage_between(wanted, next)) return text;
  }
  auto block = live_.lower_bound(next_.load(std::memory_order_relaxed));
  for (std::size_t looked = all ? live_.size() : kLooked; looked > 0; --looked, ++block) {
    if (block == live_.end()) block = live_.begin();
    if (auto text = damage_of(block)) return text;
  }
  next_.store(block == live_.end() ? 0 : block->first, std::memory_order_relaxed);
  return std::nullopt;
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "comm/segment_table.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "memory/variable_name.hpp"

namespace shoal {

SegmentTable::~SegmentTable() {
  for (auto& entry : segments_) delete entry.load(std::memory_order_relaxed);
}

int SegmentTable::add(std::unique_ptr<Segment> segment) {
  const std::lock_guard guard(changing_);
  for (int i = 0; i < kMost; ++i) {
    if (segments_[static_cast<size_t>(i)].load(std::memory_order_relaxed) != nullptr) continue;
    segments_[static_cast<size_t>(i)].store(segment.release(), std::memory_order_release);
    if (i >= used_.load(std::memory_order_relaxed)) used_.store(i + 1, std::memory_order_release);
    changed();
    return i;
  }
  throw Error(Code::out_of_memory, strf("there are %d symmetric segments already: destroy a heap first", kMost));
}

void SegmentTable::remove(int index) {
  const std::lock_guard guard(changing_);
  removed_.emplace_back(segments_[static_cast<size_t>(index)].exchange(nullptr, std::memory_order_acq_rel));
  changed();
}

const Segment* SegmentTable::find(std::uintptr_t address, std::size_t bytes, int* index) const noexcept {
  const int used = used_.load(std::memory_order_acquire);
  for (int i = 0; i < used; ++i) {
    const Segment* segment = segments_[static_cast<size_t>(i)].load(std::memory_order_acquire);
    if (segment == nullptr) continue;
    const std::uintptr_t offset = address - segment->base;
    if (offset >= segment->bytes || bytes > segment->bytes - offset) continue;
    if (index != nullptr) *index = i;
    return segment;
  }
  return nullptr;
}

SegmentTable::Range SegmentTable::around(std::uintptr_t address) const noexcept {
  if (const Segment* segment = find(address, 1)) {
    if (segment->blocks == nullptr) return {segment->base, segment->bytes, segment};
    const Blocks::Block block = segment->blocks->around(address);
    return {block.start, block.bytes, segment};
  }
  std::uintptr_t begin = 0, end = UINTPTR_MAX;
  const int used = used_.load(std::memory_order_acquire);
  for (int i = 0; i < used; ++i) {
    const Segment* segment = segments_[static_cast<size_t>(i)].load(std::memory_order_acquire);
    if (segment == nullptr) continue;
    if (segment->base > address) end = std::min(end, segment->base);
    if (segment->base < address) begin = std::max(begin, segment->base + segment->bytes);
  }
  return {begin, end - begin, nullptr};
}

const Segment* SegmentTable::find_at_peer(std::uintptr_t address, int& pe, std::uint64_t& offset) const noexcept {
  const int used = used_.load(std::memory_order_acquire);
  for (int i = 0; i < used; ++i) {
    const Segment* segment = segments_[static_cast<size_t>(i)].load(std::memory_order_acquire);
    if (segment == nullptr) continue;
    for (std::size_t peer = 0; peer < segment->peers.size(); ++peer) {
      offset = address - reinterpret_cast<std::uintptr_t>(segment->peers[peer]);
      if (segment->peers[peer] == nullptr || offset >= segment->bytes) continue;
      pe = static_cast<int>(peer);
      return segment;
    }
  }
  return nullptr;
}

std::pair<std::uintptr_t, std::uintptr_t> SegmentTable::span() const noexcept {
  std::uintptr_t low = UINTPTR_MAX, high = 0;
  const int used = used_.load(std::memory_order_acquire);
  for (int i = 0; i < used; ++i) {
    const Segment* segment = segments_[static_cast<size_t>(i)].load(std::memory_order_acquire);
    if (segment == nullptr) continue;
    const auto take = [&](std::uintptr_t base) {
      low = std::min(low, base);
      high = std::max(high, base + segment->bytes);
    };
    take(segment->base);
    for (char* const peer : segment->peers)
      if (peer != nullptr) take(reinterpret_cast<std::uintptr_t>(peer));
  }
  return {low, high};
}

std::uint64_t SegmentTable::unique() noexcept {
  static constinit std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

const Segment* SegmentTable::find_key(std::uint32_t key) const noexcept {
  const int used = used_.load(std::memory_order_acquire);
  for (int i = 0; i < used; ++i) {
    const Segment* segment = segments_[static_cast<size_t>(i)].load(std::memory_order_acquire);
    if (segment != nullptr && segment->key == key) return segment;
  }
  return nullptr;
}

std::optional<std::string> SegmentTable::damage(bool all, const void* always) const {
  const int used = used_.load(std::memory_order_acquire);
  for (int i = 0; i < used; ++i) {
    const Segment* segment = segments_[static_cast<size_t>(i)].load(std::memory_order_acquire);
    if (segment == nullptr || segment->blocks == nullptr) continue;
    if (auto text = segment->blocks->damage(all, always)) return text;
  }
  return std::nullopt;
}

std::string SegmentTable::place(const void* address) const {
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  const Segment* const segment = find(where, 1);
  return segment == nullptr ? strf("%p", address) : place(segment->key, where - segment->base);
}

std::string SegmentTable::place(std::uint32_t key, std::uint64_t offset) const {
  const Segment* const segment = find_key(key);
  const bool is_static = segment != nullptr && key >= kStaticKey && key < kFirstFreeKey;
  const std::string variable = is_static ? variable_at(segment->base + offset) : "";
  return strf("%s + 0x%llx", segment == nullptr ? "heap of a team" : segment->name.c_str(),
              static_cast<unsigned long long>(offset)) +
         (variable.empty() ? "" : " (" + variable + ")");
}

std::string SegmentTable::describe() const {
  std::string text;
  for (const auto& entry : segments_) {
    const Segment* segment = entry.load(std::memory_order_acquire);
    if (segment == nullptr) continue;
    text += strf("%s%s [%#zx, %#zx)", text.empty() ? "" : ", ", segment->name.c_str(), segment->base,
                 segment->base + segment->bytes);
  }
  return text.empty() ? "none" : text;
}

}  // namespace shoal

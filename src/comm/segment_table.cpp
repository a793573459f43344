// SPDX-License-Identifier: Apache-2.0
#include "comm/segment_table.hpp"

#include "base/error.hpp"

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
    return i;
  }
  throw Error(Code::out_of_memory, strf("there are %d symmetric segments already: destroy a heap first", kMost));
}

void SegmentTable::remove(int index) {
  const std::lock_guard guard(changing_);
  removed_.emplace_back(segments_[static_cast<size_t>(index)].exchange(nullptr, std::memory_order_acq_rel));
}

const Segment* SegmentTable::find(std::uintptr_t address, std::size_t bytes) const noexcept {
  const int used = used_.load(std::memory_order_acquire);
  for (int i = 0; i < used; ++i) {
    const Segment* segment = segments_[static_cast<size_t>(i)].load(std::memory_order_acquire);
    if (segment == nullptr) continue;
    const std::uintptr_t offset = address - segment->base;
    if (offset < segment->bytes && bytes <= segment->bytes - offset) return segment;
  }
  return nullptr;
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

// SPDX-License-Identifier: Apache-2.0
// Further heaps (shmemx_heap_create): each a segment of its own, mapped by the members of one team and by nobody else.
#pragma once
#include <memory>

#include "comm/segment_table.hpp"
#include "memory/memory_file.hpp"
#include "team/symmetric_heap.hpp"
#include "team/team.hpp"

namespace shoal {

class TeamHeap final {
 public:
  /// Null when a member could not make or map it; then on all members alike. Collective over the team, which must live
  /// as long as the heap. @param guarded  check mode knows its blocks
  static std::unique_ptr<TeamHeap> create(Team& team, SegmentTable& segments, std::size_t bytes, std::size_t alignment,
                                          bool same_process, bool guarded, const char* call);
  ~TeamHeap();

  Team& team() const noexcept { return team_; }
  SymmetricHeap& heap() noexcept { return heap_; }
  const SymmetricHeap& heap() const noexcept { return heap_; }
  /// Where its members' parts are mapped here.
  const Segment& segment() const noexcept { return *where_; }

 private:
  TeamHeap(Team& team, SegmentTable& segments, std::uint32_t key, Mapping mapping, std::size_t stride,
           std::size_t bytes, std::size_t alignment, bool guarded);

  Team& team_;
  SegmentTable& segments_;
  Mapping mapping_;
  SymmetricHeap heap_;
  const Segment* where_;
  int segment_;
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// What reductions and scans share: the check of their operands, and a range of several members' sources combined.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/tuning.hpp"
#include "coll/kernels.hpp"
#include "team/group.hpp"

namespace shoal {

using tuned::kChunkBytes;

/// Part `part` of `parts` of the elements: whole cache lines, so that no two who write parts write one line.
struct Part {
  std::size_t begin, end;
  Part(std::size_t count, std::size_t width, std::size_t part, std::size_t parts) {
    const std::size_t line = std::max<std::size_t>(1, 64 / width);
    const std::size_t each = (count / parts + line) / line * line;
    begin = std::min(count, part * each);
    end = part == parts - 1 ? count : std::min(count, begin + each);
  }
};

/// Ends the job unless `count` elements of this member's dest and source are symmetric. @return their bytes
std::size_t check_operands(Group& group, const void* dest, const void* source, std::size_t count,
                           const Combine& combine, const char* call) noexcept;

/// into = `count` elements of members 0 to `last`, combined in order; at most a chunk. `range_of(member)` tells where
/// a member's are: member 0's for as long as this runs, others' until the next call. `into` may be one of them.
template <class RangeOf>
void combine_ranges(void* into, std::size_t count, int last, const Combine& combine, RangeOf&& range_of) noexcept {
  const void* left = range_of(0);
  if (last == 0) {
    std::memmove(into, left, count * combine.width);
    return;
  }
  if (combine.run == nullptr) {
    alignas(64) std::byte accumulator[2 * kChunkBytes];  // as many elements as a chunk has, twice as wide
    combine.wide.widen(accumulator, left, count);
    for (int member = 1; member <= last; ++member) combine.wide.accumulate(accumulator, range_of(member), count);
    combine.wide.narrow(into, accumulator, count);
    return;
  }
  // Only the last step writes `into`, because that may be one of the sources.
  alignas(64) std::byte partial[kChunkBytes];
  for (int member = 1; member <= last; ++member) {
    void* const out = member == last ? into : partial;
    combine.run(out, left, range_of(member), count);
    left = out;
  }
}

/// out = a op b, for any number of elements; rounded, where the type is accumulated in a wider one. `out` may be `a` or
/// `b`.
void combine_two(void* out, const void* a, const void* b, std::size_t count, const Combine& combine) noexcept;

/// into = source[first, first + count) of the members 0 to `last`, combined in order; at most a chunk.
void combine_members(Group& group, void* into, const void* source, std::size_t first, std::size_t count, int last,
                     const Combine& combine, const char* call) noexcept;

}  // namespace shoal

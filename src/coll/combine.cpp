// SPDX-License-Identifier: Apache-2.0
#include "coll/combine.hpp"

#include <cstring>

#include "base/bytes.hpp"
#include "coll/over_nodes.hpp"

namespace shoal {

std::size_t check_operands(Group& group, const void* dest, const void* source, std::size_t count,
                           const Combine& combine, const char* call) noexcept {
  const std::size_t bytes = bytes_of(count, combine.width);
  group.at(dest, bytes, group.rank(), call);
  group.at(source, bytes, group.rank(), call);
  return bytes;
}

void combine_two(void* out, const void* a, const void* b, std::size_t count, const Combine& combine) noexcept {
  if (combine.run != nullptr) return combine.run(out, a, b, count);
  const std::size_t most = kChunkBytes / combine.width;
  for (std::size_t first = 0; first < count; first += most) {
    const auto at = [&](const void* base) { return static_cast<const char*>(base) + first * combine.width; };
    combine_ranges(static_cast<char*>(out) + first * combine.width, std::min(most, count - first), 1, combine,
                   [&](int which) { return at(which == 0 ? a : b); });
  }
}

void combine_members(Group& group, void* into, const void* source, std::size_t first, std::size_t count, int last,
                     const Combine& combine, const char* call) noexcept {
  const char* range = static_cast<const char*>(source) + first * combine.width;
  const std::size_t bytes = count * combine.width;
  alignas(64) std::byte first_fetched[kChunkBytes], fetched[kChunkBytes];  // what is on other nodes
  combine_ranges(into, count, last, combine, [&](int member) {
    return member_range(group, range, bytes, member, member == 0 ? first_fetched : fetched, call);
  });
}

}  // namespace shoal

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

// SPDX-License-Identifier: Apache-2.0
#include "coll/combine.hpp"

#include <cstring>

#include "base/bytes.hpp"

namespace shoal {

std::size_t check_operands(Group& group, const void* dest, const void* source, std::size_t count, const Combine& combine,
                           const char* call) noexcept {
  const std::size_t bytes = bytes_of(count, combine.width);
  group.at(dest, bytes, group.rank(), call);
  group.at(source, bytes, group.rank(), call);
  return bytes;
}

void combine_members(Group& group, void* into, const void* source, std::size_t first, std::size_t count, int last,
                     const Combine& combine, const char* call) noexcept {
  const char* range = static_cast<const char*>(source) + first * combine.width;
  const std::size_t bytes = count * combine.width;
  const char* member0 = group.at(range, bytes, 0, call);
  if (last == 0) {
    std::memcpy(into, member0, bytes);
    return;
  }
  if (combine.run == nullptr) {
    alignas(64) std::byte accumulator[2 * kChunkBytes];  // as many elements as a chunk has, twice as wide
    combine.wide.widen(accumulator, member0, count);
    for (int member = 1; member <= last; ++member)
      combine.wide.accumulate(accumulator, group.at(range, bytes, member, call), count);
    combine.wide.narrow(into, accumulator, count);
    return;
  }
  combine.run(into, member0, group.at(range, bytes, 1, call), count);
  for (int member = 2; member <= last; ++member) combine.run(into, into, group.at(range, bytes, member, call), count);
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "coll/collectives.hpp"
#include "coll/combine.hpp"
#include "coll/over_nodes.hpp"
#include "team/watched.hpp"

namespace shoal {

void scan(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine, bool inclusive,
          const char* call) noexcept {
  const std::size_t array = bytes_of(count, combine.width);
  const WatchedCollective watched(group, CallKind::collective, call,
                                  {.count = count,
                                   .dest = dest,
                                   .source = source,
                                   .dest_bytes = array,
                                   .source_bytes = array,
                                   .upwards = true,
                                   .in_place = true});
  if (count == 0) return;
  const std::size_t bytes = check_operands(group, dest, source, count, combine, call);
  if (group.nodes().span() && scan_over_nodes(group, dest, source, count, combine, inclusive, call)) return;
  const int last = inclusive ? group.rank() : group.rank() - 1;
  if (bytes <= group.mail_bytes()) {
    std::memcpy(group.own_mail(), source, bytes);
    group.sync(call);
    if (last < 0)
      std::memset(dest, 0, bytes);
    else
      combine_ranges(dest, count, last, combine, [&](int member) { return group.mail(member); });
    return;
  }
  alignas(64) std::byte result[kChunkBytes];
  const std::size_t chunk = kChunkBytes / combine.width;
  group.sync(call);
  for (std::size_t first = 0; first < count; first += chunk) {
    const std::size_t elements = std::min(chunk, count - first);
    if (last < 0)
      std::memset(result, 0, elements * combine.width);
    else
      combine_members(group, result, source, first, elements, last, combine, call);
    group.sync(call);  // all have read what dest may be
    std::memcpy(static_cast<char*>(dest) + first * combine.width, result, elements * combine.width);
  }
}

}  // namespace shoal

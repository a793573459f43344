// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "coll/collectives.hpp"

namespace shoal {

void fcollect(Group& group, void* dest, const void* source, std::size_t bytes, const char* call) noexcept {
  if (bytes == 0) return;
  const int n = group.size();
  auto* to = static_cast<char*>(dest);
  group.at(dest, bytes_of(bytes, static_cast<std::size_t>(n)), group.rank(), call);
  group.sync(call);
  for (int k = 0; k < n; ++k) {  // each starts at itself, so that not all read the same member at once
    const int member = (group.rank() + k) % n;
    std::memmove(to + static_cast<std::size_t>(member) * bytes, group.at(source, bytes, member, call), bytes);
  }
  group.sync(call);
}

void collect(Group& group, void* dest, const void* source, std::size_t count, std::size_t width, const char* call) noexcept {
  const int n = group.size();
  const int me = group.rank();
  group.shown(me).store(count, std::memory_order_relaxed);  // released by the sync
  group.sync(call);
  std::size_t total = 0, before = 0;
  for (int member = 0; member < n; ++member) {
    if (member == me) before = total;
    const std::size_t theirs = group.shown(member).load(std::memory_order_relaxed);
    if (__builtin_add_overflow(total, theirs, &total) || total > SIZE_MAX / width)
      group.world().fatal(call, strf("member %d gives %zu elements: too many to address", member, theirs));
  }
  // Each writes its own elements to all: who gives none need not have a source at all.
  if (count != 0) {
    group.at(source, count * width, me, call);
    for (int k = 0; k < n; ++k)
      std::memmove(group.at(dest, total * width, (me + k) % n, call) + before * width, source, count * width);
  }
  group.sync(call);
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/error.hpp"
#include "coll/collectives.hpp"

namespace shoal {

void fcollect(Group& group, void* dest, const void* source, std::size_t bytes, const char* call) noexcept {
  if (bytes == 0) return;
  const int n = group.size();
  auto* to = static_cast<char*>(dest);
  std::size_t total;
  if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(n), &total)) total = SIZE_MAX;
  group.at(dest, total, group.rank(), call);
  group.sync(call);
  for (int k = 0; k < n; ++k) {  // each starts at itself, so that not all read the same member at once
    const int member = (group.rank() + k) % n;
    std::memmove(to + static_cast<std::size_t>(member) * bytes, group.at(source, bytes, member, call), bytes);
  }
  group.sync(call);
}

void collect(Group& group, void* dest, const void* source, std::size_t count, std::size_t width, const char* call) noexcept {
  const int n = group.size();
  group.shown(group.rank()).store(count, std::memory_order_relaxed);  // released by the sync
  group.sync(call);
  std::size_t offset = 0;
  for (int member = 0; member < n; ++member) {
    const std::size_t theirs = group.shown(member).load(std::memory_order_relaxed);
    std::size_t bytes, end;
    if (__builtin_mul_overflow(theirs, width, &bytes) || __builtin_add_overflow(offset, bytes, &end))
      group.world().fatal(call, strf("member %d gives %zu elements: too many to address", member, theirs));
    if (bytes != 0) {
      group.at(dest, end, group.rank(), call);
      std::memmove(static_cast<char*>(dest) + offset, group.at(source, bytes, member, call), bytes);
    }
    offset = end;
  }
  group.sync(call);
}

}  // namespace shoal

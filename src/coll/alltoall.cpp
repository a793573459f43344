// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "coll/collectives.hpp"

namespace shoal {

void alltoall(Group& group, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t count,
              std::size_t width, const char* call) noexcept {
  if (count == 0) return;
  if (dst < 1 || sst < 1)
    group.world().fatal(call, strf("strides must be at least 1, not dst=%td, sst=%td", dst, sst));
  const int n = group.size();
  const int me = group.rank();
  const auto blocks = static_cast<std::size_t>(n);
  // The elements of a whole array, from its first to its last; saturates, so that the range check fails.
  const auto extent = [&](std::ptrdiff_t stride) {
    std::size_t elements, bytes;
    if (__builtin_mul_overflow(blocks * count - 1, static_cast<std::size_t>(stride), &elements) ||
        __builtin_add_overflow(elements, std::size_t{1}, &elements) || __builtin_mul_overflow(elements, width, &bytes))
      return SIZE_MAX;
    return bytes;
  };
  if (count > SIZE_MAX / blocks) group.world().fatal(call, strf("%zu elements a block are too many to address", count));
  group.at(dest, extent(dst), me, call);
  const std::size_t source_bytes = extent(sst);
  group.at(source, source_bytes, me, call);
  group.sync(call);
  for (int k = 0; k < n; ++k) {
    const int member = (me + k) % n;
    const std::size_t from_block = static_cast<std::size_t>(me) * count * static_cast<std::size_t>(sst) * width;
    const std::size_t to_block = static_cast<std::size_t>(member) * count * static_cast<std::size_t>(dst) * width;
    const char* from = group.at(source, source_bytes, member, call) + from_block;
    char* to = static_cast<char*>(dest) + to_block;
    if (dst == 1 && sst == 1) {
      std::memmove(to, from, count * width);
      continue;
    }
    const auto w = static_cast<std::ptrdiff_t>(width);
    copy_strided(to, from, dst * w, sst * w, width, count);
  }
  group.sync(call);
}

}  // namespace shoal

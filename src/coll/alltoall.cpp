// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/bytes.hpp"
#include "base/copy.hpp"
#include "base/error.hpp"
#include "coll/collectives.hpp"
#include "team/watched.hpp"

namespace shoal {

namespace {

/// A block of a member on another node; there when quiet returns.
void get_block(Group& group, char* to, const char* from, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t count,
               std::size_t width, int pe, const char* call) noexcept {
  if (dst == 1 && sst == 1) return group.world().get_nbi(to, from, count * width, pe, call);
  group.world().get_strided(to, from, dst, sst, 1, count, width, pe, call);
}

}  // namespace

void alltoall(Group& group, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t count,
              std::size_t width, const char* call) noexcept {
  const int n = group.size();
  const int me = group.rank();
  const auto blocks = static_cast<std::size_t>(n);
  if (count > SIZE_MAX / blocks) group.world().fatal(call, strf("%zu elements a block are too many to address", count));
  // The elements of a whole array, from its first to its last; saturates, so that the range check fails.
  const auto extent = [&](std::ptrdiff_t stride) -> std::size_t {
    std::size_t elements, bytes;
    if (count == 0 || stride < 1) return 0;
    if (__builtin_mul_overflow(blocks * count - 1, static_cast<std::size_t>(stride), &elements) ||
        __builtin_add_overflow(elements, std::size_t{1}, &elements) || __builtin_mul_overflow(elements, width, &bytes))
      return SIZE_MAX;
    return bytes;
  };
  const std::size_t dest_bytes = extent(dst), source_bytes = extent(sst);
  const bool dense = dst == 1 && sst == 1;
  // Whether it was given strides, 1 or not.
  const bool strided = !dense || (!group.world().plain() && std::strstr(call, "alltoalls") != nullptr);
  const WatchedCollective watched(group, CallKind::collective, call,
                                  {.count = count,
                                   .also = {strided ? ", strides %ld and %ld" : "", dst, sst},
                                   .dest = dest,
                                   .source = source,
                                   .dest_bytes = dest_bytes,
                                   .source_bytes = source_bytes,
                                   .gaps = !dense});
  if (count == 0) return;
  if (dst < 1 || sst < 1) group.world().fatal(call, strf("strides must be at least 1, not dst=%td, sst=%td", dst, sst));
  group.at(dest, dest_bytes, me, call);
  group.at(source, source_bytes, me, call);
  const auto w = static_cast<std::ptrdiff_t>(width);
  const std::size_t block = count * width;
  if (block * blocks <= group.mail_bytes()) {
    const auto copy = [&](void* to, const void* from, std::ptrdiff_t to_stride, std::ptrdiff_t from_stride,
                          std::size_t elements) {
      if (to_stride == 1 && from_stride == 1) return copy_shared(to, from, elements * width);
      copy_strided(static_cast<char*>(to), static_cast<const char*>(from), to_stride * w, from_stride * w, width,
                   elements);
    };
    copy(group.own_mail(), source, 1, sst, blocks * count);
    group.sync(call);
    for (int member = 0; member < n; ++member)
      copy(static_cast<char*>(dest) + static_cast<std::size_t>(member) * block * static_cast<std::size_t>(dst),
           group.mail(member) + static_cast<std::size_t>(me) * block, dst, 1, count);
    return;
  }
  group.sync(call);
  for (int k = 0; k < n; ++k) {
    const int member = (me + k) % n;
    const std::size_t from_block = static_cast<std::size_t>(me) * count * static_cast<std::size_t>(sst) * width;
    const std::size_t to_block = static_cast<std::size_t>(member) * count * static_cast<std::size_t>(dst) * width;
    const char* const theirs = group.at(source, source_bytes, member, call);
    char* to = static_cast<char*>(dest) + to_block;
    if (theirs == nullptr) {  // on another node
      get_block(group, to, static_cast<const char*>(source) + from_block, dst, sst, count, width,
                group.world_pe(member), call);
      continue;
    }
    const char* from = theirs + from_block;
    if (dst == 1 && sst == 1) {
      copy_shared(to, from, count * width);
      continue;
    }
    copy_strided(to, from, dst * w, sst * w, width, count);
  }
  if (group.nodes().span()) group.world().quiet_far();
  group.sync(call);
}

}  // namespace shoal

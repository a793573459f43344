// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bytes.hpp"
#include "base/copy.hpp"
#include "base/error.hpp"
#include "coll/collectives.hpp"
#include "coll/over_nodes.hpp"
#include "team/watched.hpp"

namespace shoal {

void fcollect(Group& group, void* dest, const void* source, std::size_t bytes, const char* call) noexcept {
  const WatchedCollective watched(group, CallKind::collective, call,
                                  {.count = bytes,
                                   .unit = "bytes",
                                   .dest = dest,
                                   .source = source,
                                   .dest_bytes = bytes_of(bytes, static_cast<std::size_t>(group.size())),
                                   .source_bytes = bytes});
  if (bytes == 0) return;
  const int n = group.size();
  auto* to = static_cast<char*>(dest);
  group.at(dest, bytes_of(bytes, static_cast<std::size_t>(n)), group.rank(), call);
  group.at(source, bytes, group.rank(), call);
  if (group.nodes().span()) return fcollect_over_nodes(group, dest, source, bytes, call);
  const bool by_mail = bytes <= group.mail_bytes();
  if (by_mail) std::memcpy(group.own_mail(), source, bytes);
  group.sync(call);
  for (int k = 0; k < n; ++k) {  // each starts at itself, so that not all read the same member at once
    const int member = (group.rank() + k) % n;
    const void* const theirs =
        by_mail ? static_cast<const void*>(group.mail(member)) : group.at(source, bytes, member, call);
    copy_shared(to + static_cast<std::size_t>(member) * bytes, theirs, bytes);
  }
  if (!by_mail) group.sync(call);
}

void collect(Group& group, void* dest, const void* source, std::size_t count, std::size_t width,
             const char* call) noexcept {
  WatchedCollective watched(group, CallKind::collective, call,
                            {.count = count,
                             .counts_agree = false,
                             .dest = dest,
                             .source = source,
                             .dest_bytes = bytes_of(count, width),
                             .source_bytes = bytes_of(count, width)});
  const int n = group.size();
  const int me = group.rank();
  const std::vector<std::uint64_t> counts = group.gather_words(count, call);
  std::size_t total = 0, before = 0;
  for (int member = 0; member < n; ++member) {
    if (member == me) before = total;
    const std::size_t theirs = counts[static_cast<std::size_t>(member)];
    if (__builtin_add_overflow(total, theirs, &total) || total > SIZE_MAX / width)
      group.world().fatal(call, strf("member %d gives %zu elements: too many to address", member, theirs));
  }
  watched.learn_dest_bytes(total * width);
  // Who gives none need not have a source at all.
  if (count != 0) group.at(source, count * width, me, call);
  if (group.nodes().span()) return collect_over_nodes(group, dest, source, counts, width, call);
  if (count != 0) {
    for (int k = 0; k < n; ++k)
      copy_shared(group.at(dest, total * width, (me + k) % n, call) + before * width, source, count * width);
  }
  group.sync(call);
}

}  // namespace shoal

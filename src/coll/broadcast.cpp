// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/bytes.hpp"
#include "base/copy.hpp"
#include "base/error.hpp"
#include "coll/collectives.hpp"
#include "coll/over_nodes.hpp"
#include "team/watched.hpp"

namespace shoal {

void broadcast(Group& group, void* dest, const void* source, std::size_t bytes, int root, bool root_too,
               const char* call) noexcept {
  const WatchedCollective watched(group, CallKind::collective, call,
                                  {.count = bytes,
                                   .unit = "bytes",
                                   .root = root,
                                   .dest = dest,
                                   .source = source,
                                   .dest_bytes = group.rank() != root || (root_too && dest != source) ? bytes : 0,
                                   .source_bytes = group.rank() == root ? bytes : 0,
                                   .in_place = true});
  if (root < 0 || root >= group.size())
    group.world().fatal(
        call, strf("the root %d is out of range: the %s has members 0 to %d", root, group.kind(), group.size() - 1));
  if (bytes == 0) return;
  const char* from = group.at(source, bytes, root, call);
  const bool takes = group.rank() != root || root_too;
  if (takes) group.at(dest, bytes, group.rank(), call);
  if (group.nodes().span()) return broadcast_over_nodes(group, dest, source, bytes, root, root_too, call);
  if (bytes <= group.mail_bytes()) {
    if (group.rank() == root) std::memcpy(group.own_mail(), from, bytes);
    group.sync(call);
    if (takes && from != dest) copy_shared(dest, group.mail(root), bytes);
    return;
  }
  group.sync(call);
  if (takes && from != dest) copy_shared(dest, from, bytes);
  group.sync(call);
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/error.hpp"
#include "coll/collectives.hpp"

namespace shoal {

void broadcast(Group& group, void* dest, const void* source, std::size_t bytes, int root, bool root_too,
               const char* call) noexcept {
  if (root < 0 || root >= group.size())
    group.world().fatal(call, strf("the root %d is out of range: the %s has members 0 to %d", root, group.kind(), group.size() - 1));
  if (bytes == 0) return;
  const char* from = group.at(source, bytes, root, call);
  const bool takes = group.rank() != root || root_too;
  if (takes) group.at(dest, bytes, group.rank(), call);
  group.sync(call);
  if (takes && from != dest) std::memmove(dest, from, bytes);
  group.sync(call);
}

}  // namespace shoal

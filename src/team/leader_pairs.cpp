// SPDX-License-Identifier: Apache-2.0
#include "team/leader_pairs.hpp"

#include <cstring>

namespace shoal {

void combine_over_leaders(Group& group, std::span<std::byte> value, const Fold& fold, const char* call) noexcept {
  const LeaderPairs pairs(static_cast<int>(group.nodes().leaders.size()), group.nodes().here);
  const int word = pairs.word_of_group(), here = group.nodes().here;
  if (!pairs.first) {
    group.tell(here - 1, word, value);
    std::memcpy(value.data(), group.hear(word, call), value.size());
    return;
  }
  if (pairs.paired) fold(value.data(), value.data(), group.hear(word, call));
  for (int level = 0; level < pairs.levels; ++level) {
    group.tell(pairs.partner(level), level, value);
    const std::byte* const theirs = group.hear(level, call);
    if (pairs.left_of_partner(level))
      fold(value.data(), value.data(), theirs);
    else
      fold(value.data(), theirs, value.data());
  }
  if (pairs.paired) group.tell(here + 1, word, value);
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// How leaders of any number of nodes combine something in about log2(nodes) steps, in the order of the nodes: recursive
// doubling. The leaders form 2^levels groups of neighbours: the first `extra` groups have two members, of which the
// second leaves its part to the first and hears the result from it; the others have one.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

#include "team/group.hpp"
#include "team/slot.hpp"

namespace shoal {

/// into = left and right, combined; into may be one of them.
using Fold = Callback<void*, const void*, const void*>;

struct LeaderPairs {
  /// Bytes that fit at least, however many nodes there are.
  static constexpr std::size_t kLeastRoom = 192;
  static constexpr int kMostLevels = 20;

  int levels, extra, group;
  bool first = true;    ///< of its group
  bool paired = false;  ///< its group has two
  LeaderPairs(int leaders, int here) noexcept
      : levels(static_cast<int>(std::bit_width(static_cast<unsigned>(leaders))) - 1),
        extra(leaders - (1 << levels)),
        group(here - extra) {
    if (here >= 2 * extra) return;
    group = here / 2;
    first = here % 2 == 0;
    paired = true;
  }
  /// The place of the first leader of a group.
  int leader_of(int of_group) const noexcept { return of_group < extra ? 2 * of_group : of_group + extra; }
  int partner(int level) const noexcept { return leader_of(group ^ (1 << level)); }
  /// Whether this group comes before its partner's.
  bool left_of_partner(int level) const noexcept { return (group >> level) % 2 == 0; }
  /// The word that the two of a group use; levels use words 0 to levels - 1.
  int word_of_group() const noexcept { return levels; }
  /// Bytes that each of the words has room for.
  std::size_t room() const noexcept { return Slot::kMailBytes / static_cast<std::size_t>(levels + 1) / 64 * 64; }
};
static_assert(Slot::kMailBytes / (LeaderPairs::kMostLevels + 1) / 64 * 64 >= LeaderPairs::kLeastRoom);
static_assert(LeaderPairs::kMostLevels < Group::kPairWords && Group::kPairWords == Slot::kRounds);

/// value = those of all leaders, at most group.pair_room() bytes. For leaders alone, all of them.
void combine_over_leaders(Group& group, std::span<std::byte> value, const Fold& fold, const char* call) noexcept;

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "coll/over_nodes.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/copy.hpp"
#include "coll/combine.hpp"
#include "team/leader_pairs.hpp"

namespace shoal {
namespace {

/// What a leader fetches from another at once; twice as much is on its way.
constexpr std::size_t kFarChunk = 256 * 1024;
/// What it fetches from all others, so that its room doesn't grow with the number of nodes.
constexpr std::size_t kFarRoom = 16 * 1024 * 1024;
/// What a scan works on at once: each member has a copy of it, a leader four.
constexpr std::size_t kScanBytes = 1024 * 1024;
/// Up to so many all exchange with all at once: fewer steps, and the connections don't matter yet.
constexpr std::size_t kFewNodes = 8, kFewMembers = 8;

void* address(const void* base, std::size_t offset) noexcept {
  return static_cast<char*>(const_cast<void*>(base)) + offset;
}

/// To a member's range, there when quiet_far() returns, so that it is never left to chaos. What the program itself has
/// put stays under way: a collective promises no more.
void give(Group& group, void* range, const void* from, std::size_t bytes, int member, const char* call) noexcept {
  if (char* const there = group.at(range, bytes, member, call)) return copy_shared(there, from, bytes);
  const Context& world = group.world();
  const int pe = group.world_pe(member);
  const Observed observed(world.domain().observer,
                          [&] { return world.call_of(call, CallKind::put, pe, range, from, bytes); });
  world.put_far(range, from, bytes, pe);
}

/// The leader's dest = the sources of this node's members, combined in their order; each member sees to a part of it.
void reduce_node(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                 const char* call) noexcept {
  const std::vector<int>& mine = group.nodes().mine;
  const auto place = static_cast<std::size_t>(std::find(mine.begin(), mine.end(), group.rank()) - mine.begin());
  const Part part(count, combine.width, place, mine.size());
  const std::size_t most = kChunkBytes / combine.width;
  alignas(64) std::byte result[kChunkBytes];
  for (std::size_t first = part.begin; first < part.end; first += most) {
    const std::size_t some = std::min(most, part.end - first), offset = first * combine.width,
                      bytes = some * combine.width;
    combine_ranges(result, some, static_cast<int>(mine.size()) - 1, combine, [&](int i) {
      return group.at(address(source, offset), bytes, mine[static_cast<std::size_t>(i)], call);
    });
    std::memcpy(group.at(address(dest, offset), bytes, mine[0], call), result, bytes);
  }
}

/// Among leaders: each fetches its part of what the others' nodes give, combines, and puts it to all. While one chunk
/// is combined the next is on its way. `given` may be dest: of what a leader has there only its own part changes before
/// the others have fetched theirs.
void reduce_leaders_at_once(Group& group, void* dest, const void* given, std::size_t count, const Combine& combine,
                            const char* call) noexcept {
  const GroupNodes& nodes = group.nodes();
  const Context& world = group.world();
  const std::size_t leaders = nodes.leaders.size(), here = static_cast<std::size_t>(nodes.here);
  const Part part(count, combine.width, here, leaders);
  const std::size_t most = std::min(kFarChunk, std::max<std::size_t>(kFarRoom / 2 / leaders, 512)) / combine.width;
  const std::size_t chunk = std::min(std::max<std::size_t>(1, most), std::max<std::size_t>(1, part.end - part.begin));
  const std::size_t room = chunk * combine.width;
  const std::unique_ptr<std::byte[]> fetched(new std::byte[2 * leaders * room]);
  const auto slot = [&](std::size_t round, std::size_t leader) {
    return fetched.get() + (round % 2 * leaders + leader) * room;
  };
  Tally tallies[2];
  const auto fetch = [&](std::size_t round) {
    const std::size_t first = part.begin + round * chunk;
    if (first >= part.end) return;
    for (std::size_t leader = 0; leader < leaders; ++leader)
      if (leader != here)
        world.get_counted(slot(round, leader), address(given, first * combine.width),
                          std::min(chunk, part.end - first) * combine.width, group.world_pe(nodes.leaders[leader]),
                          tallies[round % 2], call);
  };
  fetch(0);
  for (std::size_t round = 0, first = part.begin; first < part.end; ++round, first += chunk) {
    const std::size_t some = std::min(chunk, part.end - first), bytes = some * combine.width;
    fetch(round + 1);
    world.await_counted(tallies[round % 2], call);
    void* const result = address(dest, first * combine.width);
    const auto value_of = [&](int leader) -> void* {
      const auto which = static_cast<std::size_t>(leader);
      return which == here ? address(given, first * combine.width) : slot(round, which);
    };
    // In the order of nodes.
    for (std::size_t done = 0; done < some; done += kChunkBytes / combine.width)
      combine_ranges(address(result, done * combine.width), std::min(kChunkBytes / combine.width, some - done),
                     static_cast<int>(leaders) - 1, combine,
                     [&](int leader) { return address(value_of(leader), done * combine.width); });
    for (std::size_t leader = 0; leader < leaders; ++leader)
      if (leader != here) give(group, result, result, bytes, nodes.leaders[leader], call);
  }
  world.quiet_far();
}

/// dest[first, end) = those of the leader at `from` and of this one, combined; the other one's are on the left or on
/// the right. While one chunk is combined the next is on its way.
void combine_fetched(Group& group, void* dest, std::size_t first, std::size_t end, int from, bool on_left,
                     const Combine& combine, std::byte* room, const char* call) noexcept {
  const Context& world = group.world();
  const int pe = group.world_pe(group.nodes().leaders[static_cast<std::size_t>(from)]);
  const std::size_t most = kFarChunk / combine.width;
  Tally tallies[2];
  const auto fetch = [&](std::size_t at, std::size_t round) {
    if (at >= end) return;
    world.get_counted(room + round % 2 * kFarChunk, address(dest, at * combine.width),
                      std::min(most, end - at) * combine.width, pe, tallies[round % 2], call);
  };
  fetch(first, 0);
  for (std::size_t round = 0; first < end; ++round, first += most) {
    fetch(first + most, round + 1);
    world.await_counted(tallies[round % 2], call);
    void* const own = address(dest, first * combine.width);
    const std::byte* const theirs = room + round % 2 * kFarChunk;
    combine_two(own, on_left ? theirs : own, on_left ? own : theirs, std::min(most, end - first), combine);
  }
}

void fetch_range(Group& group, void* dest, std::size_t first, std::size_t end, std::size_t width, int from,
                 const char* call) noexcept {
  if (first == end) return;
  void* const own = address(dest, first * width);
  group.world().get(own, own, (end - first) * width,
                    group.world_pe(group.nodes().leaders[static_cast<std::size_t>(from)]), call);
}

/// The same for many nodes, with about 2 log2(nodes) exchanges and log2(nodes) connections a leader: recursive halving,
/// after which each has the result of a part, then recursive doubling.
void reduce_leaders_by_halves(Group& group, void* dest, std::size_t count, const Combine& combine,
                              const char* call) noexcept {
  const LeaderPairs pairs(static_cast<int>(group.nodes().leaders.size()), group.nodes().here);
  const int word = pairs.word_of_group(), here = group.nodes().here;
  const std::unique_ptr<std::byte[]> room(new std::byte[2 * kFarChunk]);
  if (!pairs.first) {
    group.tell(here - 1, word, {});
    group.hear(word, call);
    return fetch_range(group, dest, 0, count, combine.width, here - 1, call);
  }
  if (pairs.paired) {
    group.hear(word, call);
    combine_fetched(group, dest, 0, count, here + 1, false, combine, room.get(), call);
  }
  std::size_t first[LeaderPairs::kMostLevels + 1] = {}, end[LeaderPairs::kMostLevels + 1] = {count};
  for (int level = 0; level < pairs.levels; ++level) {
    const bool left = pairs.left_of_partner(level);
    const std::size_t line = std::max<std::size_t>(1, 64 / combine.width);
    const std::size_t half =
        std::min(((end[level] - first[level]) / 2 + line - 1) / line * line, end[level] - first[level]);
    const std::size_t middle = first[level] + half;
    first[level + 1] = left ? first[level] : middle;
    end[level + 1] = left ? middle : end[level];
    group.tell(pairs.partner(level), level, {});
    group.hear(level, call);
    combine_fetched(group, dest, first[level + 1], end[level + 1], pairs.partner(level), !left, combine, room.get(),
                    call);
  }
  for (int level = pairs.levels - 1; level >= 0; --level) {
    // The other one has fetched what is overwritten here: it says so by telling for the second time.
    group.tell(pairs.partner(level), level, {});
    group.hear(level, call);
    const bool left = pairs.left_of_partner(level);
    fetch_range(group, dest, left ? end[level + 1] : first[level], left ? end[level] : first[level + 1], combine.width,
                pairs.partner(level), call);
  }
  if (pairs.paired) group.tell(here + 1, word, {});
}

/// Among leaders; what a node gives is at its leader's `given`, which may be dest.
void reduce_leaders(Group& group, void* dest, const void* given, std::size_t count, const Combine& combine,
                    const char* call) noexcept {
  const std::size_t bytes = count * combine.width;
  if (bytes <= group.pair_room()) {
    const auto fold = [&](void* into, const void* left, const void* right) {
      combine_two(into, left, right, count, combine);
    };
    alignas(64) std::byte value[Slot::kMailBytes];  // nobody else's cache lines
    std::memcpy(value, given, bytes);
    combine_over_leaders(group, std::span(value).first(bytes), fold, call);
    std::memcpy(dest, value, bytes);
    return;
  }
  if (group.pair_room() == 0 || group.nodes().leaders.size() <= kFewNodes) {
    group.sync_leaders(call);  // what all nodes give is there
    reduce_leaders_at_once(group, dest, given, count, combine, call);
  } else {
    if (given != dest) std::memcpy(dest, given, bytes);
    reduce_leaders_by_halves(group, dest, count, combine, call);
  }
  group.sync_leaders(call);
}

/// For types that are accumulated in a wider one, so that they are rounded once: each member combines a part of the
/// elements of all and gives it to all.
void reduce_exactly(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                    const char* call) noexcept {
  group.sync(call);
  const Part part(count, combine.width, static_cast<std::size_t>(group.rank()), static_cast<std::size_t>(group.size()));
  const std::size_t most = kChunkBytes / combine.width;
  alignas(64) std::byte result[kChunkBytes];
  for (std::size_t first = part.begin; first < part.end; first += most) {
    const std::size_t some = std::min(most, part.end - first);
    combine_members(group, result, source, first, some, group.size() - 1, combine, call);
    for (int k = 0; k < group.size(); ++k)
      give(group, address(dest, first * combine.width), result, some * combine.width, (group.rank() + k) % group.size(),
           call);
  }
  group.world().quiet_far();
  group.sync(call);
}

}  // namespace

const char* member_range(Group& group, const char* range, std::size_t bytes, int member, std::byte* room,
                         const char* call) noexcept {
  if (const char* there = group.at(range, bytes, member, call)) return there;
  group.world().get(static_cast<void*>(room), range, bytes, group.world_pe(member), call);
  return reinterpret_cast<const char*>(room);
}

/// A leader's dest = the root's source, by a binomial tree of the nodes, which starts at the root's: a leader fetches
/// from the one before it when that has the data. (In a group without pairs all fetch from the root.)
void fetch_by_tree(Group& group, void* dest, const void* source, std::size_t bytes, int root,
                   const char* call) noexcept {
  const GroupNodes& nodes = group.nodes();
  const int count = static_cast<int>(nodes.leaders.size()), start = nodes.node_of[static_cast<std::size_t>(root)];
  const int place = (nodes.here - start + count) % count, before = place & (place - 1);
  group.begin_giving();
  if (place == 0) return;
  if (before == 0 || group.pair_room() == 0) {
    group.world().get(dest, source, bytes, group.world_pe(root), call);
  } else {
    group.await_given(call);
    group.world().get(dest, dest, bytes,
                      group.world_pe(nodes.leaders[static_cast<std::size_t>((start + before) % count)]), call);
  }
  if (group.pair_room() == 0) return;
  int step = place & -place;
  while ((step /= 2) > 0)
    if (place + step < count) group.give((start + place + step) % count);
}

void broadcast_over_nodes(Group& group, void* dest, const void* source, std::size_t bytes, int root, bool root_too,
                          const char* call) noexcept {
  const GroupNodes& nodes = group.nodes();
  const bool takes = group.rank() != root || root_too;
  group.sync(call);
  if (group.leads()) fetch_by_tree(group, dest, source, bytes, root, call);
  if (nodes.node_of[static_cast<std::size_t>(root)] == nodes.here) {
    const char* from = group.at(source, bytes, root, call);
    if (takes && from != dest) std::memmove(dest, from, bytes);
    group.sync_node(call);  // as the others do: all count the same meetings
  } else {
    group.sync_node(call);
    if (!group.leads()) std::memcpy(dest, group.at(dest, bytes, nodes.mine[0], call), bytes);
  }
  group.sync(call);
}

namespace {

/// Everyone's dest = the blocks of all members: member i's lies at begins[i], up to begins[i + 1].
template <class Begins>
void collect_blocks(Group& group, void* dest, const void* source, Begins&& begins, const char* call) noexcept {
  const GroupNodes& nodes = group.nodes();
  const std::size_t total = begins(group.size()), first = begins(group.rank()), own = begins(group.rank() + 1) - first;
  group.sync_node(call);  // the leader has entered
  if (own != 0) std::memcpy(group.at(address(dest, first), own, nodes.mine[0], call), source, own);
  group.gather_node(call);
  if (group.leads())
    group.gather_leaders(call, [&](int from, int count) {
      Tally tally;
      const int pe = group.world_pe(nodes.leaders[static_cast<std::size_t>(from)]);
      nodes.for_runs(0, group.size(), from, count, [&](int member, int members) {
        const std::size_t begin = begins(member), bytes = begins(member + members) - begin;
        if (bytes != 0) group.world().get_counted(address(dest, begin), address(dest, begin), bytes, pe, tally, call);
      });
      group.world().await_counted(tally, call);
    });
  group.release_node(call);
  if (!group.leads() && total != 0) std::memcpy(dest, group.at(dest, total, nodes.mine[0], call), total);
  group.sync(call);
}

}  // namespace

void fcollect_over_nodes(Group& group, void* dest, const void* source, std::size_t bytes, const char* call) noexcept {
  collect_blocks(
      group, dest, source, [&](int member) { return static_cast<std::size_t>(member) * bytes; }, call);
}

void collect_over_nodes(Group& group, void* dest, const void* source, std::span<const std::uint64_t> counts,
                        std::size_t width, const char* call) noexcept {
  std::vector<std::size_t> begins{0};
  for (const std::uint64_t count : counts) begins.push_back(begins.back() + count * width);
  collect_blocks(
      group, dest, source, [&](int member) { return begins[static_cast<std::size_t>(member)]; }, call);
}

void reduce_over_nodes(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                       const char* call) noexcept {
  if (combine.run == nullptr && static_cast<std::size_t>(group.size()) <= kFewMembers)
    return reduce_exactly(group, dest, source, count, combine, call);
  const std::size_t bytes = count * combine.width;
  const bool alone = group.nodes().leaders.size() == static_cast<std::size_t>(group.size());  // one member a node
  group.sync_node(call);  // the node's members have entered
  if (!alone) reduce_node(group, dest, source, count, combine, call);
  group.gather_node(call);
  if (group.leads()) reduce_leaders(group, dest, alone ? source : dest, count, combine, call);
  group.release_node(call);
  if (!group.leads()) std::memcpy(dest, group.at(dest, bytes, group.nodes().mine[0], call), bytes);
  group.sync_node(call);  // before the leader's dest changes again
}

namespace {

/// A leader's dest, which holds what its node gives, = what all nodes before it give; on the first one nothing.
/// Recursive doubling, as in combine_over_leaders.
void scan_leaders(Group& group, void* dest, std::size_t count, const Combine& combine, const char* call) noexcept {
  const LeaderPairs pairs(static_cast<int>(group.nodes().leaders.size()), group.nodes().here);
  const int word = pairs.word_of_group(), here = group.nodes().here;
  const std::size_t bytes = count * combine.width;
  if (!pairs.first) {
    group.tell(here - 1, word, {});
    group.hear(word, call);
    fetch_range(group, dest, 0, count, combine.width, here - 1, call);
    group.tell(here - 1, word, {});  // its dest may change
    group.hear(word, call);
    return;
  }
  const std::unique_ptr<std::byte[]> own(new std::byte[bytes]), before(new std::byte[bytes]),
      theirs(new std::byte[bytes]);
  std::memcpy(own.get(), dest, bytes);
  bool any_before = false;
  const auto fetch = [&](int leader) {
    group.world().get(static_cast<void*>(theirs.get()), dest, bytes,
                      group.world_pe(group.nodes().leaders[static_cast<std::size_t>(leader)]), call);
  };
  if (pairs.paired) {
    group.hear(word, call);
    fetch(here + 1);
    combine_two(dest, dest, theirs.get(), count, combine);
  }
  for (int level = 0; level < pairs.levels; ++level) {
    const int partner = pairs.partner(level);
    group.tell(partner, level, {});
    group.hear(level, call);
    fetch(partner);
    group.tell(partner, level, {});  // dest may change
    group.hear(level, call);
    if (pairs.left_of_partner(level)) {
      combine_two(dest, dest, theirs.get(), count, combine);
      continue;
    }
    combine_two(dest, theirs.get(), dest, count, combine);
    if (any_before)
      combine_two(before.get(), theirs.get(), before.get(), count, combine);
    else
      std::memcpy(before.get(), theirs.get(), bytes);
    any_before = true;
  }
  if (pairs.paired) {
    if (any_before) combine_two(own.get(), before.get(), own.get(), count, combine);
    std::memcpy(dest, own.get(), bytes);
    group.tell(here + 1, word, {});
    group.hear(word, call);
    group.tell(here + 1, word, {});  // as often as it is told
  }
  if (any_before) std::memcpy(dest, before.get(), bytes);
}

/// Of so few elements that there is room for copies.
void scan_slice(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine, bool inclusive,
                const char* call) noexcept {
  const GroupNodes& nodes = group.nodes();
  const std::vector<int>& mine = nodes.mine;
  const auto place = static_cast<int>(std::find(mine.begin(), mine.end(), group.rank()) - mine.begin());
  const int last = inclusive ? place : place - 1;
  const std::size_t bytes = count * combine.width, most = kChunkBytes / combine.width;
  const std::unique_ptr<std::byte[]> result(new std::byte[bytes]);
  group.sync_node(call);  // the node's members have entered
  for (std::size_t first = 0; first < count && last >= 0; first += most) {
    const std::size_t some = std::min(most, count - first), offset = first * combine.width;
    combine_ranges(result.get() + offset, some, last, combine, [&](int i) {
      return group.at(address(source, offset), some * combine.width, mine[static_cast<std::size_t>(i)], call);
    });
  }
  group.sync_node(call);  // all have read what dest may be
  reduce_node(group, dest, source, count, combine, call);
  group.gather_node(call);
  if (group.leads()) scan_leaders(group, dest, count, combine, call);
  group.release_node(call);
  const char* const before = group.at(dest, bytes, mine[0], call);
  if (nodes.here == 0 && last < 0)
    std::memset(result.get(), 0, bytes);
  else if (last < 0)
    std::memcpy(result.get(), before, bytes);
  else if (nodes.here != 0)
    combine_two(result.get(), before, result.get(), count, combine);
  group.sync_node(call);  // all have read the leader's dest
  std::memcpy(dest, result.get(), bytes);
}

}  // namespace

bool scan_over_nodes(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                     bool inclusive, const char* call) noexcept {
  const GroupNodes& nodes = group.nodes();
  if (group.pair_room() == 0 || !std::is_sorted(nodes.node_of.begin(), nodes.node_of.end())) return false;
  if (combine.run == nullptr && static_cast<std::size_t>(group.size()) <= kFewMembers) return false;  // rounded once
  const std::size_t most = kScanBytes / combine.width;
  for (std::size_t first = 0; first < count; first += most)
    scan_slice(group, address(dest, first * combine.width), address(source, first * combine.width),
               std::min(most, count - first), combine, inclusive, call);
  return true;
}

}  // namespace shoal

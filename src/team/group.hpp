// SPDX-License-Identifier: Apache-2.0
// The members of a collective and how they meet, whether they are a team or an active set of the deprecated routines.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/callback.hpp"
#include "comm/context.hpp"

namespace shoal {

/// How the members of a group lie on nodes. Members that the group cannot treat as neighbours may count as nodes of
/// their own.
struct GroupNodes {
  std::vector<int> mine;     ///< members on this PE's node, in order; the first is its leader
  std::vector<int> leaders;  ///< of each node, in the order of their first members
  std::vector<int> node_of;  ///< by member: the place of its leader in `leaders`
  int here = 0;              ///< the place of this PE's
  bool span() const noexcept { return leaders.size() > 1; }
  /// Calls `run(member, members)` for each run of neighbours among members [first, end) that are all on the `count`
  /// nodes from, from - 1, ... (round the end).
  template <class Run>
  void for_runs(int first, int end, int from, int count, Run&& run) const {
    const auto nodes = static_cast<int>(leaders.size());
    const auto is_there = [&](int member) {
      return (from - node_of[static_cast<std::size_t>(member)] + nodes) % nodes < count;
    };
    for (int member = first; member < end; ++member) {
      if (!is_there(member)) continue;
      const int begin = member;
      while (member + 1 < end && is_there(member + 1)) ++member;
      run(begin, member + 1 - begin);
    }
  }
};

class Group {
 public:
  virtual ~Group() = default;
  virtual int size() const noexcept = 0;
  /// This PE's place, 0 to size() - 1.
  virtual int rank() const noexcept = 0;
  /// The world PE of a member.
  virtual int world_pe(int member) const noexcept = 0;
  /// Returns when all members have entered; what any stored before is visible to all after.
  virtual void sync(const char* call) noexcept = 0;
  /// The word that each member gives, in their order. All have entered when it returns.
  virtual std::vector<std::uint64_t> gather_words(std::uint64_t mine, const char* call) noexcept = 0;
  /// Mail: what a member writes before a sync and the others read after it, until they enter the next one. So a
  /// collective of few bytes needs one sync, where operands that others read in place need a second before they may
  /// change. Room for mail_bytes(); none where the members don't share memory.
  virtual std::size_t mail_bytes() const noexcept { return 0; }
  virtual std::byte* own_mail() noexcept { return nullptr; }
  virtual const std::byte* mail(int /*member*/) const noexcept { return nullptr; }
  virtual const GroupNodes& nodes() const noexcept = 0;
  // sync in its parts, for groups whose nodes() span: all members of a node tell its leader, and only that waits; the
  // leaders meet; the leader lets the others go. Each member calls the first and the last of them in turn.
  virtual void gather_node(const char* call) noexcept = 0;
  virtual void sync_leaders(const char* call) noexcept {
    gather_leaders(call, [](int, int) {});
  }
  /// The same, and `take(from, count)` is called now and then: the leader at place `from` has by now what the `count`
  /// nodes at from, from - 1, ... give, all of which is to be taken from it before `take` returns. In the end this PE
  /// has what all nodes give, after about log2(nodes) calls.
  virtual void gather_leaders(const char* call, const Callback<int, int>& take) noexcept = 0;
  virtual void release_node(const char* call) noexcept = 0;
  // Leaders in pairs, where pair_room() is not 0. `word` (below kPairWords) is one that always the same two use, in
  // both directions alike often; what is told of one of them next but one overwrites the data.
  static constexpr int kPairWords = 32;
  /// Bytes that can be told at once.
  virtual std::size_t pair_room() const noexcept { return 0; }
  virtual void tell(int /*leader*/, int /*word*/, std::span<const std::byte> /*data*/) noexcept {}
  /// What the other one has told, when it has.
  virtual const std::byte* hear(int /*word*/, const char* /*call*/) noexcept { return nullptr; }
  /// Broadcasts: a leader that has the data lets the next ones know, which wait for it. All leaders call begin_giving
  /// first, and all meet between two broadcasts.
  virtual void begin_giving() noexcept {}
  virtual void give(int /*leader*/) noexcept {}
  virtual void await_given(const char* /*call*/) noexcept {}
  bool leads() const noexcept { return nodes().mine[0] == rank(); }
  void sync_node(const char* call) noexcept {
    gather_node(call);
    release_node(call);
  }
  /// The world's context: addresses of members are found through it.
  virtual const Context& world() const noexcept = 0;
  /// The array on which an active set meets; null for a team.
  virtual const long* psync() const noexcept { return nullptr; }
  /// What tells a team from others of the same members, the same on all of them; -1 for an active set.
  virtual int slot() const noexcept { return -1; }
  /// "team of 4 PEs", for messages.
  virtual const char* kind() const noexcept = 0;

  /// Where a member's range is mapped here; null when it is on another node.
  char* at(const void* address, std::size_t bytes, int member, const char* call) const noexcept {
    return world().at(address, bytes, world_pe(member), call);
  }
};

}  // namespace shoal

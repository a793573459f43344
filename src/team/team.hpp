// SPDX-License-Identifier: Apache-2.0
// Team: an ordered set of PEs with sync words of its own. Splitting and destroying are collective over the parent and
// the team. OpenSHMEM 1.6.
//
// Thread safety: one thread of a PE at a time per team, as the specification has it.
#pragma once
#include <bitset>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "team/barrier.hpp"
#include "team/group.hpp"
#include "team/leader_pairs.hpp"

namespace shoal {

using SlotSet = std::bitset<kTeamSlots>;

/// Which of this PE's team slots are free. Shared by all its teams; thread safe.
class Slots final {
 public:
  Slots() { free_.set(); }
  SlotSet free() const {
    const std::lock_guard guard(mutex_);
    return free_;
  }
  /// @return false when it is taken
  bool take(std::size_t slot) {
    const std::lock_guard guard(mutex_);
    const bool was_free = free_.test(slot);
    free_.reset(slot);
    return was_free;
  }
  void give_back(std::size_t slot) {
    const std::lock_guard guard(mutex_);
    free_.set(slot);
  }

 private:
  mutable std::mutex mutex_;
  SlotSet free_;
};

/// What all teams of a job share.
struct TeamSpace {
  const Context* world = nullptr;
  const Segment* heap = nullptr;
  const BarrierAlgorithm* barrier = nullptr;
  std::size_t mail_bytes = Slot::kMailBytes;  ///< at most; how much is worth sending as mail
  std::uint64_t counter_start = 0;
  Slots slots;
  std::function<void(int slot)> on_new_team;  ///< called before a member of a new team can use it; may be empty
};

class Team final : public Group {
 public:
  /// Makes the team of `members` (world PEs, in order, this PE among them) on a slot that all of them have taken; it
  /// gives the slot back at its end. Not collective: the caller sees to it that nobody uses the slot before all have
  /// made theirs.
  Team(TeamSpace& space, std::vector<int> members, int slot, int num_contexts);
  ~Team() override;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const noexcept override { return static_cast<int>(members_.size()); }
  int rank() const noexcept override { return state_.rank; }
  int world_pe(int member) const noexcept override { return members_[static_cast<std::size_t>(member)]; }
  void sync(const char* call) noexcept override;
  std::vector<std::uint64_t> gather_words(std::uint64_t mine, const char* call) noexcept override;
  // By the epoch's last bit: who writes for the epoch after next has met all in the next, for which they had done
  // reading.
  std::size_t mail_bytes() const noexcept override { return nodes_.span() ? 0 : space_.mail_bytes; }
  std::byte* own_mail() noexcept override { return slot_of(rank())->mail[(state_.epoch + 1) % 2]; }
  const std::byte* mail(int member) const noexcept override { return slot_of(member)->mail[state_.epoch % 2]; }
  const GroupNodes& nodes() const noexcept override { return nodes_; }
  void gather_node(const char* call) noexcept override;
  void gather_leaders(const char* call, const Callback<int, int>& take) noexcept override;
  std::size_t pair_room() const noexcept override { return nodes_.span() ? pair_room_ : 0; }
  void tell(int leader, int word, std::span<const std::byte> data) noexcept override;
  const std::byte* hear(int word, const char* call) noexcept override;
  void begin_giving() noexcept override { ++giving_; }
  void give(int leader) noexcept override;
  void await_given(const char* call) noexcept override;
  void release_node(const char* call) noexcept override;
  const Context& world() const noexcept override { return *space_.world; }
  const char* kind() const noexcept override { return name_.c_str(); }

  /// Of its sync words: the same on all members.
  int slot() const noexcept override { return slot_; }
  int num_contexts() const noexcept { return num_contexts_; }
  /// A member's number here, or -1.
  int rank_of(int world_pe) const noexcept { return rank_of_[static_cast<std::size_t>(world_pe)]; }
  /// The world PE of each.
  const std::vector<int>& members() const noexcept { return members_; }
  /// How a context of this team numbers PEs.
  Context::Members context_members() const noexcept { return {size(), members_.data(), heap_peers_.data()}; }

  /// value = the values of all members (at most kCombined bytes, alike long), folded in their order within a node and
  /// over nodes; the same on all. Collective.
  static constexpr std::size_t kCombined = LeaderPairs::kLeastRoom;
  void combine(std::span<std::byte> value, const Fold& fold, const char* call) noexcept;
  /// What the node's leader says, at most Slot::kExchangeBytes; the others give room. Collective.
  void hear_leader(std::span<std::byte> text, const char* call) noexcept;
  /// Whether it is true on all. Collective.
  bool all_of(bool here, const char* call) noexcept;
  /// A member that says something else than `mine`, which has no padding, and what; none: all say the same. Collective.
  template <class Said>
  std::optional<std::pair<int, Said>> find_other(const Said& mine, const char* call) noexcept;

  /// The members start, start + stride, ... (numbers of this team) as a new team; null for those who aren't in it.
  /// Collective over this team; all members must pass the same numbers.
  /// @param ok  set to whether the team was made: false, on all, for an illegal triplet or when slots ran out
  std::unique_ptr<Team> split_strided(int start, int stride, int size, int num_contexts, const char* call, bool& ok);
  /// The same for several disjoint teams at once: `members` are those of this PE's own team, empty for none.
  std::unique_ptr<Team> split(std::vector<int> members, int num_contexts, const char* call, bool& ok);

 private:
  /// Agrees on a slot that all members of this team have free, and takes it if `takes`. False, on all, if there is
  /// none.
  bool agree_on_slot(bool takes, std::size_t& slot, const char* call);
  void show(std::span<const std::byte> mine) noexcept;
  static void describe_meeting(const WaitSite& site, const SegmentTable& segments, WaitText& text) noexcept;
  Slot* slot_of(int member) const noexcept { return words_[static_cast<std::size_t>(member)].slot; }
  Far far(int member, std::size_t offset_in_slot) const noexcept;
  std::vector<std::uint64_t> gather_words_over_nodes(std::uint64_t mine, const char* call) noexcept;
  WaitSite site(const char* call) const noexcept { return {call, describe_meeting, this}; }

  TeamSpace& space_;
  std::vector<int> members_;        // world PE of each member
  std::vector<int> rank_of_;        // by world PE
  std::vector<MemberWords> words_;  // of each member; nulls on other nodes
  GroupNodes nodes_;
  std::uint64_t far_epoch_;                             // of the leaders' last meeting; all leaders agree
  std::uint64_t giving_;                                // of the last broadcast over nodes
  std::uint64_t told_[kPairWords], heard_[kPairWords];  // of each word of leaders in pairs
  std::size_t pair_room_;
  std::vector<char*> heap_peers_;  // default heap of each member, as mapped here
  BarrierState state_;
  int slot_;
  int num_contexts_;
  std::string name_;
};

template <class Said>
std::optional<std::pair<int, Said>> Team::find_other(const Said& mine, const char* call) noexcept {
  struct Seen {
    Said first, other;
    std::int32_t first_pe, other_pe;  // -1: all say the same
  } seen{mine, {}, world_pe(rank()), -1};
  const auto differ = [](const Said& a, const Said& b) { return std::memcmp(&a, &b, sizeof a) != 0; };
  combine(
      std::as_writable_bytes(std::span(&seen, 1)),
      [&](void* into, const void* left, const void* right) {
        Seen all, more;
        std::memcpy(&all, left, sizeof all);
        std::memcpy(&more, right, sizeof more);
        if (all.other_pe < 0 && differ(all.first, more.first))
          all.other = more.first, all.other_pe = more.first_pe;
        else if (all.other_pe < 0)
          all.other = more.other, all.other_pe = more.other_pe;
        std::memcpy(into, &all, sizeof all);
      },
      call);
  static_assert(sizeof(Seen) <= kCombined);
  if (differ(seen.first, mine)) return std::pair(seen.first_pe, seen.first);
  if (seen.other_pe >= 0) return std::pair(seen.other_pe, seen.other);
  return std::nullopt;
}

/// Whether start, stride, size name distinct members of a team of `n` with no wrap-around; stride may be negative, and
/// zero when size is 1. OpenSHMEM 1.6, "Team Management Routines".
bool valid_triplet(int start, int stride, int size, int n) noexcept;

}  // namespace shoal

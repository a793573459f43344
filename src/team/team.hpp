// SPDX-License-Identifier: Apache-2.0
// Team: an ordered set of PEs with sync words of its own. Splitting and destroying are collective over the parent and the
// team. OpenSHMEM 1.6.
//
// Thread safety: one thread of a PE at a time per team, as the specification has it.
#pragma once
#include <bitset>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "team/barrier.hpp"
#include "team/group.hpp"

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
  std::uint64_t counter_start = 0;
  Slots slots;
};

class Team final : public Group {
 public:
  /// Makes the team of `members` (world PEs, in order, this PE among them) on a slot that all of them have taken; it gives
  /// the slot back at its end. Not collective: the caller sees to it that nobody uses the slot before all have made theirs.
  Team(TeamSpace& space, std::vector<int> members, int slot, int num_contexts);
  ~Team() override;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const noexcept override { return static_cast<int>(members_.size()); }
  int rank() const noexcept override { return state_.rank; }
  int world_pe(int member) const noexcept override { return members_[static_cast<std::size_t>(member)]; }
  void sync(const char* call) noexcept override;
  std::atomic<std::uint64_t>& shown(int member) const noexcept override;
  const Context& world() const noexcept override { return *space_.world; }
  const char* kind() const noexcept override { return name_.c_str(); }

  int num_contexts() const noexcept { return num_contexts_; }
  /// A member's number here, or -1.
  int rank_of(int world_pe) const noexcept { return rank_of_[static_cast<std::size_t>(world_pe)]; }
  /// How a context of this team numbers PEs.
  Context::Members context_members() const noexcept {
    return {size(), members_.data(), heap_peers_.data()};
  }

  /// Every member shows `mine` (at most Slot::kExchangeBytes, the same length everywhere); `see(member, bytes)` is called
  /// for each in order. Collective.
  template <class See>
  void exchange(std::span<const std::byte> mine, const char* call, See&& see) {
    show(mine);
    sync(call);
    for (int i = 0; i < size(); ++i) see(i, std::span<const std::byte>(words_[static_cast<std::size_t>(i)].slot->exchange, mine.size()));
    sync(call);
  }

  /// The members start, start + stride, ... (numbers of this team) as a new team; null for those who aren't in it.
  /// Collective over this team; all members must pass the same numbers.
  /// @param ok  set to whether the team was made: false, on all, for an illegal triplet or when slots ran out
  std::unique_ptr<Team> split_strided(int start, int stride, int size, int num_contexts, const char* call, bool& ok);
  /// The same for several disjoint teams at once: `members` are those of this PE's own team, empty for none.
  std::unique_ptr<Team> split(std::vector<int> members, int num_contexts, const char* call, bool& ok);

 private:
  /// Agrees on a slot that all members of this team have free, and takes it if `takes`. False, on all, if there is none.
  bool agree_on_slot(bool takes, std::size_t& slot, const char* call);
  void show(std::span<const std::byte> mine) noexcept;

  TeamSpace& space_;
  std::vector<int> members_;        // world PE of each member
  std::vector<int> rank_of_;        // by world PE
  std::vector<MemberWords> words_;  // of each member
  std::vector<char*> heap_peers_;   // default heap of each member, as mapped here
  BarrierState state_;
  int slot_;
  int num_contexts_;
  std::string name_;
};

/// Whether start, stride, size name distinct members of a team of `n` with no wrap-around; stride may be negative, and zero
/// when size is 1. OpenSHMEM 1.6, "Team Management Routines".
bool valid_triplet(int start, int stride, int size, int n) noexcept;

}  // namespace shoal

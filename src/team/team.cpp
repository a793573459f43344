// SPDX-License-Identifier: Apache-2.0
#include "team/team.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace shoal {

bool valid_triplet(int start, int stride, int size, int n) noexcept {
  if (size < 1 || size > n || start < 0 || start >= n) return false;
  if (size == 1) return true;
  if (stride == 0) return false;
  const long long last = start + static_cast<long long>(size - 1) * stride;
  return last >= 0 && last < n;
}

Team::Team(TeamSpace& space, std::vector<int> members, int slot, int num_contexts)
    : space_(space), members_(std::move(members)), slot_(slot), num_contexts_(num_contexts) {
  const Domain& domain = space.world->domain();
  rank_of_.assign(static_cast<std::size_t>(domain.n_pes), -1);
  for (int pe : members_) {
    rank_of_[static_cast<std::size_t>(pe)] = static_cast<int>(words_.size());
    const Control& control = domain.controls[static_cast<std::size_t>(pe)];
    words_.push_back({reinterpret_cast<Slot*>(control.slot(slot)), &control.doorbell()});
    heap_peers_.push_back(space.heap->peers[static_cast<std::size_t>(pe)]);
  }
  const int me = rank_of(domain.me);
  state_ = {words_, me, domain.waiter, space.counter_start, space.counter_start};
  name_ = strf("team of %d PEs", size());

  Slot& own = *words_[static_cast<std::size_t>(me)].slot;
  for (SyncLine& line : own.round) line.value.store(space.counter_start, std::memory_order_relaxed);
  own.arrived.value.store(space.counter_start, std::memory_order_relaxed);
  own.release.value.store(space.counter_start, std::memory_order_relaxed);
}

Team::~Team() { space_.slots.give_back(static_cast<std::size_t>(slot_)); }

void Team::sync(const char* call) noexcept {
  if (members_.size() == 1) {
    full_fence();
    return;
  }
  space_.barrier->run(state_, {call, "PE %llu of a team of %llu, meeting %llu", static_cast<unsigned long long>(state_.rank),
                               members_.size(), state_.epoch - space_.counter_start + 1});
}

std::atomic<std::uint64_t>& Team::shown(int member) const noexcept {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(words_[static_cast<std::size_t>(member)].slot->exchange);
}

void Team::show(std::span<const std::byte> mine) noexcept {
  std::memcpy(words_[static_cast<std::size_t>(state_.rank)].slot->exchange, mine.data(), mine.size());
}

std::unique_ptr<Team> Team::split_strided(int start, int stride, int size, int num_contexts, const char* call, bool& ok) {
  ok = valid_triplet(start, stride, size, this->size());
  if (!ok) return nullptr;  // the same on all members: nobody waits
  std::vector<int> members;
  bool mine = false;
  for (int i = 0; i < size; ++i) {
    const int member = start + i * stride;
    members.push_back(world_pe(member));
    mine |= member == rank();
  }
  if (!mine) members.clear();
  return split(std::move(members), num_contexts, call, ok);
}

bool Team::agree_on_slot(bool takes, std::size_t& slot, const char* call) {
  // Every member shows which slots it has free; the first that all have free, from a start of this team's own, is the one.
  // Another thread of a member may take it meanwhile, for a split of another team: then all of these try again elsewhere.
  constexpr std::size_t kStep = 61;  // prime to kTeamSlots: the starts of two teams part after a collision
  for (std::size_t attempt = 0; attempt < 2 * kTeamSlots; ++attempt) {
    const SlotSet own = space_.slots.free();
    SlotSet common = own;
    exchange(std::as_bytes(std::span(&own, 1)), call, [&](int, std::span<const std::byte> bytes) {
      SlotSet theirs;
      std::memcpy(&theirs, bytes.data(), sizeof theirs);
      common &= theirs;
    });
    if (common.none()) return false;
    slot = static_cast<std::size_t>(slot_) * attempt * kStep % kTeamSlots;
    while (!common.test(slot)) slot = (slot + 1) % kTeamSlots;

    const bool took = takes && space_.slots.take(slot);
    const std::uint8_t good = took || !takes;
    bool all = true;
    exchange(std::as_bytes(std::span(&good, 1)), call, [&](int, std::span<const std::byte> shown) { all &= shown[0] != std::byte{0}; });
    if (all) return true;
    if (took) space_.slots.give_back(slot);
  }
  return false;
}

std::unique_ptr<Team> Team::split(std::vector<int> members, int num_contexts, const char* call, bool& ok) {
  // Only the new team's members take the slot, so disjoint teams of one split share its number.
  std::size_t slot = 0;
  ok = agree_on_slot(!members.empty(), slot, call);
  if (!ok) return nullptr;
  std::unique_ptr<Team> team;
  if (!members.empty()) team = std::make_unique<Team>(space_, std::move(members), static_cast<int>(slot), num_contexts);
  sync(call);  // all members' slots are ready
  return team;
}

}  // namespace shoal

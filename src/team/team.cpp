// SPDX-License-Identifier: Apache-2.0
#include "team/team.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

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
    words_.push_back(control.here() ? MemberWords{reinterpret_cast<Slot*>(control.slot(slot)), &control.doorbell()}
                                    : MemberWords{});
    heap_peers_.push_back(space.heap->peers[static_cast<std::size_t>(pe)]);
  }
  const int me = rank_of(domain.me);
  std::map<int, int> places;  // in leaders, by the number of a node
  for (int member = 0; member < size(); ++member) {
    const int node = domain.node_of[static_cast<std::size_t>(world_pe(member))];
    const auto [place, first] = places.try_emplace(node, static_cast<int>(nodes_.leaders.size()));
    if (first) nodes_.leaders.push_back(member);
    nodes_.node_of.push_back(place->second);
    if (node == domain.node_of[static_cast<std::size_t>(domain.me)]) nodes_.mine.push_back(member);
  }
  nodes_.here = nodes_.node_of[static_cast<std::size_t>(me)];
  far_epoch_ = giving_ = space.counter_start;
  std::fill(std::begin(told_), std::end(told_), space.counter_start);
  std::fill(std::begin(heard_), std::end(heard_), space.counter_start);
  pair_room_ = LeaderPairs(static_cast<int>(nodes_.leaders.size()), nodes_.here).room();
  state_ = {words_, me, domain.waiter, space.counter_start, space.counter_start};
  name_ = strf("team of %d PEs", size());

  Slot& own = *slot_of(me);
  for (SyncLine& line : own.round) line.value.store(space.counter_start, std::memory_order_relaxed);
  for (auto& round : own.far_round) round.store(space.counter_start, std::memory_order_relaxed);
  for (auto& told : own.far_pair) told.store(space.counter_start, std::memory_order_relaxed);
  own.far_given.store(space.counter_start, std::memory_order_relaxed);
  own.arrived.value.store(space.counter_start, std::memory_order_relaxed);
  own.release.value.store(space.counter_start, std::memory_order_relaxed);
  if (space.on_new_team) space.on_new_team(slot);
}

Team::~Team() { space_.slots.give_back(static_cast<std::size_t>(slot_)); }

void Team::sync(const char* call) noexcept {
  if (members_.size() == 1) {
    ++state_.epoch;
    full_fence();
    return;
  }
  if (!nodes_.span()) return space_.barrier->run(state_, site(call));
  gather_node(call);
  if (leads()) sync_leaders(call);
  release_node(call);
}

void Team::describe_meeting(const WaitSite& site, const SegmentTable&, WaitText& text) noexcept {
  const Team& team = *static_cast<const Team*>(site.object);
  text.wait.kind = WaitKind::meeting;
  text.wait.group = static_cast<std::uint64_t>(team.slot_);
  text.wait.meeting = team.state_.epoch - team.space_.counter_start;
  for (const int pe : team.members_) text.members.add(pe);
  std::snprintf(text.detail, sizeof text.detail, "PE %d of a %s, meeting %llu", team.rank(), team.name_.c_str(),
                static_cast<unsigned long long>(text.wait.meeting));
}

std::vector<std::uint64_t> Team::gather_words(std::uint64_t mine, const char* call) noexcept {
  if (nodes_.span()) return gather_words_over_nodes(mine, call);
  std::vector<std::uint64_t> words(members_.size());
  std::memcpy(own_mail(), &mine, sizeof mine);
  sync(call);
  for (int member = 0; member < size(); ++member)
    std::memcpy(&words[static_cast<std::size_t>(member)], mail(member), sizeof mine);
  return words;
}

void Team::hear_leader(std::span<std::byte> text, const char* call) noexcept {
  if (leads()) show(text);
  sync(call);
  std::memcpy(text.data(), slot_of(nodes_.mine[0])->exchange, text.size());
  sync(call);
}

void Team::show(std::span<const std::byte> mine) noexcept {
  std::memcpy(slot_of(rank())->exchange, mine.data(), mine.size());
}

std::unique_ptr<Team> Team::split_strided(int start, int stride, int size, int num_contexts, const char* call,
                                          bool& ok) {
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
  // Every member of the new team shows which slots it has free; the first that all have free, from a start of this
  // team's own, is the one. Another thread of a member may take it meanwhile, for a split of another team: then all of
  // these try again elsewhere.
  constexpr std::size_t kStep = 61;  // prime to kTeamSlots: the starts of two teams part after a collision
  for (std::size_t attempt = 0; attempt < 2 * kTeamSlots; ++attempt) {
    SlotSet common = takes ? space_.slots.free() : SlotSet().set();
    combine(
        std::as_writable_bytes(std::span(&common, 1)),
        [](void* into, const void* left, const void* right) {
          SlotSet a, b;
          std::memcpy(&a, left, sizeof a);
          std::memcpy(&b, right, sizeof b);
          a &= b;
          std::memcpy(into, &a, sizeof a);
        },
        call);
    if (common.none()) return false;
    slot = static_cast<std::size_t>(slot_) * attempt * kStep % kTeamSlots;
    while (!common.test(slot)) slot = (slot + 1) % kTeamSlots;

    const bool took = takes && space_.slots.take(slot);
    const bool all = all_of(took || !takes, call);
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

// SPDX-License-Identifier: Apache-2.0
// How a team whose members are on several nodes meets: one leader a node, direct access inside a node, the transport
// between leaders.
#include <algorithm>

#include "base/fence.hpp"
#include "team/team.hpp"

namespace shoal {

Far Team::far(int member, std::size_t offset_in_slot) const noexcept {
  const Domain& domain = world().domain();
  return {world_pe(member), kControlKey, ControlLayout(domain.n_pes).slot(slot_) + offset_in_slot};
}

void Team::gather_node(const char* call) noexcept {
  ++state_.epoch;
  const std::uint64_t others = nodes_.mine.size() - 1;
  Slot& leader = *slot_of(nodes_.mine[0]);
  if (!leads()) {
    leader.arrived.value.fetch_add(1, std::memory_order_seq_cst);  // releases what this PE stored before
    full_fence();
    ring(*words_[static_cast<std::size_t>(nodes_.mine[0])].doorbell, Bell::sync);
    return;
  }
  state_.arrivals += others;
  full_fence();
  if (others == 0) return;
  state_.waiter->wait(Bell::sync, site(call),
                      [&] { return reached(leader.arrived.value.load(std::memory_order_acquire), state_.arrivals); });
}

/// Dissemination: in round k each tells the leader 2^k places on, and hears from the one 2^k places before. That one
/// has what 2^k nodes give by then.
void Team::gather_leaders(const char* call, const Callback<int, int>& take) noexcept {
  const Domain& domain = world().domain();
  const std::uint64_t epoch = ++far_epoch_;
  const auto count = static_cast<int>(nodes_.leaders.size());
  Slot& own = *slot_of(rank());
  for (int round = 0, distance = 1; distance < count; ++round, distance *= 2) {
    const int to = nodes_.leaders[static_cast<std::size_t>((nodes_.here + distance) % count)];
    domain.transport->raise(
        far(to, offsetof(Slot, far_round) + static_cast<std::size_t>(round) * sizeof(own.far_round[0])), epoch);
    state_.waiter->wait(Bell::sync, site(call),
                        [&] { return reached(own.far_round[round].load(std::memory_order_acquire), epoch); });
    take((nodes_.here - distance + count) % count, std::min(distance, count - distance));
  }
}

void Team::tell(int leader, int word, std::span<const std::byte> data) noexcept {
  const auto index = static_cast<std::size_t>(word);
  const std::uint64_t count = ++told_[index];
  const int member = nodes_.leaders[static_cast<std::size_t>(leader)];
  Transport& transport = *world().domain().transport;
  if (!data.empty()) {
    const std::size_t place = count % 2 * Slot::kMailBytes + index * pair_room_;
    transport.put(far(member, offsetof(Slot, mail) + place), data.data(), data.size());
  }
  transport.raise(far(member, offsetof(Slot, far_pair) + index * sizeof(std::uint64_t)), count);
}

const std::byte* Team::hear(int word, const char* call) noexcept {
  const auto index = static_cast<std::size_t>(word);
  const std::uint64_t count = ++heard_[index];
  Slot& own = *slot_of(rank());
  state_.waiter->wait(Bell::sync, site(call),
                      [&] { return reached(own.far_pair[index].load(std::memory_order_acquire), count); });
  return own.mail[count % 2] + index * pair_room_;
}

void Team::give(int leader) noexcept {
  world().domain().transport->raise(far(nodes_.leaders[static_cast<std::size_t>(leader)], offsetof(Slot, far_given)),
                                    giving_);
}

void Team::await_given(const char* call) noexcept {
  const Slot& own = *slot_of(rank());
  state_.waiter->wait(Bell::sync, site(call),
                      [&] { return reached(own.far_given.load(std::memory_order_acquire), giving_); });
}

/// By way of the leaders' mail, as many members at a time as have room there.
std::vector<std::uint64_t> Team::gather_words_over_nodes(std::uint64_t mine, const char* call) noexcept {
  constexpr int kAtOnce = sizeof(Slot::mail) / sizeof(std::uint64_t);
  std::vector<std::uint64_t> words(members_.size());
  auto* const table = reinterpret_cast<std::uint64_t*>(slot_of(nodes_.mine[0])->mail[0]);
  show(std::as_bytes(std::span(&mine, 1)));
  for (int first = 0; first < size(); first += kAtOnce) {
    const int end = std::min(size(), first + kAtOnce);
    gather_node(call);
    if (leads()) {
      for (const int member : nodes_.mine)
        if (member >= first && member < end)
          std::memcpy(table + (member - first), slot_of(member)->exchange, sizeof mine);
      gather_leaders(call, [&](int from, int count) {
        Tally tally;
        const auto fetch = [&](int member, int members) {
          const std::size_t at = static_cast<std::size_t>(member - first) * sizeof mine;
          world().domain().transport->get(
              far(nodes_.leaders[static_cast<std::size_t>(from)], offsetof(Slot, mail) + at), table + (member - first),
              static_cast<std::size_t>(members) * sizeof mine, tally, true);
        };
        nodes_.for_runs(first, end, from, count, fetch);
        state_.waiter->wait(Bell::sync, site(call), [&tally] { return tally.done(); });
      });
    }
    release_node(call);
    std::copy_n(table, end - first, words.begin() + first);
    sync(call);  // before a table that somebody still reads changes
  }
  return words;
}

void Team::combine(std::span<std::byte> value, const Fold& fold, const char* call) noexcept {
  const std::size_t bytes = value.size();
  if (!nodes_.span()) {
    std::memcpy(own_mail(), value.data(), bytes);
    sync(call);
    std::memcpy(value.data(), mail(0), bytes);
    for (int member = 1; member < size(); ++member) fold(value.data(), value.data(), mail(member));
    return;
  }
  show(value);
  gather_node(call);
  if (leads()) {
    for (const int member : nodes_.mine)
      if (member != rank()) fold(value.data(), value.data(), slot_of(member)->exchange);
    combine_over_leaders(*this, value, fold, call);
    show(value);
  }
  release_node(call);
  std::memcpy(value.data(), slot_of(nodes_.mine[0])->exchange, bytes);
  sync_node(call);  // before the leader shows something else
}

bool Team::all_of(bool here, const char* call) noexcept {
  auto all = static_cast<std::byte>(here);
  combine(
      std::span(&all, 1),
      [](void* into, const void* left, const void* right) {
        *static_cast<std::byte*>(into) = *static_cast<const std::byte*>(left) & *static_cast<const std::byte*>(right);
      },
      call);
  return all != std::byte{0};
}

void Team::release_node(const char* call) noexcept {
  const std::uint64_t epoch = state_.epoch;
  if (!leads()) {
    const Slot& own = *slot_of(rank());
    state_.waiter->wait(Bell::sync, site(call),
                        [&] { return reached(own.release.value.load(std::memory_order_acquire), epoch); });
    return;
  }
  for (const int member : nodes_.mine) {
    if (member == state_.rank) continue;
    const MemberWords& words = words_[static_cast<std::size_t>(member)];
    words.slot->release.value.exchange(epoch, std::memory_order_seq_cst);
    full_fence();
    ring(*words.doorbell, Bell::sync);
  }
}

}  // namespace shoal

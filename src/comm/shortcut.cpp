// SPDX-License-Identifier: Apache-2.0
#include "comm/shortcut.hpp"

namespace shoal {

thread_local constinit Shortcuts::Mine Shortcuts::mine_ __attribute__((tls_model("initial-exec")));

void CallCount::add(Timing timing, std::size_t moved, std::uint64_t ticks) noexcept {
  bytes += moved;
  if (timing == Timing::for_itself) {
    ++others;
    others_ticks += ticks;
    return;
  }
  ++small;
  if (timing == Timing::none) return;
  ++timed;
  timed_ticks += ticks;
  next_timed += CallCounts::kSampled;
}

double CallCount::ticks() const noexcept {
  const double scale = timed == 0 ? 0 : static_cast<double>(small) / static_cast<double>(timed);
  return static_cast<double>(others_ticks) + static_cast<double>(timed_ticks) * scale;
}

CallCount& CallCounts::add_row(const char* name) {
  if (8 * ++used > rows.size()) {
    std::vector<CallCount> before(2 * rows.size());
    before.swap(rows);
    --shift;
    for (const CallCount& one : before)
      if (one.name != nullptr) row(one.name) = one;
  }
  CallCount& added = row(name);
  added.name = name;
  return added;
}

void Shortcut::remember(const Call& call) noexcept {
  if (call.bytes == 0 || closed_) return;
  const std::uint64_t version = segments_.version();  // before the look: a change meanwhile makes what is found old
  if (version != version_) {
    remote_.sets = local_.sets = {};
    remembered_ = version_ = version;
  }
  const std::size_t bytes = call.block != 0 ? call.block : call.bytes;  // a strided call's first block leads to all
  if (call.remote != nullptr) remember_in(remote_, call.remote, bytes);
  if (watching_.checks && call.local != nullptr) remember_in(local_, call.local, bytes);
}

const Shortcut::Good* Shortcut::search(Table& table, std::uintptr_t where, std::size_t bytes) noexcept {
  for (const Good& good : table.set_of(where))
    if (good.covers(where, bytes)) return table.last = &good;
  return nullptr;
}

void Shortcut::remember_in(Table& table, const void* pointer, std::size_t bytes) noexcept {
  if (find(table, pointer, bytes) != nullptr) return;
  const SegmentTable::Range around = segments_.around(address(pointer));
  auto& set = table.set_of(address(pointer));
  set[1] = set[0];
  const Segment* const segment = around.segment;
  set[0] = {around.begin, around.bytes, segment == nullptr ? 0 : segment->base,
            segment == nullptr ? nullptr : segment->peers.data()};
  if (&table == &remote_ && segment == nullptr) set[0].bytes = 0;
}

Shortcuts::Shortcuts(const SegmentTable& segments, int me, Watching watching)
    : segments_(segments), me_(me), watching_(watching), id_(SegmentTable::unique()) {}

Shortcut& Shortcuts::here() noexcept {
  if (Shortcut* const found = find()) return *found;
  const std::lock_guard guard(mutex_);
  shortcuts_.push_back(std::make_unique<Shortcut>(segments_, me_, watching_));
  mine_ = {id_, shortcuts_.back().get()};
  return *shortcuts_.back();
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "comm/shortcut.hpp"

namespace shoal {

thread_local constinit Shortcuts::Mine Shortcuts::mine_ __attribute__((tls_model("initial-exec")));

void Shortcut::remember(const Call& call) noexcept {
  if (call.bytes == 0) return;
  const std::uint64_t version = segments_.version();  // before the look: a change meanwhile makes what is found old
  if (version != version_) {
    remote_.sets = local_.sets = {};
    version_ = version;
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

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Collectives inside kernels. All cores of a group, on all PEs of a team, call with the same arguments; the group has as many cores
/// on each PE. They begin and end with a barrier of the team: what was written before by any core is taken into account, and on
/// return sources may be reused and destinations read by any core of the group.
///
/// `source` is symmetric. `dest` may be any memory of this PE. That of all-reduce is either symmetric and alike on all PEs, which is
/// faster, or no symmetric memory on any.
#pragma once

#include "group.hpp"
#include "numbers.hpp"

namespace shoal::device {
namespace detail {

inline constexpr std::size_t kChunkBytes = 8192;  // of an accumulator: with one source it stays in the first-level cache

/// `n` elements of `pe`'s `source`: where they are mapped, else a copy in `staging`.
template <class T>
SHOAL_DEVICE_FN const T* elements_of(const Core& core, const char* call, const T* source, std::size_t n, int pe, T* staging) noexcept {
  const char* there = prim::reach(core.handle(), source, n * sizeof(T), pe, call, "source");
  if (there != nullptr) return reinterpret_cast<const T*>(there);
  core.move_bytes<Direction::get>(call, staging, source, n * sizeof(T), pe, Engine::automatic, true, nullptr);
  return staging;
}

/// The elements [part.begin, part.end) of all members' sources, combined in the order of members; `take(begin, values, n)` gets
/// them in pieces, which lie in scratch.
template <class T, class Op, class Take>
SHOAL_DEVICE_FN void combine_members(const Core& core, const char* call, const TeamView& team, const T* source, Slice part, Op op,
                                     Take&& take) noexcept {
  using A = Accumulator<T>;
  using Wide = typename A::type;
  if (part.size() == 0) return;
  const std::size_t mark = core.scratch_mark();
  constexpr std::size_t kBytesEach = sizeof(Wide) + 2 * sizeof(T);
  std::size_t chunk = kChunkBytes / sizeof(Wide);
  if (core.scratch_left() < chunk * kBytesEach + 192) chunk = core.scratch_left() / 2 / kBytesEach;
  if (chunk == 0) chunk = 1;  // the next line then says how much scratch there is
  Wide* sum = core.scratch<Wide>(chunk);
  T* staging = core.scratch<T>(chunk);
  T* result = core.scratch<T>(chunk);
  for (std::size_t begin = part.begin; begin < part.end; begin += chunk) {
    const std::size_t n = part.end - begin < chunk ? part.end - begin : chunk;
    for (int member = 0; member < team.size; ++member) {
      const T* from = elements_of(core, call, source + begin, n, team.world[member], staging);
      if (member == 0)
        core.for_each(n, [&](std::size_t i) { sum[i] = A::widen(from[i]); });
      else
        core.for_each(n, [&](std::size_t i) { sum[i] = op(sum[i], A::widen(from[i])); });
    }
    core.for_each(n, [&](std::size_t i) { result[i] = A::narrow(sum[i]); });
    take(begin, result, n);
  }
  core.release_scratch(mark);
}

/// Member `member`'s block of `n` elements, cut in as many as there are members.
SHOAL_DEVICE_FN Slice block_of(std::size_t n, int members, int member) noexcept {
  const std::size_t each = (n + static_cast<std::size_t>(members) - 1) / static_cast<std::size_t>(members);
  const std::size_t begin = each * static_cast<std::size_t>(member);
  return {begin < n ? begin : n, begin + each < n ? begin + each : n};
}

/// Each member shows the next one where its `dest` is: by that every member must choose the same way. One core of a group calls
/// `show` before the members meet, and `compare` after. A next one on another node is told, just before the flag that it waits for
/// in the meeting: that costs a message, and no time of waiting.
SHOAL_DEVICE_FN std::uint64_t* shown_at(const Group& group, const TeamView& team, int pe, std::size_t word) noexcept {
  char* const words = prim::sync_words(group.core().handle(), pe);
  if (words == nullptr) return nullptr;
  return reinterpret_cast<std::uint64_t*>(words + SyncLayout::core(group.core().n_pes(), team.slot, group.first()) + word);
}
SHOAL_DEVICE_FN void show(const Group& group, const TeamView& team, std::uint64_t place) noexcept {
  const prim::Handle h = group.core().handle();
  if (prim::lane(h) != 0) return;
  prim::store(h, shown_at(group, team, prim::me(h), SyncLayout::kShown), place);
  const int next = team.world[(team.rank + 1) % team.size];
  if (prim::sync_words(h, next) == nullptr) prim::raise_far(h, shown_at(group, team, prim::me(h), SyncLayout::kShownHere), place, next);
}
SHOAL_DEVICE_FN void compare(const Group& group, const TeamView& team, std::uint64_t place, const char* call, const void* dest) noexcept {
  const prim::Handle h = group.core().handle();
  const int next = team.world[(team.rank + 1) % team.size], before = team.world[(team.rank + team.size - 1) % team.size];
  const std::uint64_t* shown = shown_at(group, team, next, SyncLayout::kShown);
  if (shown != nullptr && prim::load(h, shown) != place) prim::fail(h, call, "dest", Fault::unlike, dest, 0, next);
  shown = shown_at(group, team, prim::me(h), SyncLayout::kShownHere);
  if (prim::sync_words(h, before) == nullptr && prim::load(h, shown) != place) prim::fail(h, call, "dest", Fault::unlike, dest, 0, before);
}

}  // namespace detail

/// dest[i] on all = op over the members of source[i], the same bits on all. `dest` may be `source`. Symmetric and alike on all members,
/// or no symmetric memory on any.
template <class T, class Op>
SHOAL_DEVICE_FN void all_reduce(const Group& group, const TeamView& team, T* dest, const T* source, std::size_t n, Op op) noexcept {
  constexpr const char* call = "all_reduce";
  const Core& core = group.core();
  const bool shows = group.rank() == 0 && n != 0;
  const std::uint64_t place = shows ? prim::place(core.handle(), dest, detail::bytes_of(n, sizeof(T))) : 0;
  if (shows) detail::show(group, team, place);
  group.complete(team, call);
  if (shows) detail::compare(group, team, place, call, dest);
  if (prim::symmetric(core.handle(), dest, detail::bytes_of(n, sizeof(T)))) {
    // Each member combines its block and writes it to everyone; nobody else touches that block anywhere.
    const Slice block = detail::block_of(n, team.size, team.rank);
    Slice part = group.part(block.size(), sizeof(T));
    part = {block.begin + part.begin, block.begin + part.end};
    detail::combine_members(core, call, team, source, part, op, [&](std::size_t begin, const T* values, std::size_t count) {
      for (int k = 0; k < team.size; ++k) {
        const int member = (team.rank + k) % team.size;
        core.move_bytes<Direction::put>(call, dest + begin, values, count * sizeof(T), team.world[member], Engine::automatic, true, nullptr);
      }
    });
  } else {
    detail::combine_members(core, call, team, source, group.part(n, sizeof(T)), op, [&](std::size_t begin, const T* values, std::size_t count) {
      prim::copy(core.handle(), dest + begin, values, count * sizeof(T));
    });
  }
  group.complete(team, call);
}

/// dest[i] on member r = op over the members of source[r * n + i], 0 <= i < n. `dest` and `source` don't overlap.
template <class T, class Op>
SHOAL_DEVICE_FN void reduce_scatter(const Group& group, const TeamView& team, T* dest, const T* source, std::size_t n, Op op) noexcept {
  constexpr const char* call = "reduce_scatter";
  const Core& core = group.core();
  group.complete(team, call);
  const T* mine = source + static_cast<std::size_t>(team.rank) * n;
  detail::combine_members(core, call, team, mine, group.part(n, sizeof(T)), op, [&](std::size_t begin, const T* values, std::size_t count) {
    prim::copy(core.handle(), dest + begin, values, count * sizeof(T));
  });
  group.sync_named(team, call);
}

/// dest[r * n + i] on all = source[i] of member r, 0 <= i < n. `dest` and `source` don't overlap.
template <class T>
SHOAL_DEVICE_FN void all_gather(const Group& group, const TeamView& team, T* dest, const T* source, std::size_t n) noexcept {
  group.complete(team, "all_gather");
  const Slice part = group.part(n, sizeof(T));
  for (int k = 0; k < team.size; ++k) {
    const int member = (team.rank + k) % team.size;
    group.core().move_bytes<Direction::get>("all_gather", dest + static_cast<std::size_t>(member) * n + part.begin, source + part.begin,
                           detail::bytes_of(part.size(), sizeof(T)), team.world[member], Engine::automatic, true, nullptr);
  }
  group.sync_named(team, "all_gather");
}

/// dest[i] on all = source[i] of member `root`. `dest` may be `source`.
template <class T>
SHOAL_DEVICE_FN void broadcast(const Group& group, const TeamView& team, T* dest, const T* source, std::size_t n, int root) noexcept {
  group.complete(team, "broadcast");
  const Slice part = group.part(n, sizeof(T));
  if (team.rank != root || dest != source)
    group.core().move_bytes<Direction::get>("broadcast", dest + part.begin, source + part.begin, detail::bytes_of(part.size(), sizeof(T)), group.core().pe(team, root),
                           Engine::automatic, true, nullptr);
  group.sync_named(team, "broadcast");
}

/// dest[s * n + i] on member r = source[r * n + i] of member s, 0 <= i < n. `dest` and `source` don't overlap.
template <class T>
SHOAL_DEVICE_FN void all_to_all(const Group& group, const TeamView& team, T* dest, const T* source, std::size_t n) noexcept {
  group.complete(team, "all_to_all");
  const Slice part = group.part(n, sizeof(T));
  const std::size_t mine = static_cast<std::size_t>(team.rank) * n;
  for (int k = 0; k < team.size; ++k) {
    const int member = (team.rank + k) % team.size;
    group.core().move_bytes<Direction::get>("all_to_all", dest + static_cast<std::size_t>(member) * n + part.begin, source + mine + part.begin,
                           detail::bytes_of(part.size(), sizeof(T)), team.world[member], Engine::automatic, true, nullptr);
  }
  group.sync_named(team, "all_to_all");
}

}  // namespace shoal::device

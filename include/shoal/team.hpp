// SPDX-License-Identifier: Apache-2.0
/// \file
/// Teams, with the collectives as members. OpenSHMEM 1.6, sections "Team Management" and "Collective Routines".
#pragma once

#include <cstring>
#include <optional>
#include <utility>

#include "context.hpp"
#include "detail/owner.hpp"
#include "detail/scratch.hpp"
#include "error.hpp"
#include "reductions.hpp"
#include "types.hpp"

namespace shoal::inline v1 {

class Team;
struct Grid;

/// A team that somebody else owns. A value; where the calling PE is no member it is empty, tests false and may be used
/// for nothing else.
///
/// Collectives are called by all members, in the same order, with equal counts unless said otherwise. Arrays given to
/// them are symmetric, as an Array is, don't overlap unless said otherwise, and may be reused on return. Sizes that
/// don't fit throw std::invalid_argument. The forms that take and return single values go through memory of the Job:
/// one thread of a PE at a time.
class TeamRef {
 public:
  TeamRef() noexcept = default;
  explicit TeamRef(shmem_team_t handle) noexcept : handle_(handle) {}
  /// All PEs; the PEs whose memory this one can map.
  [[nodiscard]] static TeamRef world() noexcept { return TeamRef(SHMEM_TEAM_WORLD); }
  [[nodiscard]] static TeamRef shared() noexcept { return TeamRef(SHMEM_TEAM_SHARED); }

  [[nodiscard]] shmem_team_t handle() const noexcept { return handle_; }
  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != SHMEM_TEAM_INVALID; }
  [[nodiscard]] friend bool operator==(TeamRef a, TeamRef b) noexcept { return a.handle_ == b.handle_; }

  /// This PE's rank and the number of members; -1 for an empty team.
  [[nodiscard]] int my_pe() const { return shmem_team_my_pe(handle_); }
  [[nodiscard]] int n_pes() const { return shmem_team_n_pes(handle_); }
  /// The rank in `other` of the member with rank `pe` here, if it is a member there.
  [[nodiscard]] std::optional<int> translate(int pe, TeamRef other = world()) const {
    const int there = shmem_team_translate_pe(handle_, pe, other.handle_);
    return there < 0 ? std::nullopt : std::optional<int>(there);
  }
  /// An address for loads from and stores to a member's copy of a symmetric object, or nullptr.
  template <Element T>
  [[nodiscard]] T* ptr(T* object, int pe) const {
    return static_cast<T*>(shmem_team_ptr(handle_, object, pe));
  }

  /// The members start, start + stride, ... as a team; empty on the others. The stride may be negative, and 0 for one
  /// member. `contexts`: how many the team should be prepared for. Collective; throws Error on all members alike.
  [[nodiscard]] Team split_strided(int start, int stride, int size, int contexts = 0) const;
  /// Rows of `width` members (the last may be shorter): the team of this PE's row and that of its column. Collective.
  [[nodiscard]] Grid split_2d(int width) const;

  /// Waits for all members; completes no puts.
  void sync() const { check(shmem_team_sync(handle_), "shmem_team_sync"); }
  /// Completes this PE's operations on the default context, then waits for all members.
  void barrier() const {
    shmem_quiet();
    sync();
  }

  /// Copies `source` of rank `root` to `dest` on all members, the root included.
  template <ElementRange D, ElementRange S>
  void broadcast(D&& dest, S&& source, int root) const {
    const auto [to, from] = ranges(dest, source);
    same_size("broadcast", to.size(), from.size());
    check(shmem_broadcastmem(handle_, to.data(), from.data(), to.size_bytes(), root), "shmem_broadcastmem");
  }
  /// The same in place.
  template <ElementRange D>
  void broadcast(D&& data, int root) const {
    const std::span to(data);
    check(shmem_broadcastmem(handle_, to.data(), to.data(), to.size_bytes(), root), "shmem_broadcastmem");
  }
  /// Rank `root`'s value.
  template <Element T>
  requires(!ElementRange<T>) [[nodiscard]] T broadcast(const T& value, int root) const {
    return with_scratch<T>("broadcast", value, [&](T* dest, const T* source) {
      return shmem_broadcastmem(handle_, dest, source, sizeof(T), root);
    });
  }

  /// The sources of all members in order of rank; `dest` has n_pes() times as many elements as `source`.
  template <ElementRange D, ElementRange S>
  void all_gather(D&& dest, S&& source) const {
    const auto [to, from] = ranges(dest, source);
    same_size("all_gather", to.size(), from.size() * static_cast<std::size_t>(n_pes()));
    check(shmem_fcollectmem(handle_, to.data(), from.data(), from.size_bytes()), "shmem_fcollectmem");
  }
  /// The same with sources of different lengths; `dest` has room for their sum.
  template <ElementRange D, ElementRange S>
  void all_gather_v(D&& dest, S&& source) const {
    const auto [to, from] = ranges(dest, source);
    check(shmem_collectmem(handle_, to.data(), from.data(), from.size_bytes()), "shmem_collectmem");
  }
  /// Block j of each member's source, of source.size() / n_pes() elements, becomes block i on rank j, i being the
  /// sender.
  template <ElementRange D, ElementRange S>
  void all_to_all(D&& dest, S&& source) const {
    const auto [to, from] = ranges(dest, source);
    const std::size_t members = static_cast<std::size_t>(n_pes());
    same_size("all_to_all", to.size(), from.size());
    if (from.size() % members != 0)
      detail::throw_size("all_to_all", "the size must be a multiple of the number of members", from.size(), members);
    check(shmem_alltoallmem(handle_, to.data(), from.data(), from.size_bytes() / members), "shmem_alltoallmem");
  }

  /// Element i of `dest` on all members is the combination of element i of all sources: the same bits everywhere. `op`
  /// is one of shoal::op. `dest` and `source` may be the same.
  template <class Op, ElementRange D, ElementRange S>
  requires ReducibleBy<std::ranges::range_value_t<D>, Op>
  void all_reduce(const Op& op, D&& dest, S&& source) const {
    const auto [to, from] = ranges(dest, source);
    same_size("all_reduce", to.size(), from.size());
    check(op(handle_, to.data(), from.data(), to.size()), "all_reduce");
  }
  /// In place.
  template <class Op, ElementRange D>
  requires ReducibleBy<std::ranges::range_value_t<D>, Op>
  void all_reduce(const Op& op, D&& data) const {
    const std::span to(data);
    check(op(handle_, to.data(), to.data(), to.size()), "all_reduce");
  }
  /// The combination of all members' values.
  template <class Op, ReducibleBy<Op> T>
  [[nodiscard]] T all_reduce(const Op& op, const T& value) const {
    return with_scratch<T>("all_reduce", value, [&](T* dest, const T* source) { return op(handle_, dest, source, 1); });
  }

  /// Element i of `dest` on rank k is the sum of element i of ranks 0 to k. `dest` and `source` may be the same.
  template <ElementRange D, ElementRange S>
  requires Scannable<std::ranges::range_value_t<D>>
  void inclusive_scan(D&& dest, S&& source) const {
    const auto [to, from] = ranges(dest, source);
    same_size("inclusive_scan", to.size(), from.size());
    check(shmem_sum_inscan(handle_, to.data(), from.data(), to.size()), "shmem_sum_inscan");
  }
  /// The same without rank k's own element; 0 on rank 0.
  template <ElementRange D, ElementRange S>
  requires Scannable<std::ranges::range_value_t<D>>
  void exclusive_scan(D&& dest, S&& source) const {
    const auto [to, from] = ranges(dest, source);
    same_size("exclusive_scan", to.size(), from.size());
    check(shmem_sum_exscan(handle_, to.data(), from.data(), to.size()), "shmem_sum_exscan");
  }
  template <Scannable T>
  [[nodiscard]] T inclusive_scan(const T& value) const {
    return with_scratch<T>("inclusive_scan", value,
                           [&](T* dest, const T* source) { return shmem_sum_inscan(handle_, dest, source, 1); });
  }
  template <Scannable T>
  [[nodiscard]] T exclusive_scan(const T& value) const {
    return with_scratch<T>("exclusive_scan", value,
                           [&](T* dest, const T* source) { return shmem_sum_exscan(handle_, dest, source, 1); });
  }

 private:
  static void check(int code, const char* call) { detail::check(code, call, "the team is invalid on this PE"); }
  static void same_size(const char* call, std::size_t dest, std::size_t wanted) {
    if (dest != wanted) detail::throw_size(call, "the destination's size doesn't fit the source's", dest, wanted);
  }
  template <class D, class S>
  static auto ranges(D& dest, S& source) {
    using T = std::ranges::range_value_t<D>;
    static_assert(std::same_as<T, std::ranges::range_value_t<S>>, "source and destination have elements of one type");
    return std::pair(std::span<T>(dest), std::span<const T>(source));
  }
  template <class T, class F>
  T with_scratch(const char* call, const T& value, F&& collective) const {
    const detail::Scratch<T> scratch(call);
    std::memcpy(static_cast<void*>(scratch.source), &value, sizeof(T));
    sync();  // until here a member may still be in a collective of another team, which uses its scratch
    check(collective(scratch.dest, scratch.source), call);
    return *scratch.dest;
  }

  shmem_team_t handle_ = SHMEM_TEAM_INVALID;
};

/// A team of its own. Destruction is collective over the members, so they destroy their teams in the same order, which
/// scopes give by themselves; not while an exception unwinds (see Array).
class Team : public TeamRef, private detail::CollectiveOwner {
 public:
  /// No team.
  Team() noexcept = default;
  /// Takes over a team made by the C interface.
  explicit Team(shmem_team_t handle) noexcept : TeamRef(handle) {}
  ~Team() {
    if (*this && may_release()) shmem_team_destroy(handle());
  }
  Team(Team&& other) noexcept : TeamRef(std::exchange(static_cast<TeamRef&>(other), TeamRef())) {}
  /// Collective over the old team's members.
  Team& operator=(Team&& other) {
    if (this == &other) return *this;
    release();
    static_cast<TeamRef&>(*this) = std::exchange(static_cast<TeamRef&>(other), TeamRef());
    return *this;
  }

  /// Ends the team now. Collective over it.
  void release() {
    if (*this) shmem_team_destroy(handle());
    static_cast<TeamRef&>(*this) = TeamRef();
  }
};

/// The two teams of a PE in a 2-D layout.
struct Grid {
  Team row, column;
};

inline Team TeamRef::split_strided(int start, int stride, int size, int contexts) const {
  shmem_team_config_t config{};
  config.num_contexts = contexts;
  shmem_team_t team = SHMEM_TEAM_INVALID;
  detail::check(shmem_team_split_strided(handle_, start, stride, size, &config,
                                         contexts > 0 ? SHMEM_TEAM_NUM_CONTEXTS : 0, &team),
                "shmem_team_split_strided", "start, stride or size is illegal, or there are too many teams");
  return Team(team);
}

inline Grid TeamRef::split_2d(int width) const {
  shmem_team_t row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
  detail::check(shmem_team_split_2d(handle_, width, nullptr, 0, &row, nullptr, 0, &column), "shmem_team_split_2d",
                "the width is below 1, or there are too many teams");
  return Grid{Team(row), Team(column)};
}

}  // namespace shoal::inline v1

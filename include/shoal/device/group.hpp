// SPDX-License-Identifier: Apache-2.0
/// \file
/// Group: neighbouring cores of one launch that work together. All its cores call each function, with the same arguments.
#pragma once

#include "core.hpp"

namespace shoal::device {

/// [begin, end) of something.
struct Slice {
  std::size_t begin, end;
  SHOAL_DEVICE_FN std::size_t size() const noexcept { return end - begin; }
};

class Group {
 public:
  /// All cores of the launch.
  SHOAL_DEVICE_FN explicit Group(const Core& core) noexcept : Group(core, 0, core.count()) {}
  /// The cores [first, first + count), this one among them. Two groups that are used at a time start at different cores.
  SHOAL_DEVICE_FN Group(const Core& core, int first, int count) noexcept : core_(core), first_(first), count_(count) {
    if (first < 0 || count < 1 || count > core.count() - first || core.id() < first || core.id() >= first + count)
      prim::fail(core.handle(), "Group", "first, count", Fault::text, nullptr, 0, -1, "a group has this core and cores of this launch only");
  }

  SHOAL_DEVICE_FN const Core& core() const noexcept { return core_; }
  SHOAL_DEVICE_FN int first() const noexcept { return first_; }
  SHOAL_DEVICE_FN int rank() const noexcept { return core_.id() - first_; }
  SHOAL_DEVICE_FN int size() const noexcept { return count_; }

  /// This core's part of `n` elements of `width` bytes: parts begin at multiples of a cache line, as far as the whole does.
  SHOAL_DEVICE_FN Slice part(std::size_t n, std::size_t width) const noexcept {
    const std::size_t unit = width < 64 && 64 % width == 0 ? 64 / width : 1;
    const auto cores = static_cast<std::size_t>(count_), mine = static_cast<std::size_t>(rank());
    const std::size_t each = (n / cores + unit) / unit * unit;
    const std::size_t begin = mine * each < n ? mine * each : n;
    return {begin, begin + each < n && mine + 1 < cores ? begin + each : n};
  }

  /// The cores meet. What any wrote before is seen by all after.
  SHOAL_DEVICE_FN void meet() const noexcept { prim::meet(core_.handle(), first_, count_, "meet"); }
  /// All cores of the group, on all PEs of the team, meet. Completes nothing. The group starts at the same core on each PE.
  SHOAL_DEVICE_FN void sync(const TeamView& team) const noexcept { sync_named(team, "sync"); }
  /// All operations of all cores are complete, on all PEs of the team.
  SHOAL_DEVICE_FN void barrier(const TeamView& team) const noexcept { complete(team, "barrier"); }
  /// barrier and sync, for the call of the name.
  SHOAL_DEVICE_FN void complete(const TeamView& team, const char* call) const noexcept {
    core_.quiet();
    sync_named(team, call);
  }
  SHOAL_DEVICE_FN void sync_named(const TeamView& team, const char* call) const noexcept {
    prim::meet(core_.handle(), first_, count_, call);
    if (rank() == 0) core_.sync_as(team, first_, call, count_);
    prim::meet(core_.handle(), first_, count_, call);
  }

  /// As Core's, each core moving its part; the call returns when this core's part is done (or issued: _nbi).
  template <class T>
  SHOAL_DEVICE_FN void put(T* dest, const T* source, std::size_t n, int pe, Engine engine = Engine::automatic) const noexcept {
    const Slice s = part(n, sizeof(T));
    core_.put(dest + s.begin, source + s.begin, s.size(), pe, engine);
  }
  template <class T>
  SHOAL_DEVICE_FN void get(T* dest, const T* source, std::size_t n, int pe, Engine engine = Engine::automatic) const noexcept {
    const Slice s = part(n, sizeof(T));
    core_.get(dest + s.begin, source + s.begin, s.size(), pe, engine);
  }
  template <class T>
  SHOAL_DEVICE_FN void put_nbi(T* dest, const T* source, std::size_t n, int pe, Engine engine = Engine::automatic) const noexcept {
    const Slice s = part(n, sizeof(T));
    core_.put_nbi(dest + s.begin, source + s.begin, s.size(), pe, engine);
  }
  template <class T>
  SHOAL_DEVICE_FN void get_nbi(T* dest, const T* source, std::size_t n, int pe, Engine engine = Engine::automatic) const noexcept {
    const Slice s = part(n, sizeof(T));
    core_.get_nbi(dest + s.begin, source + s.begin, s.size(), pe, engine);
  }
  /// One update of the signal, when all parts are there.
  template <class T>
  SHOAL_DEVICE_FN void put_signal(T* dest, const T* source, std::size_t n, std::uint64_t* signal, std::uint64_t value, SignalOp op,
                                  int pe) const noexcept {
    put(dest, source, n, pe);
    core_.quiet();
    meet();
    if (rank() == 0) core_.signal(signal, value, op, pe);
  }

 private:
  Core core_;
  int first_, count_;
};

}  // namespace shoal::device

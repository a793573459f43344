// SPDX-License-Identifier: Apache-2.0
#include "team/active_set.hpp"

#include <cstdio>

#include "base/error.hpp"
#include "comm/atomics.hpp"

namespace shoal {

ActiveSet::ActiveSet(const Context& world, int start, int log_stride, int size, long* psync, const char* call) noexcept
    : world_(world), start_(start), stride_(0), size_(size), rank_(0), psync_(psync) {
  world.require(call);
  const int n = world.n_pes();
  if (log_stride < 0 || log_stride > 30 || start < 0 || size < 1 ||
      start + (static_cast<long long>(size - 1) << log_stride) >= n)
    world.fatal(call,
                strf("the active set PE_start=%d, logPE_stride=%d, PE_size=%d does not fit into this job's PEs 0 to %d",
                     start, log_stride, size, n - 1));
  stride_ = 1 << log_stride;
  const int me = world.domain().me;
  rank_ = (me - start) / stride_;
  if (me < start || (me - start) % stride_ != 0 || rank_ >= size)
    world.fatal(call,
                strf("this PE is not in the active set PE_start=%d, logPE_stride=%d, PE_size=%d that it calls with",
                     start, log_stride, size));
  world.own(psync, kWords, call);
  if (!spans_nodes()) return;
  nodes_.mine = {rank_};
  nodes_.here = rank_;
  for (int member = 0; member < size_; ++member) {
    nodes_.leaders.push_back(member);
    nodes_.node_of.push_back(member);
  }
}

ActiveSet::~ActiveSet() { own(2).store(0, std::memory_order_relaxed); }

bool ActiveSet::spans_nodes() const noexcept {
  const Domain& domain = world_.domain();
  if (!domain.spans_nodes()) return false;
  const auto node = [&](int member) { return domain.node_of[static_cast<std::size_t>(world_pe(member))]; };
  for (int member = 1; member < size_; ++member)
    if (node(member) != node(0)) return true;
  return false;
}

std::vector<std::uint64_t> ActiveSet::gather_words(std::uint64_t mine, const char* call) noexcept {
  std::vector<std::uint64_t> words;
  own(2).store(static_cast<long>(mine), std::memory_order_relaxed);
  sync(call);
  for (int member = 0; member < size_; ++member)
    words.push_back(static_cast<std::uint64_t>(atomic_fetch(world_, &psync_[2], world_pe(member), call)));
  sync(call);
  return words;
}

void ActiveSet::sync(const char* call) noexcept {
  full_fence();
  if (size_ == 1) return;
  Waiter& waiter = *world_.domain().waiter;
  const WaitSite site{call, describe_meeting, this};
  // Not an atomic operation of the user's: nobody watches or delays it.
  const auto raise = [&](int member, int word, AtomicOp op) {
    const int pe = world_pe(member);
    if (long* const there = world_.word(&psync_[word], pe, call)) {
      apply({op, sizeof *there, 1}, there);
      full_fence();
      world_.ring_sync(pe);  // the neighbour's waiters listen to the library's bell
    } else {
      world_.update_far(&psync_[word], {op, sizeof(long), 1}, pe);  // they are rung by their own process
    }
  };
  const auto arrived = own(0), go = own(1);
  if (rank_ != 0) {
    raise(0, 0, AtomicOp::add);
    waiter.wait(Bell::sync, site, [&] { return go.load(std::memory_order_acquire) != 0; });
    go.store(0, std::memory_order_relaxed);
    return;
  }
  const long others = size_ - 1;
  waiter.wait(Bell::sync, site, [&] { return arrived.load(std::memory_order_acquire) == others; });
  arrived.store(0, std::memory_order_relaxed);  // ordered before the next arrivals by the releases below
  for (int member = 1; member < size_; ++member) raise(member, 1, AtomicOp::swap);
}

void ActiveSet::gather_leaders(const char* call, const Callback<int, int>& take) noexcept {
  sync(call);
  for (int k = 1; k < size_; ++k) take((rank_ + k) % size_, 1);
}

void ActiveSet::describe_meeting(const WaitSite& site, const SegmentTable& segments, WaitText& text) noexcept {
  const ActiveSet& set = *static_cast<const ActiveSet*>(site.object);
  text.wait.kind = WaitKind::meeting;
  text.wait.group = kTeamSlots;  // beyond every team's
  const auto where = reinterpret_cast<std::uintptr_t>(set.psync_);
  if (const Segment* segment = segments.find(where, 1)) text.wait.offset = where - segment->base;
  for (int member = 0; member < set.size_; ++member) text.members.add(set.world_pe(member));
  std::snprintf(text.detail, sizeof text.detail, "PE %d of an active set of %d, pSync %s", set.rank_, set.size_,
                segments.place(set.psync_).c_str());
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "team/active_set.hpp"

#include "base/error.hpp"

namespace shoal {

ActiveSet::ActiveSet(const Context& world, int start, int log_stride, int size, long* psync, const char* call) noexcept
    : world_(world), start_(start), stride_(0), size_(size), rank_(0), psync_(psync), call_(call) {
  world.require(call);
  const int n = world.n_pes();
  if (log_stride < 0 || log_stride > 30 || start < 0 || size < 1 ||
      start + (static_cast<long long>(size - 1) << log_stride) >= n)
    world.fatal(call, strf("the active set PE_start=%d, logPE_stride=%d, PE_size=%d does not fit into this job's PEs 0 to %d",
                           start, log_stride, size, n - 1));
  stride_ = 1 << log_stride;
  const int me = world.domain().me;
  rank_ = (me - start) / stride_;
  if (me < start || (me - start) % stride_ != 0 || rank_ >= size)
    world.fatal(call, strf("this PE is not in the active set PE_start=%d, logPE_stride=%d, PE_size=%d that it calls with",
                           start, log_stride, size));
  world.own(psync, kWords, call);
}

ActiveSet::~ActiveSet() { shown(rank_).store(0, std::memory_order_relaxed); }

void ActiveSet::sync(const char* call) noexcept {
  full_fence();
  if (size_ == 1) return;
  Waiter& waiter = *world_.domain().waiter;
  const WaitSite site{call, "PE %llu of an active set of %llu, pSync 0x%llx", static_cast<unsigned long long>(rank_),
                      static_cast<unsigned long long>(size_), reinterpret_cast<std::uintptr_t>(psync_)};
  auto& arrived = word(0, 0);
  if (rank_ != 0) {
    arrived.fetch_add(1, std::memory_order_seq_cst);
    full_fence();
    world_.ring(world_pe(0), Bell::sync);
    auto& go = word(rank_, 1);
    waiter.wait(Bell::sync, site, [&] { return go.load(std::memory_order_acquire) != 0; });
    go.store(0, std::memory_order_relaxed);
    return;
  }
  const auto others = static_cast<std::uint64_t>(size_ - 1);
  waiter.wait(Bell::sync, site, [&] { return arrived.load(std::memory_order_acquire) == others; });
  arrived.store(0, std::memory_order_relaxed);  // ordered before the next arrivals by the releases below
  for (int member = 1; member < size_; ++member) {
    word(member, 1).store(1, std::memory_order_seq_cst);
    full_fence();
    world_.ring(world_pe(member), Bell::sync);
  }
}

}  // namespace shoal

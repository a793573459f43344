// SPDX-License-Identifier: Apache-2.0
// The PEs of a deprecated collective: PE_start, then every 2^logPE_stride, PE_size of them, who meet on the caller's
// pSync.
//
// Use of pSync (at least kWords longs; all SHMEM_SYNC_VALUE, which is 0, before and after):
//   [0]  at the first PE: how many have arrived
//   [1]  at the others: 1 = go on
//   [2]  what this PE shows the others
// The first PE clears [0] before it lets anyone go, and each other clears its [1] before it returns, so that the array
// can be used again at once, by the same set or one that has no PE in common with it.
#pragma once
#include "team/group.hpp"

namespace shoal {

class ActiveSet final : public Group {
 public:
  static constexpr int kWords = 3;
  /// Ends the job when the set isn't one of this job, this PE isn't in it, or pSync isn't symmetric.
  ActiveSet(const Context& world, int start, int log_stride, int size, long* psync, const char* call) noexcept;
  /// Restores pSync.
  ~ActiveSet() override;

  int size() const noexcept override { return size_; }
  int rank() const noexcept override { return rank_; }
  int world_pe(int member) const noexcept override { return start_ + member * stride_; }
  void sync(const char* call) noexcept override;
  std::vector<std::uint64_t> gather_words(std::uint64_t mine, const char* call) noexcept override;
  // Its few words serve no meeting in parts: where it spans nodes, each member counts as one.
  const GroupNodes& nodes() const noexcept override { return nodes_; }
  void gather_node(const char*) noexcept override { full_fence(); }
  void gather_leaders(const char* call, const Callback<int, int>& take) noexcept override;
  void release_node(const char*) noexcept override {}
  const Context& world() const noexcept override { return world_; }
  const long* psync() const noexcept override { return psync_; }
  const char* kind() const noexcept override { return "active set"; }

 private:
  static void describe_meeting(const WaitSite& site, const SegmentTable& segments, WaitText& text) noexcept;
  bool spans_nodes() const noexcept;
  std::atomic_ref<long> own(int index) const noexcept { return std::atomic_ref<long>(psync_[index]); }
  const Context& world_;
  int start_, stride_, size_, rank_;
  long* psync_;
  GroupNodes nodes_;
};

}  // namespace shoal

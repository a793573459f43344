// SPDX-License-Identifier: Apache-2.0
// The device of a job and its symmetric memory: a heap for the user, and the sync words that kernels of all PEs share.
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "base/options.hpp"
#include "device/cpu/backend.hpp"
#include "job/heaps.hpp"

namespace shoal {

class Job;

class DeviceSpace final {
 public:
  /// Collective over all PEs. Ends the job where there is no room.
  DeviceSpace(Job& job, int processors, const char* call);
  /// @throws Error{invalid_option}
  static void check(const Options& options);

  CpuBackend& backend() noexcept { return *backend_; }
  TeamHeap& memory() noexcept { return *memory_; }
  /// What kernels see of a team; valid as long as it.
  device::TeamView view(const Team& team) noexcept;
  /// The object of aclshmemx_team_t: what kernels see of a team, and its handle on the host.
  struct TeamObject {
    device::TeamView view;
    void* handle;
  };
  TeamObject* add_object(const Team& team, void* handle);
  /// The one of the world.
  TeamObject* default_object() const noexcept { return default_; }
  bool has_object(const void* object) const noexcept;
  void remove_object(const TeamObject* object) noexcept;
  /// No other one of the process has it, now or later.
  std::uint64_t number() const noexcept { return number_; }
  /// Before the job ends.
  void leave() noexcept { backend_->leave(); }

 private:
  /// A team's sync words start at zero, whoever used them before.
  void clear(int slot) noexcept;

  int me_, n_pes_;
  const std::uint64_t number_ = SegmentTable::unique();
  std::unique_ptr<TeamHeap> sync_, memory_;
  std::array<std::atomic<bool>, kTeamSlots> used_{};  // slots whose words kernels may have changed
  mutable std::mutex mutex_;
  std::map<const void*, std::unique_ptr<TeamObject>> objects_;
  std::unique_ptr<CpuBackend> backend_;
  TeamObject* default_ = nullptr;  // one of objects_
};

}  // namespace shoal

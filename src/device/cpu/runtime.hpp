// SPDX-License-Identifier: Apache-2.0
// What the kernels of a PE call where plain loads and stores don't do: engines, transports, waiting, failing.
//
// Thread safety: all functions, from any core.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/cpu/copy_engine.hpp"
#include "shoal/device/backend.hpp"
#include "shoal/device/runtime.hpp"

namespace shoal {

/// What a device is made from. References outlive it.
struct DeviceSetup {
  const Context* world = nullptr;
  const Segment* heap = nullptr;
  const Segment* sync = nullptr;  ///< holds each PE's sync words (device::SyncLayout)
  int processors = 1;             ///< of this machine
  int cores = 0;                  ///< the most that a launch may have
  std::size_t scratch_bytes = 0;
  std::uint64_t number = 0;  ///< no other device of the process has it
  EngineSetup xdma;
};

class CpuRuntime final : public device::Runtime {
 public:
  explicit CpuRuntime(const DeviceSetup& setup);

  device::SegmentView find(std::uintptr_t address, std::size_t bytes) const noexcept override;
  device::SegmentView around(std::uintptr_t address) const noexcept override;
  bool member(std::uintptr_t address, int pe) const noexcept override;
  std::uint64_t place(std::uintptr_t address, std::size_t bytes) const noexcept override;
  void submit(device::CoreState& core, const device::Transfer& transfer) noexcept override;
  void move(device::CoreState& core, const device::Transfer& transfer) noexcept override;
  std::uint64_t update(device::CoreState& core, device::Update what, void* word, int width, std::uint64_t operand,
                       std::uint64_t compare, int pe, const char* call) noexcept override;
  void raise(std::uint64_t* word, std::uint64_t value, int pe) noexcept override;
  void wait(device::CoreState& core, const device::Site& site, bool (*done)(void*), void* argument) noexcept override;
  void ring(int pe) noexcept override;
  [[noreturn]] void fail(const device::CoreState& core, const char* call, const char* argument, device::Fault fault,
                         const void* address, std::size_t bytes, int pe, const char* text) const noexcept override;
  /// Ends the job: `what` went wrong in the kernel that this core runs.
  [[noreturn]] void kernel_failed(const device::CoreState& core, const char* call,
                                  const std::string& what) const noexcept;

  /// "kernel ring", for messages.
  const std::string& name_of(const device::Launch& launch) const { return names_of(launch.name, launch.entry).kernel; }
  const std::string& name_of(const device::LaunchState& launch) const {
    return names_of(launch.kernel, launch.entry).kernel;
  }

  /// What every core of this PE starts with.
  void set_up(device::CoreState& core) const noexcept;
  const DeviceSetup& setup() const noexcept { return setup_; }
  /// For a launch: no other one of this PE has it.
  std::uint64_t next_launch() const noexcept { return launches_.fetch_add(1, std::memory_order_relaxed); }
  /// Tells the others that this PE will run no more kernels.
  void leave() noexcept;

 private:
  /// A sync word of any PE; of another node's, by the transports.
  std::uint64_t sync_word(const device::CoreState& core, int pe, std::size_t offset) const noexcept;
  /// Why this core waits for `pe` in vain, in a meeting of the site's team; empty: it may still come.
  std::string why_never(const device::CoreState& core, const device::Site& site, int pe) const;
  /// How many cores `pe` has in the launch that meets with this core's, if those are too few for the meeting that it
  /// waits in; else 0.
  int smaller_launch(const device::CoreState& core, const device::Site& site, int pe) const noexcept;
  /// The cores of this launch that go nowhere before the meeting of the site's team is over.
  static std::uint64_t stuck_cores(const device::CoreState& core, const device::Site& site) noexcept;
  /// Shows them to the others.
  void show_stuck(const device::CoreState& core, const device::Site& site) const noexcept;
  /// The core with which `pe` waits for this one's launch, while this one waits for it with another, so that both do
  /// for ever; else -1.
  int other_first_core(const device::CoreState& core, const device::Site& site, int pe) const noexcept;
  /// Ends the job if the core waits for something that cannot come any more: other cores, or PEs of this node.
  void end_hopeless(const device::CoreState& core, const device::Site& site, bool long_wait, bool (*done)(void*),
                    void* argument) const noexcept;
  /// The same for the PE before this one in the team, on another node: whoever is missing is that for one that waits.
  void end_hopeless_far(const device::CoreState& core, const device::Site& site, bool (*done)(void*),
                        void* argument) const noexcept;

  /// How a kernel is spoken of. Looked up once, then kept.
  struct Names {
    std::string kernel;  ///< "kernel ring"
    std::string format;  ///< of a wait in it: core, word, value
  };
  const Names& names_of(const char* given, const void* entry) const;

  const DeviceSetup setup_;
  mutable std::mutex naming_;
  mutable std::map<std::pair<const char*, const void*>, Names> names_;
  mutable std::atomic<std::uint64_t> launches_{1};
  std::vector<device::Bells> bells_;
  CopyEngine xdma_, rdma_;
};

}  // namespace shoal

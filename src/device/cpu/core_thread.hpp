// SPDX-License-Identifier: Apache-2.0
// One core: its state and scratch, and for all cores but a launch's first a thread that lives as long as the stream. A
// core polls for the next kernel, then gives its processor away, then sleeps.
#pragma once
#include <atomic>
#include <thread>

#include "device/cpu/runtime.hpp"
#include "shoal/device/backend.hpp"

namespace shoal {

/// A launch that cores carry out together. One a stream, used again and again: a core that has finished may still look
/// at it.
struct RunningLaunch {
  const device::Launch* launch = nullptr;
  device::LaunchState shared;
  int spins = 0;
  std::atomic<std::uint32_t> remaining{0};  ///< cores that have not finished, the first aside
  std::atomic<bool> awaited{false};         ///< somebody sleeps on `remaining`
};

class CpuCore final {
 public:
  explicit CpuCore(const CpuRuntime& runtime) : runtime_(runtime) { runtime.set_up(state_); }
  ~CpuCore();
  CpuCore(const CpuCore&) = delete;
  CpuCore& operator=(const CpuCore&) = delete;

  /// Runs core `index` of a launch on this thread; everything that it started is complete on return. What the kernel
  /// throws ends the job.
  void run(RunningLaunch& running, int index) noexcept;

 private:
  /// Sees to it that there is as much scratch.
  void provide_scratch(std::size_t bytes) noexcept;
  const CpuRuntime& runtime_;
  device::CoreState state_;
  std::size_t mapped_ = 0;
};

class CoreThread final {
 public:
  CoreThread(const CpuRuntime& runtime, int index);
  ~CoreThread();
  CoreThread(const CoreThread&) = delete;
  CoreThread& operator=(const CoreThread&) = delete;

  /// Hands it a launch, when it has finished the one before; it counts down `running.remaining` when done.
  void start(RunningLaunch& running) noexcept;

 private:
  void work() noexcept;
  CpuCore core_;
  const int index_;
  alignas(64) std::atomic<RunningLaunch*> next_{nullptr};
  std::atomic<std::uint32_t> calls_{0};  // the futex: grows with each start
  std::atomic<bool> sleeps_{false}, ends_{false};
  std::thread thread_;
};

/// The core that this thread runs; null outside of kernels.
device::CoreState* running_core() noexcept;

/// Says which kernel, core and PE crashed, where the program has no handler of its own for such signals. Once a
/// process.
void report_crashes() noexcept;

}  // namespace shoal

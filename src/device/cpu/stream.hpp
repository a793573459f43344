// SPDX-License-Identifier: Apache-2.0
// A queue of work in order: kernels, copies, calls, markers. A thread of the stream's own carries it out; whoever waits
// for the stream does so instead, so that launching and waiting costs no switch of threads.
//
// Thread safety: all functions, from any thread.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/cpu/core_thread.hpp"
#include "shoal/device/backend.hpp"

namespace shoal::device {

/// The point in a stream that was recorded last. Who waits for a point waits for that one, whatever is recorded later.
class Marker final {
 public:
  using Point = std::shared_ptr<std::atomic<bool>>;  // true: the stream has passed it
  /// A new point, not passed yet.
  Point renew() {
    const std::lock_guard guard(mutex_);
    return last_ = std::make_shared<std::atomic<bool>>(false);
  }
  /// Null: nothing was recorded.
  Point last() const {
    const std::lock_guard guard(mutex_);
    return last_;
  }
  static bool passed(const Point& point) noexcept { return point == nullptr || point->load(std::memory_order_acquire); }

 private:
  mutable std::mutex mutex_;
  Point last_;
};

class StreamQueue {
 protected:
  ~StreamQueue() = default;
};

}  // namespace shoal::device

namespace shoal {

class CpuStream final : public device::StreamQueue {
 public:
  explicit CpuStream(const CpuRuntime& runtime) : runtime_(runtime), first_core_(runtime) {}
  /// Carries out what it was given.
  ~CpuStream();

  void launch(const device::Launch& launch);
  void copy(void* to, const void* from, std::size_t bytes);
  void call(void (*function)(void*), void* argument);
  void record(device::Marker& marker);
  void wait(device::Marker& marker);
  /// From inside of its own work it would wait for itself: that ends the job.
  void synchronize() noexcept;
  /// Runs a kernel on this thread, past the queue: for a stream that is given nothing else.
  void run_here(const device::Launch& launch) noexcept { run_kernel(launch); }
  bool idle() const noexcept {
    return finished_.load(std::memory_order_acquire) == given_.load(std::memory_order_acquire);
  }

 private:
  struct Operation {
    enum class Kind { kernel, copy, call, record, wait } kind;
    device::Launch launch;
    void* to = nullptr;
    const void* from = nullptr;
    std::size_t bytes = 0;
    void (*function)(void*) = nullptr;
    device::Marker::Point point = {};
  };
  void give(Operation operation);
  /// Carries out the next operation, unless there is none or another thread is at it.
  bool run_one() noexcept;
  void run(Operation& operation) noexcept;
  void call_host(const Operation& operation) noexcept;
  /// Whether the calling thread carries out this stream's work, or part of it.
  bool runs_here() const noexcept;
  void run_kernel(const device::Launch& launch) noexcept;
  void work() noexcept;
  template <class Done>
  void await(Done&& done) noexcept;

  const CpuRuntime& runtime_;
  std::mutex mutex_;
  std::deque<Operation> queue_;
  bool running_ = false;
  std::atomic<std::uint64_t> given_{0}, finished_{0};
  std::atomic<std::uint32_t> calls_{0};  // futex of the stream's thread: grows with each operation
  std::atomic<std::uint32_t> ended_{0};  // futex of those who wait: grows with each end
  std::atomic<int> sleepers_{0};
  std::atomic<bool> sleeps_{false}, ends_{false};
  std::thread thread_;  // started with the first operation

  // Of whoever runs an operation.
  RunningLaunch current_;
  CpuCore first_core_;
  std::vector<std::unique_ptr<CoreThread>> cores_;
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// The processor as a device. One a job.
#pragma once
#include <set>

#include "device/cpu/stream.hpp"

namespace shoal {

class CpuBackend final : public device::Backend {
 public:
  explicit CpuBackend(const DeviceSetup& setup);
  ~CpuBackend() override;

  device::Facts facts() const noexcept override;
  device::StreamQueue* open_stream() noexcept override;
  void close_stream(device::StreamQueue* stream) noexcept override;
  void launch(device::StreamQueue* stream, const device::Launch& launch) noexcept override;
  void copy(device::StreamQueue* stream, void* to, const void* from, std::size_t bytes) noexcept override;
  void call(device::StreamQueue* stream, void (*function)(void*), void* argument) noexcept override;
  void synchronize(device::StreamQueue* stream) noexcept override;
  bool idle(device::StreamQueue* stream) const noexcept override;
  device::Marker* open_marker() noexcept override;
  void close_marker(device::Marker* marker) noexcept override;
  void record(device::StreamQueue* stream, device::Marker* marker) noexcept override;
  void wait(device::StreamQueue* stream, device::Marker* marker) noexcept override;
  bool passed(const device::Marker* marker) const noexcept override;
  void synchronize(device::Marker* marker) noexcept override;

  /// Runs a kernel on the calling thread and returns when it has ended. Threads that do so at a time don't wait for
  /// each other.
  void run_here(const device::Launch& launch) noexcept;

  /// Before the job ends: all streams are idle, and the other PEs are told that no kernel follows.
  void leave() noexcept;

 private:
  /// The launch with what it leaves open; what it can't have ends the job.
  device::Launch checked(device::Launch launch) const noexcept;
  std::unique_ptr<CpuStream> take_resting();
  CpuStream& known(device::StreamQueue* stream, const char* call) const noexcept;
  [[noreturn]] void fatal(const char* call, const std::string& what) const noexcept {
    runtime_.setup().world->fatal(call, what);
  }

  CpuRuntime runtime_;
  mutable std::mutex mutex_;
  std::set<CpuStream*> streams_;  // those that are open
  std::mutex aside_;  // of what follows: what streams are still carrying out while leave() has the other may need it
  std::set<device::Marker*> markers_;                // those that are open
  std::vector<std::unique_ptr<CpuStream>> resting_;  // for run_here
};

}  // namespace shoal

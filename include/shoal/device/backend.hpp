// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a backend does for device.hpp, on the host. Not for users.
#pragma once

#include "view.hpp"

namespace shoal::device {

/// A kernel with its arguments. `run` is called on each core; `destroy` once, after all.
struct Launch {
  void (*run)(void* self, const DeviceView& view) = nullptr;
  void (*destroy)(void* self) noexcept = nullptr;
  void* self = nullptr;
  int cores = 1;
  std::size_t scratch = 0;      ///< bytes a core must have at least
  const char* name = nullptr;   ///< of the kernel; null: found by `entry`
  const void* entry = nullptr;  ///< the kernel's address
};

/// What a device is.
struct Facts {
  const char* kind;           ///< "cpu" or "cuda"
  int cores;                  ///< the most that a launch may have
  std::size_t scratch_bytes;  ///< of each core
  int processors;             ///< that this PE may use
  std::uint64_t number;       ///< of this device: no other one of the process has it, now or later
};

class StreamQueue;
class Marker;

/// Thread safe, but for what one stream is given: that is ordered only if the caller orders it. What is wrong with an argument
/// ends the job with a line that names it.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Facts facts() const noexcept = 0;

  virtual StreamQueue* open_stream() noexcept = 0;
  /// Waits for what it was given.
  virtual void close_stream(StreamQueue* stream) noexcept = 0;
  virtual void launch(StreamQueue* stream, const Launch& launch) noexcept = 0;
  virtual void copy(StreamQueue* stream, void* to, const void* from, std::size_t bytes) noexcept = 0;
  /// Calls on the host, in order with the rest.
  virtual void call(StreamQueue* stream, void (*function)(void*), void* argument) noexcept = 0;
  virtual void synchronize(StreamQueue* stream) noexcept = 0;
  virtual bool idle(StreamQueue* stream) const noexcept = 0;

  /// A point in a stream, not recorded yet.
  virtual Marker* open_marker() noexcept = 0;
  virtual void close_marker(Marker* marker) noexcept = 0;
  virtual void record(StreamQueue* stream, Marker* marker) noexcept = 0;
  /// What the stream is given from now on begins after the point. A marker that was never recorded holds nobody up.
  virtual void wait(StreamQueue* stream, Marker* marker) noexcept = 0;
  virtual bool passed(const Marker* marker) const noexcept = 0;
  virtual void synchronize(Marker* marker) noexcept = 0;
};

/// Grows with every change of what this header and view.hpp, transfer.hpp, runtime.hpp lay down.
inline constexpr int kAbi = 4;

}  // namespace shoal::device

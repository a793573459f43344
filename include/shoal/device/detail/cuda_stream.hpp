// SPDX-License-Identifier: Apache-2.0
/// \file
/// Streams and events of a GPU, and launches. Included by shoal/device/cuda.hpp.
#pragma once

#include <tuple>
#include <utility>

#include "../cuda.hpp"

namespace shoal::inline v1 {

class CudaEvent;

/// Work in order on the GPU, beside the host and other streams.
class CudaStream {
 public:
  explicit CudaStream(const CudaDevice& on) : device_(on) {
    detail::check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    detail::check_cuda(cudaMalloc(reinterpret_cast<void**>(&launch_), sizeof *launch_), "cudaMalloc");
    device::CudaLaunch fresh{};
    fresh.fault = on.faults().place();
    detail::upload_to(launch_, &fresh, sizeof fresh);
  }
  /// Waits for what it was given.
  ~CudaStream() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
    cudaFree(launch_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  const CudaDevice& device() const noexcept { return device_; }
  cudaStream_t handle() const noexcept { return stream_; }
  void synchronize() const { device_.faults().check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }
  [[nodiscard]] bool idle() const {
    const cudaError_t code = cudaStreamQuery(stream_);
    if (code != cudaErrorNotReady) device_.faults().check(code, "cudaStreamQuery");
    return code == cudaSuccess;
  }

  /// Between any memory of this PE, by the copy engine.
  template <class T>
  void copy(T* dest, const T* source, std::size_t n) const {
    if (n != 0) device_.faults().check(cudaMemcpyAsync(dest, source, n * sizeof(T), cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
  }
  /// Calls function() on the host. It must not throw, nor call CUDA.
  template <class F>
  void call(F function) const {
    auto* copied = new F(std::move(function));
    const auto run = [](void* f) {
      (*static_cast<F*>(f))();
      delete static_cast<F*>(f);
    };
    device_.faults().check(cudaLaunchHostFunc(stream_, run, copied), "cudaLaunchHostFunc");
  }

  /* ---- communication in order with the rest: as Stream's ---- */

  /// By the copy engine; complete, at the target, when what follows in the stream begins.
  template <class T>
  void put(T* dest, const T* source, std::size_t n, int pe) const {
    copy(reinterpret_cast<T*>(device_.at(dest, device::detail::bytes_of(n, sizeof(T)), pe, "CudaStream::put: dest")), source, n);
  }
  template <class T>
  void get(T* dest, const T* source, std::size_t n, int pe) const {
    copy(dest, reinterpret_cast<const T*>(device_.at(source, device::detail::bytes_of(n, sizeof(T)), pe, "CudaStream::get: source")), n);
  }
  template <class T>
  void put_signal(T* dest, const T* source, std::size_t n, std::uint64_t* word, std::uint64_t value, device::SignalOp op, int pe) const {
    put(dest, source, n, pe);
    signal(word, value, op, pe);
  }
  void signal(std::uint64_t* word, std::uint64_t value, device::SignalOp op, int pe) const;
  /// What follows waits for a word of this PE's symmetric memory.
  template <class T>
  void wait_until(const T* word, device::Cmp cmp, T value) const;
  void barrier(const device::TeamView& team) const;
  template <class T, class Op>
  void all_reduce(const device::TeamView& team, T* dest, const T* source, std::size_t n, Op op, int cores = 1) const;

  /// What the stream is given from now on begins after the point that `event` recorded last.
  void wait(const CudaEvent& event) const;

  /// What the kernels of one launch are handed.
  device::DeviceView view_of_launch(const void* kernel) const {
    device::DeviceView view = device_.view();
    view.state = launch_;
    view.launch = device_.faults().launched(kernel);
    return view;
  }

 private:
  const CudaDevice& device_;
  cudaStream_t stream_ = nullptr;
  device::CudaLaunch* launch_ = nullptr;
};

/// A point in a stream: the one that it recorded last.
class CudaEvent {
 public:
  explicit CudaEvent(const CudaDevice& on) : device_(on) {
    detail::check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }
  ~CudaEvent() { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  /// The point after all that the stream was given so far.
  void record(const CudaStream& stream) const { device_.faults().check(cudaEventRecord(event_, stream.handle()), "cudaEventRecord"); }
  [[nodiscard]] bool passed() const {
    const cudaError_t code = cudaEventQuery(event_);
    if (code != cudaErrorNotReady) device_.faults().check(code, "cudaEventQuery");
    return code == cudaSuccess;
  }
  void synchronize() const { device_.faults().check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
  cudaEvent_t handle() const noexcept { return event_; }

 private:
  const CudaDevice& device_;
  cudaEvent_t event_ = nullptr;
};

inline void CudaStream::wait(const CudaEvent& event) const {
  device_.faults().check(cudaStreamWaitEvent(stream_, event.handle(), 0), "cudaStreamWaitEvent");
}

/// Runs kernel(view, arguments...) on `cores` thread blocks that are all resident, each with 48 KiB of scratch. Returns at once. Throws
/// std::invalid_argument unless there are 1 to device::kMostCores. Not for capture into a CUDA graph, which would run a launch's number
/// again and again.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(device::DeviceView, Parameters...), int cores, const CudaStream& stream, Arguments... arguments) {
  constexpr std::size_t kScratch = 48 * 1024;
  if (cores < 1 || cores > device::kMostCores)
    throw std::invalid_argument("shoal: launch: cores: " + std::to_string(cores) + " is out of range: a launch has 1 to " +
                                std::to_string(device::kMostCores));
  const auto* const entry = reinterpret_cast<const void*>(kernel);
  std::tuple<device::DeviceView, Parameters...> values(stream.view_of_launch(entry), arguments...);
  detail::CudaFaults& faults = stream.device().faults();
  faults.check(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kScratch)), "cudaFuncSetAttribute");
  std::apply([&](auto&... each) {
    void* pointers[] = {static_cast<void*>(&each)...};
    faults.check(cudaLaunchCooperativeKernel(entry, dim3(static_cast<unsigned>(cores)), dim3(static_cast<unsigned>(stream.device().lanes())),
                                             pointers, kScratch, stream.handle()),
                 "cudaLaunchCooperativeKernel");
  }, values);
}

namespace detail {

// Templates, so that any number of files may have them.
template <class Word>
__global__ void stream_signal(device::DeviceView view, Word* word, Word value, device::SignalOp op, int pe) {
  device::Core(view).signal(word, value, op, pe);
}
template <class T>
__global__ void stream_wait(device::DeviceView view, const T* word, device::Cmp cmp, T value) {
  device::Core(view).wait_until(word, cmp, value);
}
template <class Team>
__global__ void stream_barrier(device::DeviceView view, Team team) {
  device::Core(view).barrier(team);
}
template <class T, class Op>
__global__ void stream_all_reduce(device::DeviceView view, device::TeamView team, T* dest, const T* source, std::size_t n, Op op) {
  device::all_reduce(device::Group(device::Core(view)), team, dest, source, n, op);
}

}  // namespace detail

inline void CudaStream::signal(std::uint64_t* word, std::uint64_t value, device::SignalOp op, int pe) const {
  launch(detail::stream_signal<std::uint64_t>, 1, *this, word, value, op, pe);
}
template <class T>
void CudaStream::wait_until(const T* word, device::Cmp cmp, T value) const {
  launch(detail::stream_wait<T>, 1, *this, word, cmp, value);
}
inline void CudaStream::barrier(const device::TeamView& team) const { launch(detail::stream_barrier<device::TeamView>, 1, *this, team); }
template <class T, class Op>
void CudaStream::all_reduce(const device::TeamView& team, T* dest, const T* source, std::size_t n, Op op, int cores) const {
  launch(detail::stream_all_reduce<T, Op>, cores, *this, team, dest, source, n, op);
}

}  // namespace shoal::inline v1

// SPDX-License-Identifier: Apache-2.0
/// \file
/// GPUs by CUDA, for programs that nvcc compiles (-std=c++20 --extended-lambda is not needed). The kernels are those of the cpu
/// device: a core is a thread block, Core::for_each spreads over its threads. Several PEs may share one GPU. Throws
/// std::runtime_error with CUDA's words where a call fails.
#pragma once

#ifndef __CUDACC__
#error "shoal/device/cuda.hpp is for nvcc: compile this file as CUDA"
#endif

#include <cuda_runtime.h>
#include <shmem.h>

#include <atomic>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "../detail/owner.hpp"
#include "kernel.hpp"
#include "prim/cuda_launch.hpp"

namespace shoal::inline v1 {

namespace detail {

inline void check_cuda(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw std::runtime_error(std::string("shoal: ") + call + ": " + cudaGetErrorString(code));
}

}  // namespace detail

/// Whether this machine has a GPU that can be used.
inline bool has_cuda() noexcept {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

/// The GPU of this PE, and symmetric memory on it. Made by all PEs together, and destroyed so.
class CudaDevice : private detail::CollectiveOwner {
 public:
  /// @param heap_bytes  of symmetric device memory on each PE
  /// @param lanes       threads of a core, a multiple of 32
  explicit CudaDevice(std::size_t heap_bytes, int lanes = 256) : heap_bytes_(heap_bytes), lanes_(lanes) {
    int gpus = 0;
    detail::check_cuda(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
    detail::check_cuda(cudaSetDevice(shmem_team_my_pe(SHMEM_TEAM_SHARED) % gpus), "cudaSetDevice");
    const std::size_t sync_bytes = device::SyncLayout::bytes(shmem_n_pes());
    detail::check_cuda(cudaMalloc(reinterpret_cast<void**>(&block_), sync_bytes + heap_bytes), "cudaMalloc");
    detail::check_cuda(cudaMemset(block_, 0, sync_bytes), "cudaMemset");
    detail::check_cuda(cudaMalloc(reinterpret_cast<void**>(&launch_), sizeof(device::CudaLaunch)), "cudaMalloc");
    detail::check_cuda(cudaMemset(launch_, 0, sizeof(device::CudaLaunch)), "cudaMemset");
    detail::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    share();
    std::vector<char*> heaps(blocks_);
    for (char*& heap : heaps) heap += sync_bytes;
    view_.me = shmem_my_pe();
    view_.n_pes = shmem_n_pes();
    view_.heap = {reinterpret_cast<std::uintptr_t>(block_ + sync_bytes), heap_bytes, upload(heaps)};
    view_.sync = upload(blocks_);
    view_.state = launch_;
    shmem_barrier_all();
  }
  ~CudaDevice() {
    if (!may_release()) return;  // others may still use this PE's memory: it goes with the process
    cudaDeviceSynchronize();
    shmem_barrier_all();  // nobody uses this PE's memory any more
    for (std::size_t pe = 0; pe < blocks_.size(); ++pe)
      if (blocks_[pe] != block_) cudaIpcCloseMemHandle(blocks_[pe]);
    shmem_barrier_all();
    for (void* p : uploaded_) cudaFree(p);
    cudaFree(launch_);
    cudaFree(block_);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  /// `n` elements of symmetric device memory, given back with the device; nullptr when there is no room. Collective.
  template <class T>
  T* allocate(std::size_t n) {
    const std::size_t begin = (used_ + 255) / 256 * 256;
    if (n > heap_bytes_ / sizeof(T) || begin > heap_bytes_ - n * sizeof(T)) return nullptr;
    used_ = begin + n * sizeof(T);
    shmem_barrier_all();
    return reinterpret_cast<T*>(view_.heap.base + begin);
  }
  /// What kernels are handed of a team; its slot of sync words is `slot`, the same on all members: 0 for the world, for any other team
  /// one that no other team has, from 1 on. Collective over the team but for the world; no kernel that meets over the slot runs.
  /// Throws std::invalid_argument for a slot that there is not.
  device::TeamView team(shmem_team_t team = SHMEM_TEAM_WORLD, int slot = 0) {
    if (slot < 0 || slot >= device::SyncLayout::kTeams || (slot == 0) != (team == SHMEM_TEAM_WORLD))
      throw std::invalid_argument("shoal: CudaDevice::team: slot " + std::to_string(slot) + " is out of range: it is 0 for the world, and 1 to " +
                                  std::to_string(device::SyncLayout::kTeams - 1) + " for other teams");
    if (slot != 0) {  // whoever had it before
      char* const words = block_ + device::SyncLayout::core(shmem_n_pes(), slot, 0);
      detail::check_cuda(cudaMemset(words, 0, device::SyncLayout::kTeamBytes), "cudaMemset");
      detail::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      shmem_team_sync(team);
    }
    std::vector<int> world;
    for (int i = 0; i < shmem_team_n_pes(team); ++i) world.push_back(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD));
    return {shmem_team_my_pe(team), shmem_team_n_pes(team), upload(world), slot};
  }

  const device::DeviceView& view() const noexcept { return view_; }
  /// What the kernels of one launch are handed.
  device::DeviceView view_of_launch() const noexcept {
    device::DeviceView view = view_;
    view.launch = launches_.fetch_add(1, std::memory_order_relaxed);
    return view;
  }
  int lanes() const noexcept { return lanes_; }

 private:
  /// Maps every PE's block here.
  void share() {
    cudaIpcMemHandle_t mine;
    detail::check_cuda(cudaIpcGetMemHandle(&mine, block_), "cudaIpcGetMemHandle");
    const auto n = static_cast<std::size_t>(shmem_n_pes());
    auto* all = static_cast<cudaIpcMemHandle_t*>(shmem_malloc((n + 1) * sizeof mine));
    if (all == nullptr) throw std::runtime_error("shoal: no room in the symmetric heap to exchange memory handles");
    std::memcpy(&all[n], &mine, sizeof mine);
    shmem_fcollectmem(SHMEM_TEAM_WORLD, all, &all[n], sizeof mine);
    for (std::size_t pe = 0; pe < n; ++pe) {
      void* there = block_;
      if (static_cast<int>(pe) != shmem_my_pe())
        detail::check_cuda(cudaIpcOpenMemHandle(&there, all[pe], cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
      blocks_.push_back(static_cast<char*>(there));
    }
    shmem_barrier_all();
    shmem_free(all);
  }
  template <class T>
  T* upload(const std::vector<T>& values) {
    T* there = nullptr;
    detail::check_cuda(cudaMalloc(reinterpret_cast<void**>(&there), values.size() * sizeof(T)), "cudaMalloc");
    uploaded_.push_back(there);
    detail::check_cuda(cudaMemcpy(there, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    return there;
  }

  std::size_t heap_bytes_, used_ = 0;
  int lanes_;
  char* block_ = nullptr;
  device::CudaLaunch* launch_ = nullptr;
  std::vector<char*> blocks_;
  std::vector<void*> uploaded_;
  device::DeviceView view_;
  // From a number at random: it is compared with what another program may have left in shared memory.
  mutable std::atomic<std::uint64_t> launches_{std::uint64_t{std::random_device{}()} << 32 | std::uint64_t{std::random_device{}()}};
};

/// Work in order on the GPU. One launch at a time of one device has cores that meet: give those to one stream.
class CudaStream {
 public:
  explicit CudaStream(const CudaDevice& on) : device_(on) { detail::check_cuda(cudaStreamCreate(&stream_), "cudaStreamCreate"); }
  ~CudaStream() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  /// Between any memory of this PE, by the copy engine.
  template <class T>
  void copy(T* dest, const T* source, std::size_t n) const {
    detail::check_cuda(cudaMemcpyAsync(dest, source, n * sizeof(T), cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
  }
  void synchronize() const { detail::check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }
  const CudaDevice& device() const noexcept { return device_; }
  cudaStream_t handle() const noexcept { return stream_; }

 private:
  const CudaDevice& device_;
  cudaStream_t stream_ = nullptr;
};

/// Runs kernel(view, arguments...) on `cores` thread blocks that are all resident, each with 48 KiB of scratch. Returns at once. Throws
/// std::invalid_argument unless there are 1 to device::kMostCores.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(device::DeviceView, Parameters...), int cores, const CudaStream& stream, Arguments... arguments) {
  constexpr std::size_t kScratch = 48 * 1024;
  if (cores < 1 || cores > device::kMostCores)
    throw std::invalid_argument("shoal: launch: cores: " + std::to_string(cores) + " is out of range: a launch has 1 to " +
                                std::to_string(device::kMostCores));
  std::tuple<device::DeviceView, Parameters...> values(stream.device().view_of_launch(), arguments...);
  detail::check_cuda(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kScratch)),
                     "cudaFuncSetAttribute");
  std::apply([&](auto&... each) {
    void* pointers[] = {static_cast<void*>(&each)...};
    detail::check_cuda(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(cores)),
                                                   dim3(static_cast<unsigned>(stream.device().lanes())), pointers, kScratch, stream.handle()),
                       "cudaLaunchCooperativeKernel");
  }, values);
}

}  // namespace shoal::inline v1

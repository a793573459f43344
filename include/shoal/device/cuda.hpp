// SPDX-License-Identifier: Apache-2.0
/// \file
/// GPUs by CUDA, for programs that nvcc compiles (-std=c++20; --extended-lambda is not needed). The kernels are those of the cpu
/// device: a core is a thread block, Core::for_each spreads over its threads. Several PEs may share one GPU. Throws
/// std::runtime_error with CUDA's words where a call fails, or with a kernel's mistake where that is why; std::invalid_argument for
/// arguments that can't be.
#pragma once

#ifndef __CUDACC__
#error "shoal/device/cuda.hpp is for nvcc: compile this file as CUDA"
#endif

#include <cuda_runtime.h>
#include <shmem.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "../detail/owner.hpp"
#include "detail/cuda_faults.hpp"
#include "kernel.hpp"

namespace shoal::inline v1 {

/// Whether this machine has a GPU that can be used.
inline bool has_cuda() noexcept {
  detail::load_kernels_at_start();
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

/// The GPU of this PE, and symmetric memory on it. Made by all PEs together, and destroyed so.
class CudaDevice : private detail::CollectiveOwner {
 public:
  /// @param heap_bytes  of symmetric device memory on each PE
  /// @param lanes       threads of a core, a multiple of 32
  explicit CudaDevice(std::size_t heap_bytes, int lanes = 256) : heap_bytes_(heap_bytes), lanes_(lanes) {
    if (lanes < 32 || lanes > 1024 || lanes % 32 != 0)
      throw std::invalid_argument("shoal: CudaDevice: lanes: " + std::to_string(lanes) + " is out of range: 32 to 1024, a multiple of 32");
    if (shmem_team_n_pes(SHMEM_TEAM_SHARED) != shmem_n_pes())
      throw std::runtime_error("shoal: CudaDevice: the PEs of a job with GPUs must run on one machine: their memory can't be mapped else");
    detail::load_kernels_at_start();
    int gpus = 0;
    detail::check_cuda(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
    detail::check_cuda(cudaSetDevice(shmem_my_pe() % gpus), "cudaSetDevice");
    for (int pe = 0; pe < shmem_n_pes(); ++pe) check_link(shmem_my_pe() % gpus, pe % gpus);
    const std::size_t sync_bytes = device::SyncLayout::bytes(shmem_n_pes());
    detail::check_cuda(cudaMalloc(reinterpret_cast<void**>(&block_), sync_bytes + heap_bytes), "cudaMalloc");
    detail::check_cuda(cudaMemset(block_, 0, sync_bytes), "cudaMemset");
    detail::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    share();
    std::vector<char*> heaps(blocks_);
    for (char*& heap : heaps) heap += sync_bytes;
    view_.me = shmem_my_pe();
    view_.n_pes = shmem_n_pes();
    view_.heap = {reinterpret_cast<std::uintptr_t>(block_ + sync_bytes), heap_bytes, upload(heaps)};
    view_.sync = upload(blocks_);
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
      detail::check_cuda(cudaStreamSynchronize(cudaStreamLegacy), "cudaStreamSynchronize");
      shmem_team_sync(team);
    }
    std::vector<int> world;
    for (int i = 0; i < shmem_team_n_pes(team); ++i) world.push_back(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD));
    return {shmem_team_my_pe(team), shmem_team_n_pes(team), upload(world), slot};
  }

  const device::DeviceView& view() const noexcept { return view_; }
  int lanes() const noexcept { return lanes_; }
  /// Where the `bytes` from `address` on, symmetric, are of `pe`. Throws std::invalid_argument for what isn't.
  char* at(const void* address, std::size_t bytes, int pe, const std::string& argument) const {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - view_.heap.base;
    if (pe < 0 || pe >= view_.n_pes)
      throw std::invalid_argument("shoal: PE " + std::to_string(view_.me) + ": " + argument + ": PE " + std::to_string(pe) + " is out of range");
    if (bytes != 0 && (offset >= view_.heap.bytes || bytes > view_.heap.bytes - offset))
      throw std::invalid_argument("shoal: PE " + std::to_string(view_.me) + ": " + argument + ": " + std::to_string(bytes) +
                                  " bytes that are not in symmetric device memory, or run past its end");
    return blocks_[static_cast<std::size_t>(pe)] + (reinterpret_cast<const char*>(view_.heap.base) - block_) + offset;
  }
  detail::CudaFaults& faults() const noexcept { return faults_; }

 private:
  /// Throws unless kernels on one GPU can update the other's memory: meetings and signals are such updates.
  static void check_link(int mine, int theirs) {
    if (mine == theirs) return;
    int atomics = 0;
    detail::check_cuda(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, mine, theirs), "cudaDeviceGetP2PAttribute");
    if (atomics == 0)
      throw std::runtime_error("shoal: CudaDevice: GPUs " + std::to_string(mine) + " and " + std::to_string(theirs) +
                               " can't update each other's memory atomically: choose ones with a link (CUDA_VISIBLE_DEVICES)");
  }
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
    detail::upload_to(there, values.data(), values.size() * sizeof(T));
    return there;
  }

  std::size_t heap_bytes_, used_ = 0;
  int lanes_;
  char* block_ = nullptr;
  std::vector<char*> blocks_;
  std::vector<void*> uploaded_;
  device::DeviceView view_;
  mutable detail::CudaFaults faults_;
};

}  // namespace shoal::inline v1

#include "detail/cuda_stream.hpp"  // IWYU pragma: export

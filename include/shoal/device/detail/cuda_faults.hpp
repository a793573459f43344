// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a host learns what was wrong in a kernel of a GPU. Not for users.
#pragma once

#include <cuda_runtime.h>
#include <cxxabi.h>
#include <shmem.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>

#include "../prim/cuda_launch.hpp"

namespace shoal::inline v1::detail {

inline void check_cuda(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw std::runtime_error(std::string("shoal: ") + call + ": " + cudaGetErrorString(code));
}

/// Has CUDA load all kernels at its start, unless the user says otherwise: to load one later it may wait for those that run, and those
/// may wait for that one. To be called before anything else of CUDA's.
inline void load_kernels_at_start() noexcept {
  [[maybe_unused]] static const int once = ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

/// A copy to device memory that is there when it returns, whatever stream looks at it.
inline void upload_to(void* there, const void* from, std::size_t bytes) {
  check_cuda(cudaMemcpy(there, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  check_cuda(cudaStreamSynchronize(cudaStreamLegacy), "cudaStreamSynchronize");
}

/// The kernel's name of "void ns::kernel<float>(shoal::device::DeviceView, int)", mangled.
inline std::string kernel_name(const char* mangled) {
  int status = -1;
  char* const whole = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? whole : mangled;
  std::free(whole);
  if (name.compare(0, 5, "void ") == 0) name.erase(0, 5);
  const std::string unnamed = "(anonymous namespace)";
  std::size_t from = 0;
  while (name.compare(name.find('(', from) == std::string::npos ? name.size() : name.find('(', from), unnamed.size(), unnamed) == 0)
    from = name.find('(', from) + unnamed.size();
  return name.substr(0, name.find('(', from));
}

/// The launches of a device that may still go wrong, and what went wrong. Thread safe.
class CudaFaults {
 public:
  CudaFaults() = default;
  ~CudaFaults() {
    if (told_ != nullptr) cudaFreeHost(told_);
  }
  CudaFaults(const CudaFaults&) = delete;
  CudaFaults& operator=(const CudaFaults&) = delete;

  /// Where kernels leave it.
  device::CudaFault* place() {
    const std::lock_guard guard(mutex_);
    if (told_ == nullptr) {
      check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&told_), sizeof *told_, cudaHostAllocMapped), "cudaHostAlloc");
      *told_ = {};
    }
    device::CudaFault* there = nullptr;
    check_cuda(cudaHostGetDevicePointer(reinterpret_cast<void**>(&there), told_, 0), "cudaHostGetDevicePointer");
    return there;
  }
  /// A launch of this kernel. @return its number, which no other one has
  std::uint64_t launched(const void* kernel) {
    const std::lock_guard guard(mutex_);
    const auto [at, is_new] = names_.try_emplace(kernel);
    if (is_new) {
      const char* mangled = nullptr;
      at->second = cudaFuncGetName(&mangled, kernel) == cudaSuccess ? kernel_name(mangled) : "kernel without a name";
    }
    ++number_;
    recent_[number_ % recent_.size()] = {number_, &at->second};
    return number_;
  }
  /// Throws std::runtime_error unless the code is success: with the mistake of a kernel, if one was told.
  void check(cudaError_t code, const char* call) {
    if (code == cudaSuccess) return;
    const std::lock_guard guard(mutex_);
    if (told_ != nullptr && *static_cast<volatile int*>(&told_->told) == 1) throw std::runtime_error(description(*told_));
    check_cuda(code, call);
  }

 private:
  struct Recent {
    std::uint64_t number;
    const std::string* name;
  };

  std::string description(const device::CudaFault& f) const {
    const Recent& launch = recent_[f.launch % recent_.size()];
    const char* what = "";
    switch (f.fault) {
      case device::Fault::pe: what = "is out of range"; break;
      case device::Fault::foreign: what = "is not symmetric device memory"; break;
      case device::Fault::overrun: what = "runs past the end of the memory that it begins in"; break;
      case device::Fault::misaligned: what = "is misaligned"; break;
      case device::Fault::unreachable: what = "cannot be reached"; break;
      case device::Fault::scratch: what = "is more scratch than the core has left"; break;
      case device::Fault::unlike: what = "is another place than that PE's: pass symmetric memory that is alike on all, or none"; break;
      case device::Fault::member: case device::Fault::busy: case device::Fault::text: what = f.text; break;
    }
    char line[640];
    std::snprintf(line, sizeof line, "shoal: PE %d: kernel %s, core %d: %s: %s: %p (%llu bytes, PE %d) %s", shmem_my_pe(),
                  launch.number == f.launch && launch.name != nullptr ? launch.name->c_str() : "unknown", f.core, f.call, f.argument, f.address,
                  f.bytes, f.pe, what);
    return line;
  }

  std::mutex mutex_;
  device::CudaFault* told_ = nullptr;
  std::map<const void*, std::string> names_;
  std::array<Recent, 256> recent_{};
  // From a number at random: kernels compare it with what another program may have left in shared memory.
  std::uint64_t number_ = std::uint64_t{std::random_device{}()} << 32 | std::uint64_t{std::random_device{}()};
};

}  // namespace shoal::inline v1::detail

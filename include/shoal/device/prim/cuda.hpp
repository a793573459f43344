// SPDX-License-Identifier: Apache-2.0
/// \file
/// A GPU as a device: a core is a thread block, its lanes are the threads, its scratch is shared memory. What prim.hpp says of each
/// function holds. Peers are reached by mapping only; a kernel's transfers are the block's own copies, whatever the engine asked for
/// (streams use the copy engine).
#pragma once

#include <cuda/atomic>

#include "../transfer.hpp"
#include "cuda_launch.hpp"

namespace shoal::device {

/// Transfers are complete when they return.
class TransferEvent {
 public:
  __host__ __device__ bool done() const noexcept { return true; }
  __host__ __device__ void add() noexcept {}
};

namespace prim {

using Handle = const DeviceView*;

__device__ inline std::size_t& scratch_used(Handle) noexcept {
  __shared__ std::size_t used;
  return used;
}
/// The first Core of a launch finds no scratch used; those after it find what is. Shared memory holds anything at the start.
__device__ inline Handle attach(const DeviceView& view) noexcept {
  __shared__ std::uint64_t launch;
  __syncthreads();
  if (threadIdx.x == 0 && launch != view.launch) {
    launch = view.launch;
    scratch_used(&view) = 0;
  }
  __syncthreads();
  return &view;
}
__device__ inline int me(Handle core) noexcept { return core->me; }
__device__ inline int n_pes(Handle core) noexcept { return core->n_pes; }
__device__ inline int index(Handle) noexcept { return static_cast<int>(blockIdx.x); }
__device__ inline int cores(Handle) noexcept { return static_cast<int>(gridDim.x); }
__device__ inline int lane(Handle) noexcept { return static_cast<int>(threadIdx.x); }
__device__ inline int lanes(Handle) noexcept { return static_cast<int>(blockDim.x); }
__device__ inline void converge(Handle) noexcept { __syncthreads(); }
template <class T>
__device__ T share(Handle, T value) noexcept {
  __shared__ T shared;
  __syncthreads();
  if (threadIdx.x == 0) shared = value;
  __syncthreads();
  return shared;
}

__device__ inline void copy_text(char* to, const char* from, int room) noexcept {
  for (; room > 1 && *from != 0; --room) *to++ = *from++;
  *to = 0;
}
/// The first thread that fails describes its mistake for the host, which says it; the others wait for that: a trap ends all of them
/// at once.
__device__ [[noreturn]] inline void fail(Handle core, const char* call, const char* argument, Fault fault, const void* address = nullptr,
                                         std::size_t bytes = 0, int pe = -1, const char* text = "") noexcept {
  auto& launch = *static_cast<CudaLaunch*>(core->state);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> failed(launch.failed);
  unsigned nobody = 0;
  if (failed.compare_exchange_strong(nobody, 1, cuda::memory_order_relaxed)) {
    CudaFault& told = *launch.fault;
    told.core = static_cast<int>(blockIdx.x);
    told.pe = pe;
    told.fault = fault;
    told.address = address;
    told.bytes = bytes;
    told.launch = core->launch;
    copy_text(told.call, call, sizeof told.call);
    copy_text(told.argument, argument, sizeof told.argument);
    copy_text(told.text, text, sizeof told.text);
    __threadfence_system();
    *static_cast<volatile int*>(&told.told) = 1;
    __threadfence_system();
    failed.store(2, cuda::memory_order_release);
  } else {
    while (failed.load(cuda::memory_order_acquire) != 2) __nanosleep(100);
  }
  __trap();
  __builtin_unreachable();
}

__device__ inline bool holds(const SegmentView& segment, std::uintptr_t address, std::size_t bytes) noexcept {
  const std::uintptr_t offset = address - segment.base;
  return offset < segment.bytes && bytes <= segment.bytes - offset;
}
__device__ inline char* reach(Handle core, const void* address, std::size_t bytes, int pe, const char* call, const char* argument) noexcept {
  if (pe < 0 || pe >= core->n_pes) fail(core, call, "pe", Fault::pe, nullptr, 0, pe);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (bytes != 0 && !holds(core->heap, at, bytes))
    fail(core, call, argument, holds(core->heap, at, 1) ? Fault::overrun : Fault::foreign, address, bytes, pe);
  return core->heap.peers[pe] + (at - core->heap.base);
}
__device__ inline bool symmetric(Handle core, const void* address, std::size_t bytes) noexcept {
  return holds(core->heap, reinterpret_cast<std::uintptr_t>(address), bytes);
}
__device__ inline std::uint64_t place(Handle core, const void* address, std::size_t bytes) noexcept {
  return symmetric(core, address, bytes) ? reinterpret_cast<std::uintptr_t>(address) - core->heap.base + 1 : 0;
}
__device__ inline char* scratch(Handle) noexcept {
  extern __shared__ __align__(64) char shoal_scratch[];
  return shoal_scratch;
}
__device__ inline std::size_t scratch_bytes(Handle) noexcept {
  unsigned bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
}
__device__ inline void check_local(Handle core, const void* address, std::size_t bytes, const char* call, const char* argument) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at - core->heap.base < core->heap.bytes && bytes > core->heap.bytes - (at - core->heap.base))
    fail(core, call, argument, Fault::overrun, address, bytes, core->me);
  const std::uintptr_t offset = at - reinterpret_cast<std::uintptr_t>(scratch(core));
  if (offset < scratch_bytes(core) && bytes > scratch_bytes(core) - offset)
    fail(core, call, argument, Fault::overrun, address, bytes, core->me);
}

__device__ inline bool in_scratch(Handle core, const void* address, std::size_t bytes) noexcept {
  return holds({reinterpret_cast<std::uintptr_t>(scratch(core)), scratch_bytes(core), nullptr}, reinterpret_cast<std::uintptr_t>(address), bytes);
}

/// The widest of 16, 8, 4 and 1 bytes of which all of these are multiples: a word of the user's is written whole.
__device__ inline std::size_t unit_of(std::uintptr_t a, std::uintptr_t b, std::uintptr_t c = 0, std::uintptr_t d = 0, std::uintptr_t e = 0) noexcept {
  const std::uintptr_t all = a | b | c | d | e;
  return all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 1;
}
template <class Unit>
__device__ void copy_units(char* to, const char* from, std::ptrdiff_t to_stride, std::ptrdiff_t from_stride, std::size_t units,
                           std::size_t blocks) noexcept {
  for (std::size_t i = threadIdx.x; i < units * blocks; i += blockDim.x) {
    const auto block = static_cast<std::ptrdiff_t>(i / units);
    const std::size_t unit = i % units;
    reinterpret_cast<Unit*>(to + block * to_stride)[unit] = reinterpret_cast<const Unit*>(from + block * from_stride)[unit];
  }
}
__device__ inline void copy_strided(Handle, char* to, const char* from, std::ptrdiff_t to_stride, std::ptrdiff_t from_stride, std::size_t bytes,
                                    std::size_t blocks) noexcept {
  switch (unit_of(reinterpret_cast<std::uintptr_t>(to), reinterpret_cast<std::uintptr_t>(from), bytes, static_cast<std::uintptr_t>(to_stride),
                  static_cast<std::uintptr_t>(from_stride))) {
    case 16: copy_units<uint4>(to, from, to_stride, from_stride, bytes / 16, blocks); break;
    case 8: copy_units<unsigned long long>(to, from, to_stride, from_stride, bytes / 8, blocks); break;
    case 4: copy_units<unsigned>(to, from, to_stride, from_stride, bytes / 4, blocks); break;
    default: copy_units<char>(to, from, to_stride, from_stride, bytes, blocks); break;
  }
  __syncthreads();
}
/// The body in the widest units that both sides' places allow, and then the rest.
__device__ inline void copy(Handle, void* to, const void* from, std::size_t bytes) noexcept {
  auto* d = static_cast<char*>(to);
  const auto* s = static_cast<const char*>(from);
  const std::size_t unit = unit_of(reinterpret_cast<std::uintptr_t>(to), reinterpret_cast<std::uintptr_t>(from), bytes >= 16 ? 0 : bytes);
  const std::size_t body = bytes / unit * unit;
  switch (unit) {
    case 16: copy_units<uint4>(d, s, 0, 0, body / 16, 1); break;
    case 8: copy_units<unsigned long long>(d, s, 0, 0, body / 8, 1); break;
    case 4: copy_units<unsigned>(d, s, 0, 0, body / 4, 1); break;
    default: copy_units<char>(d, s, 0, 0, body, 1); break;
  }
  const std::size_t rest = bytes - body;
  switch (unit_of(reinterpret_cast<std::uintptr_t>(d + body), reinterpret_cast<std::uintptr_t>(s + body), rest)) {
    case 16: break;  // there is none
    case 8: copy_units<unsigned long long>(d + body, s + body, 0, 0, rest / 8, 1); break;
    case 4: copy_units<unsigned>(d + body, s + body, 0, 0, rest / 4, 1); break;
    default: copy_units<char>(d + body, s + body, 0, 0, rest, 1); break;
  }
  __syncthreads();
}

template <class T>
using Word = cuda::atomic_ref<T, cuda::thread_scope_system>;
template <class T>
inline constexpr bool kWord = (sizeof(T) == 4 || sizeof(T) == 8) && alignof(T) == sizeof(T);
/// What is no word of 4 or 8 bytes is written by its bytes, or whole where the GPU can.
template <class T>
__device__ void store(Handle, T* word, T value) noexcept {
  if constexpr (kWord<T>) {
    Word<T>(*word).store(value, cuda::memory_order_release);
  } else {
    __threadfence_system();
    if constexpr (std::is_arithmetic_v<T>)
      *const_cast<volatile T*>(word) = value;
    else
      *word = value;
  }
}
template <class T>
__device__ T load(Handle, const T* word) noexcept {
  if constexpr (kWord<T>) {
    return Word<T>(*const_cast<T*>(word)).load(cuda::memory_order_acquire);
  } else {
    T value;
    if constexpr (std::is_arithmetic_v<T>)
      value = *const_cast<const volatile T*>(word);
    else
      value = *word;
    __threadfence_system();
    return value;
  }
}
template <class T>
__device__ T update(Handle, Update what, T* word, T operand) noexcept {
  Word<T> target(*word);
  if constexpr (std::is_integral_v<T>) {
    switch (what) {
      case Update::bit_and: return target.fetch_and(operand);
      case Update::bit_or: return target.fetch_or(operand);
      case Update::bit_xor: return target.fetch_xor(operand);
      default: break;
    }
  }
  if (what == Update::fetch) return target.load();
  return what == Update::add ? target.fetch_add(operand) : target.exchange(operand);
}
template <class T>
__device__ T compare_swap(Handle, T* word, T expected, T value) noexcept {
  Word<T>(*word).compare_exchange_strong(expected, value);
  return expected;
}
__device__ inline void full_fence(Handle) noexcept { __threadfence_system(); }
__device__ inline void ring(Handle, int) noexcept {}
__device__ inline void ring_all(Handle) noexcept {}

/// Each lane polls for itself: they meet afterwards.
template <class Done>
__device__ void wait(Handle, const Site&, Done done) noexcept {
  while (!done()) __nanosleep(100);
}

__device__ inline bool delays(Handle) noexcept { return false; }
__device__ inline std::size_t xdma_from(Handle) noexcept { return ~std::size_t{0}; }
__device__ inline void move(Handle core, const Transfer& t) noexcept { fail(core, t.call, "pe", Fault::unreachable, nullptr, 0, t.pe); }
__device__ inline void submit(Handle core, const Transfer& t) noexcept {
  if (t.mapped == nullptr) fail(core, t.call, "pe", Fault::unreachable, nullptr, 0, t.pe);
  char* to = t.is_put ? t.mapped : static_cast<char*>(t.to);
  const char* from = t.is_put ? static_cast<const char*>(t.from) : t.mapped;
  if (t.blocks == 1)
    copy(core, to, from, t.bytes);
  else
    copy_strided(core, to, from, t.to_stride, t.from_stride, t.bytes, t.blocks);
  if (t.signal == nullptr) return;
  __threadfence_system();
  __syncthreads();
  auto* there = reinterpret_cast<std::uint64_t*>(reach(core, t.signal, sizeof *t.signal, t.pe, t.call, "signal"));
  if (threadIdx.x == 0) update(core, t.signal_op == SignalOp::set ? Update::swap : Update::add, there, t.signal_value);
}
template <class T>
__device__ T update_far(Handle core, Update, T*, T, T, int pe, const char* call) noexcept {
  fail(core, call, "pe", Fault::unreachable, nullptr, 0, pe);
}
__device__ inline void raise_far(Handle core, std::uint64_t*, std::uint64_t, int pe) noexcept {
  fail(core, "sync", "pe", Fault::unreachable, nullptr, 0, pe);
}
__device__ inline void drain(Handle) noexcept { __syncthreads(); }

/// All blocks are resident: the launch is cooperative.
__device__ inline void meet(Handle core, int first, int count, const char*) noexcept {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && count > 1) {
    CudaLaunch::Meeting& here = static_cast<CudaLaunch*>(core->state)->meetings[first];
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> arrived(here.arrived), epoch(here.epoch);
    const unsigned now = epoch.load(cuda::memory_order_acquire);
    if (arrived.fetch_add(1, cuda::memory_order_acq_rel) + 1 == static_cast<unsigned>(count)) {
      arrived.store(0, cuda::memory_order_relaxed);
      epoch.fetch_add(1, cuda::memory_order_release);
    } else {
      while (epoch.load(cuda::memory_order_acquire) == now) __nanosleep(50);
    }
  }
  __syncthreads();
}

__device__ inline std::uint64_t enter(Handle, char* words, const char*) noexcept {
  auto* const word = reinterpret_cast<std::uint64_t*>(words + SyncLayout::kEpoch);
  const std::uint64_t epoch = *word + 1;
  __syncthreads();  // every lane has read it
  if (threadIdx.x == 0) *word = epoch;
  return epoch;
}
__device__ inline void leave(Handle, char*) noexcept {}

__device__ inline char* sync_words(Handle core, int pe) noexcept { return core->sync[pe]; }

}  // namespace prim
}  // namespace shoal::device

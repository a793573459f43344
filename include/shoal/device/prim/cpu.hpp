// SPDX-License-Identifier: Apache-2.0
/// \file
/// The processor as a device: a core is a thread. What prim.hpp says of each function holds.
#pragma once

#include <cstring>

#include "../runtime.hpp"

#if defined(__SANITIZE_THREAD__)
#define SHOAL_DEVICE_TSAN_
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHOAL_DEVICE_TSAN_
#endif
#endif

namespace shoal::device::prim {

using Handle = CoreState*;

inline Handle attach(const DeviceView& view) noexcept { return static_cast<CoreState*>(view.state); }
inline int me(Handle core) noexcept { return core->me; }
inline int n_pes(Handle core) noexcept { return core->n_pes; }
inline int index(Handle core) noexcept { return core->index; }
inline int cores(Handle core) noexcept { return core->cores; }
inline int lane(Handle) noexcept { return 0; }
inline int lanes(Handle) noexcept { return 1; }
inline void converge(Handle) noexcept {}
template <class T>
T share(Handle, T value) noexcept {
  return value;
}

[[noreturn, gnu::cold]] inline void fail(Handle core, const char* call, const char* argument, Fault fault, const void* address = nullptr,
                                         std::size_t bytes = 0, int pe = -1, const char* text = "") noexcept {
  core->runtime->fail(*core, call, argument, fault, address, bytes, pe, text);
  __builtin_unreachable();  // g++ forgets that the virtual function does not return
}

inline bool holds(const SegmentView& segment, std::uintptr_t address, std::size_t bytes) noexcept {
  const std::uintptr_t offset = address - segment.base;
  return offset < segment.bytes && bytes <= segment.bytes - offset;
}

[[gnu::noinline, gnu::cold]] inline char* reach_slow(Handle core, const void* address, std::size_t bytes, int pe, const char* call,
                                                     const char* argument) noexcept {
  if (pe < 0 || pe >= core->n_pes) fail(core, call, "pe", Fault::pe, nullptr, 0, pe);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (bytes != 0 && !holds(core->last, at, bytes)) {
    const SegmentView found = core->runtime->find(at, bytes);
    if (found.peers == nullptr) {
      const bool begins_inside = core->runtime->find(at, 1).peers != nullptr;
      fail(core, call, argument, begins_inside ? Fault::overrun : Fault::foreign, address, bytes, pe);
    }
    core->last = found;
  }
  if (bytes == 0) return core->scratch;  // nothing will be accessed
  if (char* peer = core->last.peers[pe]) return peer + (at - core->last.base);
  if (!core->runtime->member(at, pe)) fail(core, call, argument, Fault::member, address, bytes, pe);
  return nullptr;
}

[[gnu::always_inline]] inline char* reach(Handle core, const void* address, std::size_t bytes, int pe, const char* call,
                                          const char* argument) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (static_cast<unsigned>(pe) < static_cast<unsigned>(core->n_pes) && bytes != 0) [[likely]] {
    const SegmentView* segment = holds(core->last, at, bytes) ? &core->last : holds(core->heap, at, bytes) ? &core->heap : nullptr;
    if (segment != nullptr && segment->peers[pe] != nullptr) [[likely]]
      return segment->peers[pe] + (at - segment->base);
  }
  return reach_slow(core, address, bytes, pe, call, argument);
}

/// Whether all of the range is symmetric memory.
inline bool symmetric(Handle core, const void* address, std::size_t bytes) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return holds(core->heap, at, bytes) || holds(core->last, at, bytes) || core->runtime->find(at, bytes).peers != nullptr;
}

inline std::uint64_t place(Handle core, const void* address, std::size_t bytes) noexcept {
  return core->runtime->place(reinterpret_cast<std::uintptr_t>(address), bytes);
}
inline bool in_scratch(Handle core, const void* address, std::size_t bytes) noexcept {
  return holds({reinterpret_cast<std::uintptr_t>(core->scratch), core->scratch_bytes, nullptr}, reinterpret_cast<std::uintptr_t>(address), bytes);
}

[[gnu::noinline, gnu::cold]] inline void check_local_slow(Handle core, const void* address, std::size_t bytes, const char* call,
                                                          const char* argument) noexcept {
  if (bytes == 0) return;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (!in_scratch(core, address, 1)) {
    SegmentView& found = core->local = core->runtime->around(at);
    if (found.peers != nullptr && !holds(found, at, bytes)) fail(core, call, argument, Fault::overrun, address, bytes, core->me);
    // Between two segments lies the core's scratch, perhaps: what is remembered ends or begins there.
    const auto scratch = reinterpret_cast<std::uintptr_t>(core->scratch), scratch_end = scratch + core->scratch_bytes;
    if (scratch - found.base < found.bytes)
      found = at < scratch ? SegmentView{found.base, scratch - found.base, nullptr}
                           : SegmentView{scratch_end, found.base + found.bytes - scratch_end, nullptr};
    return;
  }
  fail(core, call, argument, Fault::overrun, address, bytes, core->me);
}

/// A local range: what begins in symmetric memory or in the core's scratch must end there, too.
inline void check_local(Handle core, const void* address, std::size_t bytes, const char* call, const char* argument) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (holds(core->local, at, bytes) || holds(core->last, at, bytes) || holds(core->heap, at, bytes) || in_scratch(core, address, bytes)) [[likely]]
    return;
  check_local_slow(core, address, bytes, call, argument);
}
inline char* scratch(Handle core) noexcept { return core->scratch; }
inline std::size_t scratch_bytes(Handle core) noexcept { return core->scratch_bytes; }
inline std::size_t& scratch_used(Handle core) noexcept { return core->scratch_used; }

/// The polls' hint.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

template <class T>
inline constexpr bool kWord = std::is_trivially_copyable_v<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8) &&
                              alignof(T) == sizeof(T);

/// Two words of T that overlap unless there are 2 * sizeof(T) bytes; read before either is written.
template <class T>
void copy_as_two(char* to, const char* from, std::size_t bytes) noexcept {
  T first, last;
  std::memcpy(&first, from, sizeof(T));
  std::memcpy(&last, from + bytes - sizeof(T), sizeof(T));
  std::memcpy(to, &first, sizeof(T));
  std::memcpy(to + bytes - sizeof(T), &last, sizeof(T));
}
/// Up to 16 bytes in fewer instructions than a call of memmove takes.
inline void copy_few(char* to, const char* from, std::size_t bytes) noexcept {
  if (bytes >= 8) copy_as_two<std::uint64_t>(to, from, bytes);
  else if (bytes >= 4) copy_as_two<std::uint32_t>(to, from, bytes);
  else if (bytes >= 2) copy_as_two<std::uint16_t>(to, from, bytes);
  else if (bytes == 1) *to = *from;
}

/// A single word is written whole, and so that ThreadSanitizer knows: another PE may be polling it.
inline void copy(Handle, void* to, const void* from, std::size_t bytes) noexcept {
#ifdef SHOAL_DEVICE_TSAN_
  const auto aligned = [&](std::size_t width) {
    return bytes == width && (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % width == 0;
  };
  if (aligned(8)) return __atomic_store_n(static_cast<std::uint64_t*>(to), *static_cast<const std::uint64_t*>(from), __ATOMIC_RELEASE);
  if (aligned(4)) return __atomic_store_n(static_cast<std::uint32_t*>(to), *static_cast<const std::uint32_t*>(from), __ATOMIC_RELEASE);
#endif
  if (bytes <= 16) return copy_few(static_cast<char*>(to), static_cast<const char*>(from), bytes);
  std::memmove(to, from, bytes);
}
inline void copy_strided(Handle, char* to, const char* from, std::ptrdiff_t to_stride, std::ptrdiff_t from_stride, std::size_t bytes,
                         std::size_t blocks) noexcept {
  if (bytes == 4)
    for (std::size_t i = 0; i < blocks; ++i, to += to_stride, from += from_stride) std::memcpy(to, from, 4);
  else if (bytes == 8)
    for (std::size_t i = 0; i < blocks; ++i, to += to_stride, from += from_stride) std::memcpy(to, from, 8);
  else
    for (std::size_t i = 0; i < blocks; ++i, to += to_stride, from += from_stride) std::memmove(to, from, bytes);
}

/// Release and acquire, not relaxed: free on x86-64, and what ThreadSanitizer understands in place of fences.
template <class T>
void store(Handle, T* word, T value) noexcept {
  if constexpr (kWord<T>)
    __atomic_store(word, &value, __ATOMIC_RELEASE);
  else
    std::memcpy(static_cast<void*>(word), &value, sizeof value);
}
template <class T>
T load(Handle, const T* word) noexcept {
  T value;
  if constexpr (kWord<T>)
    __atomic_load(const_cast<T*>(word), &value, __ATOMIC_ACQUIRE);
  else
    std::memcpy(static_cast<void*>(&value), word, sizeof value);
  return value;
}

template <class T>
T update(Handle, Update what, T* word, T operand) noexcept {
  std::atomic_ref<T> target(*word);
  if constexpr (std::is_integral_v<T>) {
    switch (what) {
      case Update::add: return target.fetch_add(operand, std::memory_order_seq_cst);
      case Update::bit_and: return target.fetch_and(operand, std::memory_order_seq_cst);
      case Update::bit_or: return target.fetch_or(operand, std::memory_order_seq_cst);
      case Update::bit_xor: return target.fetch_xor(operand, std::memory_order_seq_cst);
      case Update::fetch: return target.load(std::memory_order_seq_cst);
      default: return target.exchange(operand, std::memory_order_seq_cst);
    }
  } else {
    if (what == Update::fetch) return target.load(std::memory_order_seq_cst);
    return what == Update::add ? target.fetch_add(operand, std::memory_order_seq_cst) : target.exchange(operand, std::memory_order_seq_cst);
  }
}
template <class T>
T compare_swap(Handle, T* word, T expected, T value) noexcept {
  std::atomic_ref<T>(*word).compare_exchange_strong(expected, value, std::memory_order_seq_cst);
  return expected;
}

/// Stores before it are seen before loads after it.
inline void full_fence(Handle core) noexcept {
  core->fence_word.fetch_add(1, std::memory_order_seq_cst);
#if !defined(__x86_64__) && !defined(SHOAL_DEVICE_TSAN_)
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// After a word of `pe` was written by a locked instruction: wakes who sleeps there.
inline void ring(Handle core, int pe) noexcept {
#if !defined(__x86_64__)
  full_fence(core);
#endif
  const Bells& bells = core->bells[pe];
  if (bells.user != nullptr && (bells.user->load(std::memory_order_relaxed) | bells.sync->load(std::memory_order_relaxed)) != 0) [[unlikely]]
    core->runtime->ring(pe);
}

template <class Done>
void wait(Handle core, const Site& site, Done done) noexcept {
  for (int i = 0; i < core->spins; ++i) {
    if (done()) return;
    relax();
  }
  if (done()) return;
  core->runtime->wait(*core, site, [](void* d) { return (*static_cast<Done*>(d))(); }, &done);
}

inline bool delays(Handle core) noexcept { return core->delays; }
inline std::size_t xdma_from(Handle core) noexcept { return core->xdma_from; }
inline void submit(Handle core, const Transfer& transfer) noexcept {
  ++core->submitted;
  core->runtime->submit(*core, transfer);
}
inline void move(Handle core, const Transfer& transfer) noexcept { core->runtime->move(*core, transfer); }
template <class T>
T update_far(Handle core, Update what, T* word, T operand, T compare, int pe, const char* call) noexcept {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  if constexpr (std::is_floating_point_v<T>) {
    if (what == Update::add) {  // the library adds integers only
      T seen = update_far(core, Update::fetch, word, T{}, T{}, pe, call);
      for (T before; std::memcmp(&(before = update_far(core, Update::compare_swap, word, static_cast<T>(seen + operand), seen, pe, call)), &seen, sizeof seen) != 0;)
        seen = before;
      return seen;
    }
  }
  std::uint64_t bits = 0, expected = 0;
  std::memcpy(&bits, &operand, sizeof operand);
  std::memcpy(&expected, &compare, sizeof compare);
  const std::uint64_t before = core->runtime->update(*core, what, word, sizeof(T), bits, expected, pe, call);
  T old;
  std::memcpy(&old, &before, sizeof old);
  return old;
}
inline void raise_far(Handle core, std::uint64_t* word, std::uint64_t value, int pe) noexcept { core->runtime->raise(word, value, pe); }
/// All transfers that this core handed to engines are done.
inline void drain(Handle core) noexcept {
  if (core->completed.load(std::memory_order_acquire) == core->submitted) return;
  wait(core, {"quiet", &core->completed, static_cast<std::int64_t>(core->submitted)},
       [core] { return core->completed.load(std::memory_order_acquire) == core->submitted; });
}
inline void ring_all(Handle core) noexcept {
  if (core->node_sleepers->load(std::memory_order_relaxed) != 0) [[unlikely]]
    core->runtime->ring(-1);
}

/// `count` cores from `first` on meet.
inline void meet(Handle core, int first, int count, const char* call) noexcept {
  if (count == 1) return;
  Meeting& here = core->launch->meetings[first];
  const std::uint32_t epoch = here.epoch.load(std::memory_order_acquire);
  if (here.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(count)) {
    here.arrived.store(0, std::memory_order_relaxed);
    here.epoch.fetch_add(1, std::memory_order_seq_cst);  // lets the others go; they may come back at once
    ring(core, core->me);
    return;
  }
  const std::uint64_t cores = ~std::uint64_t{0} >> (64 - count) << first;
  wait(core, {call, &here.epoch, epoch, nullptr, false, cores}, [&] { return here.epoch.load(std::memory_order_acquire) != epoch; });
}

inline std::uint64_t enter(Handle core, char* words, const char* call) noexcept {
  const auto word = [words](std::size_t offset) { return reinterpret_cast<std::uint64_t*>(words + offset); };
  const std::uint64_t other =
      __atomic_exchange_n(word(SyncLayout::kOwner), std::uint64_t{reinterpret_cast<std::uintptr_t>(core->launch)}, __ATOMIC_ACQUIRE);
  if (other != 0) [[unlikely]]
    fail(core, call, "team", Fault::busy, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(other)));
  const std::uint64_t epoch = *word(SyncLayout::kEpoch) + 1;
  if (*word(SyncLayout::kMetBy) != core->launch->number) {  // who waits in vain looks at these (CpuRuntime::smaller_launch)
    __atomic_store_n(word(SyncLayout::kMet), Met{epoch, core->cores}.word(), __ATOMIC_RELEASE);
    __atomic_store_n(word(SyncLayout::kMetBy), core->launch->number, __ATOMIC_RELEASE);
  }
  __atomic_store_n(word(SyncLayout::kEpoch), epoch, __ATOMIC_RELEASE);
  return epoch;
}
inline void leave(Handle, char* words) noexcept {
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(words + SyncLayout::kOwner), std::uint64_t{0}, __ATOMIC_RELEASE);
}

inline char* sync_words(Handle core, int pe) noexcept { return core->sync[pe]; }

}  // namespace shoal::device::prim

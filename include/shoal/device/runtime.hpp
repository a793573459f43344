// SPDX-License-Identifier: Apache-2.0
/// \file
/// The cpu backend's side of a kernel: the state of a core, and what the library does for it where plain loads and stores don't
/// do. Not for users: prim/cpu.hpp calls it, the library implements it.
#pragma once

#include <atomic>

#include "transfer.hpp"

namespace shoal::device {

/// How many transfers of one kind are outstanding: handed to low-level transfers, waited for by Core::wait. It must not go out
/// of scope before it has been waited for, or quiet called.
class TransferEvent {
 public:
  bool done() const noexcept { return pending_.load(std::memory_order_acquire) == 0; }
  void add() noexcept { pending_.fetch_add(1, std::memory_order_relaxed); }
  void complete() noexcept { pending_.fetch_sub(1, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> pending_{0};
};

struct CoreState;

class Runtime {
 public:
  virtual ~Runtime() = default;
  /// The segment that holds the range, or an empty one.
  virtual SegmentView find(std::uintptr_t address, std::size_t bytes) const noexcept = 0;
  /// The segment that holds `address`; else, with no `peers`, the gap between segments that does.
  virtual SegmentView around(std::uintptr_t address) const noexcept = 0;
  /// Whether `pe` has the segment that holds `address`, mapped here or not.
  virtual bool member(std::uintptr_t address, int pe) const noexcept = 0;
  /// A number for the place in symmetric memory, the same on all PEs; 0 for a range that is not symmetric.
  virtual std::uint64_t place(std::uintptr_t address, std::size_t bytes) const noexcept = 0;
  /// Queues a transfer; `core.completed` grows by one when it is done.
  virtual void submit(CoreState& core, const Transfer& transfer) noexcept = 0;
  /// Does it now, through the transports.
  virtual void move(CoreState& core, const Transfer& transfer) noexcept = 0;
  /// `width` is 4 or 8. @return the value before
  virtual std::uint64_t update(CoreState& core, Update what, void* word, int width, std::uint64_t operand, std::uint64_t compare, int pe,
                               const char* call) noexcept = 0;
  /// Sets a sync word at a PE of another node, behind all that was raised there before; waits for nothing.
  virtual void raise(std::uint64_t* word, std::uint64_t value, int pe) noexcept = 0;
  /// Returns when `done(argument)`: yields, then sleeps.
  virtual void wait(CoreState& core, const Site& site, bool (*done)(void*), void* argument) noexcept = 0;
  /// Wakes whoever of `pe` sleeps; of all PEs for -1.
  virtual void ring(int pe) noexcept = 0;
  /// Ends the job with a line that names kernel, core, call and argument. `text` is for Fault::text.
  [[noreturn]] virtual void fail(const CoreState& core, const char* call, const char* argument, Fault fault, const void* address,
                                 std::size_t bytes, int pe, const char* text) const noexcept = 0;
};

/// Who of a PE's threads sleeps.
struct Bells {
  const std::atomic<std::uint32_t>* sync = nullptr;
  const std::atomic<std::uint32_t>* user = nullptr;
};

/// A meeting point of the cores of a launch.
struct alignas(64) Meeting {
  std::atomic<std::uint32_t> arrived{0};
  std::atomic<std::uint32_t> epoch{0};
};

/// What the cores of one launch share.
struct LaunchState {
  Meeting meetings[kMostCores];  ///< by the first core of the group that meets
  std::atomic<std::uint64_t> ended{0};  ///< the cores whose kernel has returned, a bit each
  const char* kernel = nullptr;  ///< its name, or null: to be looked up by `entry`
  const void* entry = nullptr;
  std::uint64_t number = 0;      ///< no other launch of this PE has it
};

struct alignas(64) CoreState {
  Runtime* runtime = nullptr;
  LaunchState* launch = nullptr;
  int index = 0, cores = 0, me = 0, n_pes = 0;
  SegmentView heap, last;        ///< the default heap, and the segment used last beside it, in this launch
  SegmentView local;             ///< what the last local range began in, in this launch: a segment, or a gap between segments
  const void* team = nullptr;    ///< of aclshmemx: the one found valid last, in this launch
  const Bells* bells = nullptr;  ///< by world PE; null where it cannot be mapped
  const std::atomic<std::uint32_t>* node_sleepers = nullptr;
  char* const* sync = nullptr;
  char* scratch = nullptr;
  std::size_t scratch_bytes = 0, scratch_used = 0;
  std::size_t xdma_from = 0;     ///< non-blocking transfers of this many bytes and more go to xdma by themselves
  int spins = 0;                 ///< polls before a wait gives the processor away
  bool delays = false;           ///< tests: everything that may be late is
  std::uint64_t submitted = 0;   ///< transfers handed to engines
  std::atomic<std::uint32_t> fence_word{0};
  alignas(64) std::atomic<std::uint64_t> completed{0};
};

static_assert(kMostCores <= 64);  // LaunchState::ended

/// The core whose kernel runs on this thread; null on the host.
inline thread_local CoreState* current_core = nullptr;

}  // namespace shoal::device

// SPDX-License-Identifier: Apache-2.0
// Holds the other threads of this process still for a moment.
//
// Each gets a real-time signal that nobody uses (62 or the next below with the default disposition,
// which is restored afterwards) and waits in its handler. Blocking calls that a signal interrupts may return EINTR. A
// thread that blocks the signal can't be stopped but is watched instead: as long as it sleeps in the kernel it writes
// nothing, and whether it slept all the time shows in its count of context switches. That covers helper threads that
// wait with all signals blocked (ours, sanitizers', qemu's). gdb stops at the signal unless it is told `handle SIG62
// nostop noprint pass`; without other threads none is sent.
//
// A held thread may hold any lock, malloc's above all. So from construction to release() the caller allocates nothing,
// throws nothing, and calls no more of libc than raw_syscall.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace shoal {

class ThreadHold final {
 public:
  /// Returns when every other thread waits in the handler or is one to watch. Only one at a time per process: callers
  /// lock.
  /// @throws Error naming the thread that didn't stop until `deadline_ns` (as now_ns()); all go on then
  explicit ThreadHold(std::uint64_t deadline_ns);
  ThreadHold(const ThreadHold&) = delete;
  ThreadHold& operator=(const ThreadHold&) = delete;
  ~ThreadHold() { release(); }

  /// Once more: looks for threads that started meanwhile and for watched ones that can be stopped now, and takes note
  /// of what the watched ones do. False when that fails: release() and throw_failure().
  bool hold_all() noexcept;
  /// Whether all watched threads have slept since then, so that nobody wrote anything.
  bool watched_slept() const noexcept;
  /// Whether the deadline has passed.
  bool expired() const noexcept;
  /// Lets all go on, and waits until they have left the handler. Does nothing the second time.
  void release() noexcept;
  /// Throws what hold_all() failed of, if it did; to be called after release().
  void throw_failure() const;
  /// Names the watched threads, for an error; to be called after release().
  std::string describe_watched() const;

 private:
  struct Control;
  struct Entry;
  /// What went wrong while threads are held, to be put into words when they aren't any more.
  struct Failure {
    enum What { none, no_proc, no_signal, no_handler, no_delivery, not_stopping, too_many } what = none;
    int tid = 0;
    long error = 0;  ///< -errno
  };

  static void on_signal(int signal, void* info, void* context);
  static Control* control_block();
  Failure start() noexcept;
  Failure meet_all(int tasks, bool& found_new) noexcept;
  Failure meet(int tasks, int tid, bool& found_new) noexcept;
  Failure signal_willing() noexcept;
  Failure wait_for_arrivals() noexcept;
  std::string explain(const Failure& failure) const;

  std::uint64_t deadline_ns_;
  Control* control_ = nullptr;
  int signal_ = 0;  ///< 0: no handler installed
  bool released_ = false;
  Failure failure_;
};

}  // namespace shoal

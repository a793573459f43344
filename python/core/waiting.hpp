// SPDX-License-Identifier: Apache-2.0
// How Python waits: without the interpreter's lock, in a way that Ctrl-C and a deadline can end.
#pragma once
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace shoal::python {

/// Becomes a TimeoutError.
class Timeout : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Runs the handlers of signals that came in, if this is the main thread. @throws what they raise
void run_signal_handlers();

/// @throws std::runtime_error once the job of this epoch has ended
void leave_if_ended(std::uint64_t epoch);

/// Sends and receives that others of this process's threads have started: a PE that waits in a collective must not hold
/// up the one that its messages are for.
void move_transfers_on();

inline std::uint64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// For Backoff, so many seconds from now; those that nobody lives to see are none.
inline std::uint64_t deadline_after(double seconds) noexcept {
  return seconds < 1e9 ? now_ns() + static_cast<std::uint64_t>(seconds > 0 ? seconds * 1e9 : 0) : 0;
}

inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// Whether this thread works beside one that computes, so that polling would take the processor from it.
inline thread_local bool in_background = false;
inline void enter_background() noexcept {
  in_background = true;
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // naps end when asked to, not 50 us later
}

/// What a waiter does between looks, and when it gives up. One for each wait. The caller doesn't hold the interpreter's
/// lock.
class Backoff final {
 public:
  /// @param crowded     more PEs than processors: whoever polls keeps another from running
  /// @param deadline    on now_ns()'s clock; 0 for none
  /// @param epoch       the Runtime's; 0 where finalize ends the wait by what it waits for
  Backoff(bool crowded, std::uint64_t deadline, std::uint64_t epoch = 0) noexcept
      : spins_(crowded || in_background ? 8 : 4000),
        yields_(in_background ? 0 : kYields),
        deadline_(deadline),
        epoch_(epoch) {}

  /// @param what() is the text for a TimeoutError
  template <class What>
  void pause(What&& what) {
    if (looks_ < spins_) {
      ++looks_;
      relax();
      return;
    }
    move_transfers_on();
    if (looks_ < spins_ + yields_) {
      ++looks_;
      ::sched_yield();
    } else {
      sleep();
      if (++sleeps_ % kSleepsPerCheck == 0) run_signal_handlers();
      if (deadline_ != 0 && now_ns() > deadline_) throw Timeout(what());
    }
    if (epoch_ != 0) leave_if_ended(epoch_);  // last: a signal's handler may have ended it
  }

 private:
  static constexpr int kYields = 100;  // not beside a thread that computes: it would get the processor for all its turn
  static constexpr int kSleepsPerCheck = 50;
  static constexpr long kFirstSleepNs = 20'000, kLongestSleepNs = 200'000;

  void sleep() noexcept {
    const timespec time{0, next_sleep_};
    ::nanosleep(&time, nullptr);
    if (next_sleep_ < kLongestSleepNs) next_sleep_ += next_sleep_ / 4;
  }

  int spins_, yields_, looks_ = 0, sleeps_ = 0;
  long next_sleep_ = kFirstSleepNs;
  std::uint64_t deadline_, epoch_;
};

}  // namespace shoal::python

// SPDX-License-Identifier: Apache-2.0
// For threads of the library's own, on which the program's signal handlers must never run.
#pragma once
#include <signal.h>

#include "base/fence.hpp"

namespace shoal {

/// What holds a process's threads while its static data moves (memory/thread_hold). Not the highest: qemu-user takes
/// handlers for 63 and 64 but never delivers.
inline constexpr int kHoldSignal = 62;

/// While it lives, the calling thread blocks all signals, and so do threads that it starts, for good; save what a
/// thread brings upon itself (a crash is the program's handler's to report) and SIGPROF, by which profilers look at
/// every thread. kHoldSignal passes where these threads may run while static data move; under ThreadSanitizer always,
/// since whatever they do then writes to the sanitizer's state among the program's data.
class QuietSignals final {
 public:
#ifdef SHOAL_TSAN
  static constexpr bool kAlwaysHoldable = true;
#else
  static constexpr bool kAlwaysHoldable = false;
#endif
  explicit QuietSignals(bool holdable = kAlwaysHoldable) noexcept {
    sigset_t blocked;
    ::sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF}) ::sigdelset(&blocked, own);
    if (holdable || kAlwaysHoldable) ::sigdelset(&blocked, kHoldSignal);
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~QuietSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace shoal

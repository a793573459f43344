// SPDX-License-Identifier: Apache-2.0
// Who makes a file larger than the limit (ulimit -f) gets an error, and besides a signal that ends the process before
// anyone could say why.
#pragma once
#include <signal.h>

#include <cerrno>
#include <ctime>

namespace shoal {

/// While it lives, the calling thread gets only the error, EFBIG.
class NoFileSizeSignal final {
 public:
  NoFileSizeSignal() noexcept {
    ::sigemptyset(&over_);
    ::sigaddset(&over_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &over_, &before_);
    sigset_t pending;
    ::sigpending(&pending);
    programs_ = ::sigismember(&pending, SIGXFSZ) != 0;
  }
  ~NoFileSizeSignal() {
    const int error = errno;
    const timespec at_once{0, 0};
    if (!programs_) ::sigtimedwait(&over_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t over_, before_;
  bool programs_;  // one was pending already: it is the program's
};

}  // namespace shoal

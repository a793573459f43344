// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/monitor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/quiet_signals.hpp"

namespace shoal {
namespace {

constexpr size_t kStack = 256u << 10;  // poll needs little; a program's thread-local data lives on this stack as well
constexpr long kFlushNs = 150'000'000;
constexpr int kLastThreadMs = 1000;  // between looks whether the program has threads left

/// Starts a thread with all signals blocked. Returns 0 or an error number.
int start_quiet_thread(pthread_t* thread, void* (*run)(void*), void* argument) noexcept {
  const QuietSignals quiet;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStack);
  int error = ::pthread_create(thread, &attributes, run, argument);
  // EINVAL: the program's thread-local data alone is larger than our stack.
  if (error == EINVAL) error = ::pthread_create(thread, nullptr, run, argument);
  ::pthread_attr_destroy(&attributes);
  return error;
}

/// Whether main has ended and the calling thread is the only one left. False where /proc does not tell.
bool is_last_thread() noexcept {
  const UniqueFd file(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t n = file ? ::read(file.get(), text, sizeof text - 1) : -1;
  if (n <= 0) return false;
  text[n] = '\0';
  const char* at = std::strrchr(text, ')');  // the name before may hold anything
  if (at == nullptr || std::strncmp(at, ") Z ", 4) != 0) return false;
  // From the third field on: the state, 16 more, then the number of threads, of which main, a zombie, is one.
  long threads = 0;
  return std::sscanf(at + 2, "%*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld", &threads) ==
             1 &&
         threads == 2;
}

void* end_program(void* signals) {
  ::pthread_sigmask(SIG_SETMASK, static_cast<const sigset_t*>(signals), nullptr);
  std::exit(0);
}

void* flush_all(void*) {
  std::fflush(nullptr);
  return nullptr;
}

}  // namespace

void flush_stdio_briefly() noexcept {
  pthread_t thread;
  if (start_quiet_thread(&thread, flush_all, nullptr) != 0) return;
  timespec deadline;
  ::clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_nsec += kFlushNs;
  if (deadline.tv_nsec >= 1'000'000'000) {
    deadline.tv_sec += 1;
    deadline.tv_nsec -= 1'000'000'000;
  }
  ::pthread_timedjoin_np(thread, nullptr, &deadline);
}

Monitor::Monitor(int life_fd, Ends ends) : life_fd_(life_fd), ends_(ends), owner_(::getpid()) {
  ::pthread_sigmask(SIG_BLOCK, nullptr, &signals_);
  const int error = start_quiet_thread(&thread_, run, this);
  if (error != 0) {
    errno = error;
    throw_errno("cannot start the thread that watches the launcher: pthread_create");
  }
}

Monitor::~Monitor() {
  if (::getpid() != owner_) return;
  stop_.raise();
  ::pthread_join(thread_, nullptr);
}

void* Monitor::run(void* argument) {
  auto* self = static_cast<Monitor*>(argument);
  pollfd fds[2] = {{self->stop_.fd(), POLLIN, 0}, {self->life_fd_, POLLIN, 0}};
  int wait_ms = kLastThreadMs;
  for (int ready; (ready = ::poll(fds, 2, wait_ms)) <= 0;) {
    if (ready < 0 || !is_last_thread()) continue;
    // On a thread with a stack of the usual size, since exit handlers are the program's; this one still watches.
    wait_ms = -1;
    pthread_t thread;
    if (::pthread_create(&thread, nullptr, end_program, &self->signals_) != 0) end_program(&self->signals_);
    ::pthread_detach(thread);
  }
  // POLLNVAL: the program closed the descriptor; then there is nothing left to watch.
  if (fds[0].revents != 0 || (fds[1].revents & POLLNVAL) != 0) return nullptr;
  flush_stdio_briefly();
  // Not _exit: whatever a tool hooks into it might wait for the very lock that the flush could not get.
  ::kill(self->ends_ == Ends::group ? 0 : ::getpid(), SIGKILL);
  return nullptr;
}

}  // namespace shoal

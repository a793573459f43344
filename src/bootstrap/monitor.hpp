// SPDX-License-Identifier: Apache-2.0
// A thread that sleeps on the job's life line: a pipe whose other end only the launcher holds. When that end closes,
// because the launcher died or because it ends the job, this PE ends at once, whatever its other threads are doing.
//
// It also sees to it that it does not keep the process alive: when main has ended by pthread_exit and no thread of the
// program is left, the process ends as it would without this thread, by exit(0).
#pragma once
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include <string>

#include "base/event_fd.hpp"

namespace shoal {

class Monitor final {
 public:
  enum class Ends { group, process };
  /// Starts the thread; all signals are blocked in it. `life_fd` is not owned. `ends`: the whole process group, for
  /// a PE whose launcher made the group, or this process alone. @throws Error{system}
  Monitor(int life_fd, Ends ends);
  /// Stops the thread. In a forked child, which has no such thread, it only frees.
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

 private:
  static void* run(void* self);
  const int life_fd_;
  const Ends ends_;
  const pid_t owner_;
  const EventFd stop_;
  sigset_t signals_;  // blocked in the thread that made this one
  pthread_t thread_;
};

/// Writes out what stdio still holds, for 150 ms at most: another thread may be blocked inside a stream, with its lock.
void flush_stdio_briefly() noexcept;

}  // namespace shoal

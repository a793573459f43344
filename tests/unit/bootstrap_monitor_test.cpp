// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/monitor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/clock.hpp"
#include "base/fence.hpp"

namespace shoal {
namespace {

struct Pipe {
  UniqueFd read_end, write_end;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
  }
};

/// The wait status of `pid`, or -1 after 10 s; then it is killed.
int wait_for(pid_t pid) {
  int status = -1;
  for (const std::uint64_t deadline = now_ns() + 10'000'000'000; now_ns() < deadline;) {
    if (::waitpid(pid, &status, WNOHANG) == pid) return status;
    ::poll(nullptr, 0, 1);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return -1;
}

/// Everything that comes until all writers are gone.
std::string read_all(int fd) {
  std::string text;
  char bytes[256];
  for (ssize_t n; (n = ::read(fd, bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<size_t>(n));
  return text;
}

[[noreturn]] void sleep_for_ever() {
  while (true) ::pause();
}

TEST(Monitor, StartsAndStopsTenThousandTimes) {
  Pipe life;
  for (int i = 0; i < 10'000; ++i) Monitor monitor(life.read_end.get(), Monitor::Ends::process);
}

TEST(Monitor, TakesNoSignalOfTheProgram) {
  Pipe life;
  sigset_t usr1, before;
  ::sigemptyset(&usr1);
  ::sigaddset(&usr1, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &usr1, &before);
  {
    const Monitor monitor(life.read_end.get(), Monitor::Ends::process);
    ::kill(::getpid(), SIGUSR1);  // would end the process if the monitor's thread took it
    const timespec second{1, 0};
    EXPECT_EQ(::sigtimedwait(&usr1, nullptr, &second), SIGUSR1);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Monitor, EndsTheProcessWhenTheLifeLineBreaksAndWritesOutWhatStdioHolds) {
  Pipe life, output, ready;
  const pid_t pid = ::fork();
  if (pid == 0) {
    life.write_end.reset();
    std::FILE* stream = ::fdopen(::dup(output.write_end.get()), "w");
    output.write_end.reset();
    std::fputs("not flushed", stream);
    const Monitor monitor(life.read_end.get(), Monitor::Ends::process);
    ready.write_end.reset();
    sleep_for_ever();
  }
  output.write_end.reset();
  ready.write_end.reset();
  read_all(ready.read_end.get());
  life.write_end.reset();
  const int status = wait_for(pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_EQ(read_all(output.read_end.get()), "not flushed");
}

TEST(Monitor, EndsAProcessWhoseStreamIsLocked) {
  Pipe life, ready;
  const pid_t pid = ::fork();
  if (pid == 0) {
    life.write_end.reset();
    ::flockfile(stdout);
    const Monitor monitor(life.read_end.get(), Monitor::Ends::process);
    ready.write_end.reset();
    sleep_for_ever();
  }
  ready.write_end.reset();
  read_all(ready.read_end.get());
  const std::uint64_t start = now_ns();
  life.write_end.reset();
  EXPECT_NE(wait_for(pid), -1);
  EXPECT_LT(now_ns() - start, 3'000'000'000u);
}

TEST(Monitor, EndsTheWholeProcessGroup) {
  Pipe life, held;  // `held` closes when the last process of the group is gone
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    life.write_end.reset();
    held.read_end.reset();
    if (::fork() == 0) {
      life.read_end.reset();
      sleep_for_ever();
    }
    const Monitor monitor(life.read_end.get(), Monitor::Ends::group);
    [[maybe_unused]] const ssize_t n = ::write(held.write_end.get(), "r", 1);
    sleep_for_ever();
  }
  held.write_end.reset();
  char byte;
  ASSERT_EQ(::read(held.read_end.get(), &byte, 1), 1);
  life.write_end.reset();
  const int status = wait_for(pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  pollfd closed{held.read_end.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&closed, 1, 10'000), 1) << "the grandchild lives on";
}

TEST(Monitor, DoesNotKeepAliveAProcessWhoseLastThreadHasEnded) {
#ifdef SHOAL_TSAN
  GTEST_SKIP() << "the sanitizer's own thread lives on";
#endif
  Pipe life, output;
  const pid_t pid = ::fork();
  if (pid == 0) {
    static int fd;
    static Monitor* monitor;
    fd = output.write_end.get();
    monitor = new Monitor(life.read_end.get(), Monitor::Ends::process);
    std::atexit([] {
      delete monitor;
      [[maybe_unused]] const ssize_t n = ::write(fd, "exit handler", 12);
      ::_exit(6);  // the test program's own handlers are none of this process's business
    });
    std::thread([] {
      ::poll(nullptr, 0, 1500);  // the monitor looks meanwhile, and main has ended
      [[maybe_unused]] const ssize_t n = ::write(fd, "thread, ", 8);
    }).detach();
    ::syscall(SYS_exit, 0);  // this thread; the test framework would catch what pthread_exit throws
  }
  output.write_end.reset();
  const int status = wait_for(pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 6) << status;
  EXPECT_EQ(read_all(output.read_end.get()), "thread, exit handler");
}

TEST(Monitor, AForkedChildHasNoneAndEndsNormally) {
  Pipe life;
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto monitor = std::make_unique<Monitor>(life.read_end.get(), Monitor::Ends::process);
    const pid_t child = ::fork();
    if (child == 0) {
      monitor.reset();
      ::_exit(5);
    }
    const int status = wait_for(child);
    monitor.reset();
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
  }
  const int status = wait_for(pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status;
}

}  // namespace
}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "guard.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/process_state.hpp"
#include "base/unique_fd.hpp"
#include "report.hpp"

namespace shoal::run {
namespace {

constexpr std::uint64_t kSweepNs = 5'000'000'000;  // for processes that the kernel will not let go at once

/// The parent of `pid`, or -1.
pid_t parent_of(pid_t pid) {
  const std::string stat = stat_from_state(pid);
  return stat.size() < 2 ? -1 : std::atoi(stat.c_str() + 2);
}

/// This process's number in /proc: not getpid() when that is mounted for another pid namespace.
pid_t own_number() {
  char name[32] = "";
  return ::readlink("/proc/self", name, sizeof name - 1) > 0 ? std::atoi(name) : ::getpid();
}

/// Kills and reaps children, and those that they leave to us, until there are none.
void sweep() {
  for (const std::uint64_t deadline = now_ns() + kSweepNs; now_ns() < deadline;) {
    pid_t ended;
    while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (ended < 0) return;
    kill_children();
    ::poll(nullptr, 0, 2);
  }
}

int guard(pid_t job, const sigset_t& signals, const std::function<void()>& killed) {
  while (true) {
    siginfo_t info;
    const int signal = ::sigwaitinfo(&signals, &info);
    if (signal < 0) continue;
    if (signal != SIGCHLD) {
      ::kill(job, signal);
      if (signal == SIGTSTP) ::raise(SIGSTOP);
      continue;
    }
    int status = 0;
    if (::waitpid(job, &status, WNOHANG) != job) continue;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    sweep();
    say(strf("the process that ran the job (pid %d) was killed by %s; the PEs have been ended", static_cast<int>(job),
             signal_text(WTERMSIG(status)).c_str()));
    killed();
    return 128 + WTERMSIG(status);
  }
}

}  // namespace

sigset_t handled_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    struct sigaction action;
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) ::sigaddset(&set, signal);
  }
  return set;
}

int run_guarded(const std::function<int(int guard_fd)>& body, const std::function<void()>& killed) {
  const sigset_t signals = handled_signals();
  // An ignored SIGCHLD, inherited from whoever started us, would hide how the children ended.
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t blocked = signals;
  for (const int signal : kToldByErrors) ::sigaddset(&blocked, signal);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // not inherited: each of the two processes asks for itself
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe2");
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  const pid_t job = ::fork();
  if (job < 0) throw_errno("fork");
  if (job == 0) {
    write_end.reset();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::prctl(PR_SET_PDEATHSIG, SIGCONT);  // stopped, it could not see that the pipe has closed
    std::exit(body(read_end.get()));
  }
  read_end.reset();
  // Standard input is the job's: holding it here would keep its writer from noticing that the reader is gone.
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null) ::dup2(null.get(), STDIN_FILENO);
  return guard(job, signals, killed);
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return found;
  const pid_t self = own_number();
  while (const dirent* entry = ::readdir(proc)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 0 && parent_of(pid) == self) found.push_back(pid);
  }
  ::closedir(proc);
  return found;
}

void kill_children() {
  const pid_t self = own_number();
  for (const pid_t child : children()) {
    // Its folder in /proc stands for the process itself, whatever its number is here.
    const UniqueFd process(::open(("/proc/" + std::to_string(child)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!process || parent_of(child) != self) continue;
    if (::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) != 0 && self == ::getpid())
      ::kill(child, SIGKILL);
  }
}

}  // namespace shoal::run

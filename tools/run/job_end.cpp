// SPDX-License-Identifier: Apache-2.0
// What it means for the job that a PE ended, spoke or that a signal came; and how the job is brought to its end.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "guard.hpp"
#include "job.hpp"

namespace shoal::run {
namespace {

int open_process(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

void Job::on_signal(int signal) {
  const std::uint64_t now = now_ns();
  std::uint64_t& last = signal_ns_.at(static_cast<size_t>(signal));
  const bool again = last != 0 && now - last < kSameSignalNs;
  last = now;
  if (again || (ending() && signal != SIGUSR1)) return;
  switch (signal) {
    case SIGUSR1: return print_table(strf("%d PEs after %.1f s:", settings_.npes, static_cast<double>(now - started_ns_) * 1e-9));
    case SIGINT:
    case SIGTERM:
      if (interrupted_by_ != 0) {
        begin_end(128 + signal);
        kill_ns_ = now;
        return;
      }
      interrupted_by_ = signal;
      interrupted_ns_ = now;
      break;
    case SIGTSTP: stop_forwarded_ = true; break;
    case SIGCONT: stop_forwarded_ = false; break;
    default: break;
  }
  forward(signal);
}

void Job::forward(int signal) {
  for (const Pe& one : pes_) {
    if (one.ended) continue;
    ::kill(-one.pid, signal);
    // A stopped process would learn of its end only when continued.
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) ::kill(-one.pid, SIGCONT);
  }
}

void Job::on_event(const StoreServer::Event& event) {
  Pe& one = at(event.pe);
  switch (event.kind) {
    case StoreServer::Event::Kind::joined:
      one.lost_ns = 0;
      // 0: a process that this one cannot see, in another pid namespace; its end is noticed by that of the one that is seen.
      if (one.session_pid > 0 && one.session_pid != one.pid) {
        one.session_process.reset(open_process(one.session_pid));
        if (!one.session_process && errno == ESRCH) one.lost_ns = now_ns();
      }
      return;
    case StoreServer::Event::Kind::left:
      one.session_pid = 0;
      one.session_process.reset();
      one.lost_ns = 0;
      return;
    case StoreServer::Event::Kind::aborted:
      if (ending()) return;
      interrupted_by_ = 0;
      if (!event.text.empty()) {
        if (settings_.tag_output) err_.put(event.text + "\n");
        else say_raw(event.text);
      }
      return begin_end(event.status);
    case StoreServer::Event::Kind::broken:
      return fail(event.pe, 1, "broke the rules of the launcher's channel (" + event.text + ")");
  }
}

void Job::reap() {
  while (true) {
    int wait_status = 0;
    const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG | WUNTRACED | WCONTINUED);
    if (pid < 0 && errno == EINTR) continue;
    children_left_ = pid >= 0;
    if (pid <= 0) return;
    const auto found = std::find_if(pes_.begin(), pes_.end(), [&](const Pe& one) { return one.pid == pid && !one.ended; });
    if (found == pes_.end()) continue;  // something that a PE left behind
    const int pe = static_cast<int>(found - pes_.begin());
    if (WIFSTOPPED(wait_status)) {
      found->stopped_by = WSTOPSIG(wait_status);
      if (!stop_forwarded_ && !ending())
        tell(strf("%s is stopped by %s; the job waits for it", pe_text(pe).c_str(), signal_text(found->stopped_by).c_str()));
    } else if (WIFCONTINUED(wait_status)) {
      found->stopped_by = 0;
    } else {
      read_channel(pe);  // its last words count before its end does
      found->ended = true;
      found->wait_status = wait_status;
      if (--running_ == 0) all_ended_ns_ = now_ns();
      on_end(pe);
    }
  }
}

void Job::on_end(int pe) {
  const Pe& one = at(pe);
  if (settings_.verbose) say(strf("PE %d %s", pe, end_text(one.wait_status).c_str()));
  read_failures();
  if (ending()) return;
  const int code = end_code(one.wait_status);
  if (interrupted_by_ != 0) {
    status_ = std::max(status_, code);
  } else if (WIFSIGNALED(one.wait_status)) {
    const std::string why = WTERMSIG(one.wait_status) == SIGKILL ? oom_.text() : "";
    fail(pe, code, end_text(one.wait_status) + why + doing(pe));
  } else if (server_.state(pe) == StoreServer::State::joined) {
    fail(pe, code != 0 ? code : 1, end_text(one.wait_status) + doing(pe) + (code == 0 ? " without shmem_finalize" : ""));
  } else {
    status_ = std::max(status_, code);
  }
}

bool Job::any_joined() const {
  for (int pe = 0; pe < settings_.npes; ++pe)
    if (server_.state(pe) == StoreServer::State::joined) return true;
  return false;
}

/// What follows from the state of the job as a whole, and from time.
void Job::judge() {
  const std::uint64_t now = now_ns();
  if (ending()) {
    if (now >= kill_ns_) kill_all();
    return;
  }
  if (running_ == 0) {
    if (children_left_ && now >= all_ended_ns_ + kLeftoverNs) kill_children();
    return;
  }
  if (settings_.timeout_s > 0 && now >= started_ns_ + static_cast<std::uint64_t>(settings_.timeout_s * 1e9)) {
    print_table(strf("the job did not end within %g s; its PEs have been ended. They were:", settings_.timeout_s));
    interrupted_by_ = 0;
    return begin_end(kTimedOut);
  }
  if (interrupted_by_ != 0) {
    if (now < interrupted_ns_ + kInterruptGraceNs) return;
    begin_end(128 + interrupted_by_);
    kill_ns_ = now;
    return;
  }
  judge_sessions();
}

/// A session that can never complete ends the job.
void Job::judge_sessions() {
  const std::uint64_t now = now_ns();
  for (int pe = 0; pe < settings_.npes; ++pe) {
    const Pe& one = at(pe);
    if (one.lost_ns == 0) continue;
    if (const auto wait_status = zombie_status(one.session_pid); wait_status && WIFSIGNALED(*wait_status))
      return fail(pe, end_code(*wait_status), end_text(*wait_status) + doing(pe));
    if (now >= one.lost_ns + kLostNs) return fail(pe, 1, "ended" + doing(pe) + " without shmem_finalize");
  }
  if (!any_joined()) return;
  for (int pe = 0; pe < settings_.npes; ++pe) {
    if (!at(pe).ended || server_.state(pe) == StoreServer::State::joined) continue;
    const int code = end_code(at(pe).wait_status);
    const char* before = server_.state(pe) == StoreServer::State::absent ? "before shmem_init" : "before shmem_init was called again";
    return fail(pe, code != 0 ? code : 1, strf("%s %s, which other PEs have called", end_text(at(pe).wait_status).c_str(), before));
  }
}

void Job::fail(int pe, int status, const std::string& what) {
  if (ending()) return;
  tell(pe_text(pe) + " " + what + (settings_.npes > 1 ? "; the other PEs have been ended" : ""));
  interrupted_by_ = 0;
  begin_end(status);
}

void Job::begin_end(int status) {
  if (ending()) return;
  status_ = status;
  ending_ns_ = now_ns();
  // The monitors wake up, write out stdio and end their PEs; where there are none, there is nothing to wait for.
  kill_ns_ = ending_ns_ + (any_joined() ? kFlushNs : 0);
  life_writer_.reset();
}

void Job::kill_all() {
  for (const Pe& one : pes_) {
    if (one.ended) continue;
    ::kill(-one.pid, SIGKILL);
    ::kill(one.pid, SIGKILL);
  }
  // Then what left the PEs' process groups: it is ours when its parents are gone.
  if (running_ == 0) kill_children();
  if (now_ns() < kill_ns_ + kGiveUpNs) return;
  tell("some processes of the job cannot be killed: the kernel does not let them go");
  running_ = 0;
  children_left_ = false;
}

/// "PE 2 (pid 1234 on HOST)"
std::string Job::pe_text(int pe) const {
  const Pe& one = at(pe);
  return strf("PE %d (pid %d on %s)", pe, static_cast<int>(one.session_pid > 0 ? one.session_pid : one.pid), host_name().c_str());
}

/// " while computing", as far as it is known.
std::string Job::doing(int pe) const {
  const Status status = read_status(*status_page_.record(pe));
  if (status.phase == Phase::left) return " after shmem_finalize";
  if (status.phase == Phase::starting && server_.state(pe) == StoreServer::State::absent) return " before shmem_init";
  if (status.phase == Phase::starting && status.call.empty()) return " in shmem_init";
  return " while " + describe(status, now_ns());
}

void Job::print_table(const std::string& title) {
  tell(title);
  for (int pe = 0; pe < settings_.npes; ++pe) {
    const Pe& one = at(pe);
    std::string text = one.ended ? end_text(one.wait_status) : describe(read_status(*status_page_.record(pe)), now_ns());
    if (one.stopped_by != 0 && !one.ended) text += strf(" (stopped by %s)", signal_text(one.stopped_by).c_str());
    tell(strf("PE %d: %s", pe, text.c_str()));
  }
}

}  // namespace shoal::run

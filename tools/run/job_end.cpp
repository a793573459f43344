// SPDX-License-Identifier: Apache-2.0
// What it means for the job that a PE ended, spoke or that a signal came; and how the job is brought to its end.
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/process_state.hpp"
#include "base/verdict.hpp"
#include "guard.hpp"
#include "job.hpp"

namespace shoal::run {
namespace {

/// PEs are in process groups of their own, in the background for the terminal.
const char* stop_hint(int signal) {
  if (signal == SIGTTOU)
    return " (only shoalrun itself may set the terminal; \"stty -tostop\" or --tag-output lets PEs write to it)";
  if (signal == SIGTTIN)
    return " (only shoalrun itself may read the terminal; standard input of PE 0 has what is typed)";
  return "";
}

int open_process(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

void signal_process(const UniqueFd& process, int signal) {
  if (process) ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

bool has_ended(const UniqueFd& process) {
  pollfd fd{process.get(), POLLIN, 0};
  return !process || ::poll(&fd, 1, 0) > 0;
}

}  // namespace

void Job::on_signal(int signal) {
  const std::uint64_t now = now_ns();
  std::uint64_t& last = signal_ns_.at(static_cast<size_t>(signal));
  const bool again = last != 0 && now - last < kSameSignalNs;
  last = now;
  if (again || (ending() && signal != SIGUSR1)) return;
  switch (signal) {
    case SIGUSR1:
      return print_table(strf("%d PEs after %.1f s:", total_, static_cast<double>(now - started_ns_) * 1e-9));
    case SIGINT:
    case SIGTERM:
      if (interrupted_by_ != 0) {
        begin_end(128 + signal, interrupted_text());
        kill_ns_ = now;
        return;
      }
      interrupted_by_ = signal;
      interrupted_ns_ = now;
      if (told_done_) return begin_end(128 + signal, interrupted_text());  // nobody here hears it
      break;
    case SIGTSTP: stop_forwarded_ = true; break;
    case SIGCONT: stop_forwarded_ = false; break;
    default: break;
  }
  forward(signal);
}

void Job::forward(int signal) {
  // A stopped process would learn of its end only when continued.
  const bool continues = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
  for (const Pe& one : pes_) {
    if (!one.ended) {
      ::kill(-one.pid, signal);
      if (continues) ::kill(-one.pid, SIGCONT);
    }
    // What the group has reached already must not get it twice.
    if (!one.session_process || (!one.ended && ::getpgid(one.session_pid) == one.pid)) continue;
    signal_process(one.session_process, signal);
    if (continues) signal_process(one.session_process, SIGCONT);
  }
}

void Job::on_event(const StoreServer::Event& event) {
  Pe& one = at(event.pe);
  switch (event.kind) {
    case StoreServer::Event::Kind::joined:
      one.lost_ns = 0;
      one.told_status.reset();
      one.session_process.reset();
      joined_ns_ = now_ns();
      // 0: a process that this one cannot see, in another pid namespace; its end is noticed by that of the one that is
      // seen.
      if (one.session_pid > 0 && one.session_pid != one.pid) {
        one.session_process.reset(open_process(one.session_pid));
        if (!one.session_process && errno == ESRCH) one.lost_ns = now_ns();
      }
      return;
    case StoreServer::Event::Kind::left: return;  // the process is a PE still, and waited for
    case StoreServer::Event::Kind::exiting:
      one.told_status = event.status;
      no_reports_told_ = true;
      return;
    case StoreServer::Event::Kind::aborted:
      if (ending()) return;
      interrupted_by_ = 0;
      no_reports_told_ = no_reports_told_ || event.text.empty();  // by shmem_global_exit
      if (!event.text.empty()) print(event.text);
      return begin_end(event.status, event.text);
    case StoreServer::Event::Kind::asked: asked_ = event.type; return others_->ask(event.type, event.payload);
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
    const auto found =
        std::find_if(pes_.begin(), pes_.end(), [&](const Pe& one) { return one.pid == pid && !one.ended; });
    if (found == pes_.end()) {  // something that a PE left behind, its program perhaps
      for (int pe = 0; pe < settings_.npes; ++pe)
        if (at(pe).session_pid == pid && at(pe).session_process && !WIFSTOPPED(wait_status) &&
            !WIFCONTINUED(wait_status))
          on_session_end(pe, wait_status);
      continue;
    }
    const int pe = static_cast<int>(found - pes_.begin());
    if (WIFSTOPPED(wait_status)) {
      found->stopped_by = WSTOPSIG(wait_status);
      if (!stop_forwarded_ && !ending())
        tell(strf("%s is stopped by %s; the job waits for it%s", pe_text(pe).c_str(),
                  signal_text(found->stopped_by).c_str(), stop_hint(found->stopped_by)));
    } else if (WIFCONTINUED(wait_status)) {
      found->stopped_by = 0;
    } else {
      read_channel(pe);  // its last words count before its end does
      found->ended = true;
      found->wait_status = wait_status;
      found->ended_ns = now_ns();
      --running_;
      on_end(pe);
    }
  }
}

void Job::on_end(int pe) {
  const Pe& one = at(pe);
  if (settings_.verbose) say(strf("PE %d %s", number(pe), end_text(one.wait_status).c_str()));
  read_failures();
  if (ending()) return;
  const int code = end_code(one.wait_status);
  if (interrupted_by_ != 0) {
    status_ = std::max(status_, code);
  } else if (joined(pe) && one.session_pid > 0 && one.session_pid != one.pid) {
    on_starter_end(pe);
  } else if (WIFSIGNALED(one.wait_status)) {
    const std::string why = WTERMSIG(one.wait_status) == SIGKILL ? oom_.text() : "";
    fail(pe, code, end_text(one.wait_status) + why + doing(pe));
  } else if (joined(pe)) {
    fail(pe, code != 0 ? code : 1,
         end_text(one.wait_status) + doing(pe) + (code == 0 ? " without shmem_finalize" : ""));
  } else {
    status_ = std::max(status_, code);
  }
}

/// The program of the PE is in its session, and what started it, a script or the half of it that did not become a
/// daemon, has ended.
void Job::on_starter_end(int pe) {
  Pe& one = at(pe);
  if (one.lost_ns == 0 && has_ended(one.session_process)) one.lost_ns = now_ns();
  const int code = end_code(one.wait_status);
  if (one.lost_ns != 0 || code == 0) return;
  fail(pe, code,
       strf("is left alone%s: process %d, which started it, %s", doing(pe).c_str(), static_cast<int>(one.pid),
            end_text(one.wait_status).c_str()));
}

/// The program of the PE has ended, it seems: its next one may have taken its place meanwhile.
void Job::on_session_lost(int pe) {
  Pe& one = at(pe);
  if (one.session_process && has_ended(one.session_process)) one.lost_ns = now_ns();
}

/// The program of the PE has ended, having lost its parent before: so it was ours to wait for.
void Job::on_session_end(int pe, int wait_status) {
  read_channel(pe);
  Pe& one = at(pe);
  one.lost_ns = 0;
  const int code = end_code(wait_status);
  if (ending() || interrupted_by_ != 0) {
    if (!ending()) status_ = std::max(status_, code);
  } else if (joined(pe) || WIFSIGNALED(wait_status)) {
    const std::string why = code == 128 + SIGKILL ? oom_.text() : "";
    fail(pe, code != 0 ? code : 1,
         end_text(wait_status) + why + doing(pe) + (code == 0 ? " without shmem_finalize" : ""));
  } else {
    status_ = std::max(status_, code);
  }
  one.session_pid = 0;
  one.session_process.reset();
}

bool Job::any_joined() const {
  for (int pe = 0; pe < settings_.npes; ++pe)
    if (joined(pe)) return true;
  return false;
}

/// Whether a process that is or was in a session lives, of those that the launcher did not start itself.
bool Job::any_session() const {
  return std::any_of(pes_.begin(), pes_.end(), [](const Pe& one) { return one.session_process && one.lost_ns == 0; });
}

/// Until when what an ended PE left behind may call shmem_init, when others have.
std::uint64_t Job::join_by_ns(int pe) const { return std::max(at(pe).ended_ns, joined_ns_) + kJoinNs; }

/// What follows from the state of the job as a whole, and from time.
void Job::judge() {
  const std::uint64_t now = now_ns();
  judge_inquiry();
  if (ending()) {
    if (now >= kill_ns_) kill_all();
    return;
  }
  judge_standstill();
  judge_timeout();
  if (ending()) return;
  if (interrupted_by_ != 0 && (running_ > 0 || any_session())) {
    if (now < interrupted_ns_ + kInterruptGraceNs) return;
    begin_end(128 + interrupted_by_, interrupted_text());
    kill_ns_ = now;
    return;
  }
  if (interrupted_by_ == 0) judge_sessions();
  if (!ending()) judge_leftovers();
}

/// A session that can never complete ends the job.
void Job::judge_sessions() {
  for (int pe = 0; pe < settings_.npes; ++pe)
    if (at(pe).lost_ns != 0) judge_lost(pe);
  if (ending() || !any_joined()) return;
  for (int pe = 0; pe < settings_.npes; ++pe) {
    const Pe& one = at(pe);
    if (!one.ended || joined(pe)) continue;
    const int code = end_code(one.wait_status);
    // While processes of it are left, which the channel tells, one may still join: the PE has become a daemon, it may
    // be.
    const bool may_join = code == 0 && one.channel;
    if (may_join && now_ns() < join_by_ns(pe)) continue;
    const char* before =
        server_.state(pe) == StoreServer::State::absent ? "before shmem_init" : "before shmem_init was called again";
    const char* after = may_join ? "; what it left running has not called it either" : "";
    return fail(pe, code != 0 ? code : 1,
                strf("%s %s, which other PEs have called%s", end_text(one.wait_status).c_str(), before, after));
  }
}

/// The program of this PE has ended, and only the process that started it was told how.
void Job::judge_lost(int pe) {
  Pe& one = at(pe);
  if (!joined(pe)) {
    if (!one.ended) return;  // what started the program may leave it to us yet, with its status
    one.session_pid = 0;
    one.session_process.reset();
    one.lost_ns = 0;
    return;
  }
  std::optional<int> wait_status = ended_status(one.session_process.get());
  if (!wait_status && one.told_status) wait_status = W_EXITCODE(*one.told_status & 0xff, 0);
  if (wait_status) {
    const int code = end_code(*wait_status);
    const std::string why = code == 128 + SIGKILL ? oom_.text() : "";
    return fail(pe, code != 0 ? code : 1,
                end_text(*wait_status) + why + doing(pe) + (code == 0 ? " without shmem_finalize" : ""));
  }
  const std::string what = "ended" + doing(pe) + " without shmem_finalize; ";
  if (one.ended && end_code(one.wait_status) != 0)
    return fail(pe, end_code(one.wait_status),
                what + strf("process %d, which started it, ", static_cast<int>(one.pid)) + end_text(one.wait_status));
  if (one.ended || !children_left_ || now_ns() >= one.lost_ns + kLostNs)
    fail(pe, 1,
         what + strf("how, only the process that started it was told, under process %d", static_cast<int>(one.pid)));
}

/// Looks from time to time whether the job can go on; where all PEs here wait, at those of the other nodes, too.
void Job::judge_standstill() {
  const std::uint64_t now = now_ns();
  if (!any_joined() || now < standstill_ns_ || inquiry_.asked_ns != 0) return;
  const bool asks = others_ != nullptr && settings_.node_rank == 0 && all_wait();
  standstill_ns_ = now + kStandstillNs * static_cast<std::uint64_t>(asks ? 1 + settings_.nnodes / kNodesAsked : 1);
  if (asks)
    inquire("");
  else
    tell_standstill(states());
}

/// Says, once, that nothing will ever go on. It ends nobody: only the user knows what the program may yet do about it.
void Job::tell_standstill(const std::vector<PeState>& all) {
  std::string text;
  for (const std::string& verdict : standstill_.look(all, now_ns(), kStandstillNs, true))
    text += (text.empty() ? "" : ". ") + verdict;
  if (text.empty() || text == standstill_told_) return;
  standstill_told_ = text;
  tell("the job cannot go on, it seems: " + text +
       " (shoalrun --timeout ends such jobs, SIGUSR1 to shoalrun shows all PEs)");
}

/// All PEs have ended: what scripts left in the background may finish, but not stay. PEs that an interrupt has ended in
/// the middle of a session stay joined; nobody comes in their place.
void Job::judge_leftovers() {
  if (running_ > 0 || any_session() || (any_joined() && interrupted_by_ == 0)) {
    quiet_ns_ = 0;
    return;
  }
  const std::uint64_t now = now_ns();
  if (quiet_ns_ == 0) quiet_ns_ = now;
  if (!children_left_ || now < quiet_ns_ + kLeftoverNs) return;
  // A PE that is not seen, in another pid namespace, has the time that an interrupt leaves it.
  if (any_joined() && now < interrupted_ns_ + kInterruptGraceNs) return;
  if (!leftovers_named_ && status_ == 0 && interrupted_by_ == 0) {
    std::string names, programs;
    for (const pid_t pid : children()) {
      const std::string name = strf("%s (pid %d)", process_name(pid).c_str(), static_cast<int>(pid));
      names += (names.empty() ? "" : ", ") + name;
      if (joined_ns_ == 0 && uses_shoal(pid)) programs += (programs.empty() ? "" : ", ") + name;
    }
    if (!programs.empty() && now < quiet_ns_ + kJoinNs) return;
    if (!programs.empty()) {
      const std::string text =
          "all PEs have ended, and what they left in the background has not called shmem_init, though it uses Shoal: " +
          programs;
      tell(text);
      return begin_end(1, text);
    }
    if (!names.empty()) tell("all PEs have ended; what they left in the background is ended too: " + names);
  }
  leftovers_named_ = true;
  kill_children();
  if (now >= quiet_ns_ + kLeftoverNs + kGiveUpNs) give_up();
}

void Job::fail(int pe, int status, const std::string& what) {
  if (ending()) return;
  const std::string text = pe_text(pe) + " " + what + (total_ > 1 ? "; the other PEs have been ended" : "");
  tell(text);
  interrupted_by_ = 0;
  begin_end(status, text);
}

void Job::begin_end(int status, const std::string& why) {
  if (ending()) return;
  if (others_ != nullptr) others_->abort(status, why);
  end_here(status);
}

/// Ends the PEs of this node.
void Job::end_here(int status) {
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
  // After the groups, or scripts would tell of their programs' ends.
  for (const Pe& one : pes_) signal_process(one.session_process, SIGKILL);
  // Then what left the PEs' process groups: it is ours when its parents are gone.
  if (running_ == 0) kill_children();
  if (now_ns() >= kill_ns_ + kGiveUpNs) give_up();
}

void Job::give_up() {
  std::string names;
  for (const pid_t pid : children())
    names += (names.empty() ? ": " : ", ") + strf("%s (pid %d)", process_name(pid).c_str(), static_cast<int>(pid));
  tell("some processes of the job cannot be killed" + names);
  running_ = 0;
  children_left_ = false;
}

/// "PE 2 (pid 1234 on HOST)", "PE 2 (pid 1234 on HOST, ADDRESS)"
std::string Job::pe_text(int pe) const {
  const Pe& one = at(pe);
  const std::string address = others_ != nullptr ? ", " + others_->own_address() : "";
  const bool in_program = one.session_pid > 0 && (joined(pe) || one.lost_ns == 0);
  return strf("PE %d (pid %d on %s%s)", number(pe), static_cast<int>(in_program ? one.session_pid : one.pid),
              host_name().c_str(), address.c_str());
}

std::string Job::interrupted_text() const {
  return strf("the job was ended by %s at node %d (%s)", signal_text(interrupted_by_).c_str(), settings_.node_rank,
              host_name().c_str());
}

/// " while computing", as far as it is known.
std::string Job::doing(int pe) const {
  const Status status = read_status(*status_page_.record(number(pe)));
  if (status.phase == Phase::left) return " after shmem_finalize";
  if (status.phase == Phase::starting && server_.state(pe) == StoreServer::State::absent) return " before shmem_init";
  if (status.phase == Phase::starting && status.call.empty()) return " in shmem_init";
  return " while " + describe(status, now_ns());
}

void Job::print_table(const std::string& title) {
  if (others_ != nullptr) return inquire(title);
  tell(title);
  tell_lines(table(states()));
}

void Job::tell_lines(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) tell(line);
}

/// Of the whole job's PEs, as far as they are here, or were told.
std::vector<PeState> Job::states() const {
  std::vector<PeState> all = inquiry_.told;
  all.resize(static_cast<std::size_t>(total_), PeState{.status = {}, .known = false});
  for (int pe = 0; pe < settings_.npes; ++pe) all[static_cast<std::size_t>(number(pe))] = state_of(pe);
  return all;
}

PeState Job::state_of(int pe) const {
  const Pe& one = at(pe);
  PeState state{read_status(*status_page_.record(number(pe))),
                one.ended && !joined(pe) ? end_text(one.wait_status) : ""};
  if (one.stopped_by != 0 && !one.ended)
    state.stopped = "stopped by " + signal_text(one.stopped_by);
  else if (state.ended.empty() && state.status.pid != 0)
    state.stopped = how_stopped(state.status.pid);
  return state;
}

/// A line for each PE that is known, and what follows from them.
std::string Job::table(const std::vector<PeState>& all) const {
  std::string lines;
  const std::uint64_t now = now_ns();
  for (int pe = 0; pe < total_; ++pe) {
    const PeState& state = all[static_cast<std::size_t>(pe)];
    if (!state.known) continue;
    std::string text = state.ended.empty() ? describe(state.status, now) : state.ended;
    if (!state.stopped.empty()) text += " (" + state.stopped + ")";
    const std::string host = others_ != nullptr ? " on " + others_->meeting().of(pe).host : "";
    lines += strf("PE %d (pid %d%s): %s\n", pe, state.status.pid, host.c_str(), text.c_str());
  }
  for (const std::string& verdict : explain(all, now)) lines += verdict + "\n";
  return lines;
}

}  // namespace shoal::run

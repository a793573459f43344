// SPDX-License-Identifier: Apache-2.0
// One job from start to end: a single thread, one poll loop.
#pragma once
#include <poll.h>
#include <signal.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "base/verdict.hpp"
#include "bootstrap/status_mapping.hpp"
#include "bootstrap/store_server.hpp"
#include "command_line.hpp"
#include "federation.hpp"
#include "output.hpp"
#include "report.hpp"
#include "spawn.hpp"
#include "traces.hpp"

namespace shoal::run {

class Job final {
 public:
  /// `guard_fd` closes when the guard dies; `others` are the launchers of the other nodes, null: there are none.
  /// @throws Error
  Job(const Settings& settings, const std::string& program, int guard_fd, Federation* others);
  /// Starts the PEs and returns the exit status of the job when nothing of it is left.
  int run();

 private:
  struct Stream {
    UniqueFd fd;
    Tagger tagger;
    Sink* sink;
  };
  struct Pe {
    pid_t pid = 0;  // the process that the launcher started
    bool ended = false;
    int wait_status = 0;  // once ended
    int stopped_by = 0;   // a signal, while stopped
    UniqueFd channel;
    std::uint64_t ended_ns = 0;
    // The process that said hello last, until it ends, 0: none; `pid` itself, or one that this started and perhaps left
    // behind.
    pid_t session_pid = 0;
    UniqueFd session_process;        // a pidfd of it, when it is not `pid`
    std::optional<int> told_status;  // with which it said that it exits, in the middle of its session
    std::uint64_t lost_ns = 0;       // when it was seen to have ended, being not `pid`
    std::vector<Stream> streams;
  };
  static constexpr std::uint64_t kMs = 1'000'000;
  static constexpr std::uint64_t kFlushNs = 200 * kMs;  // for the PEs' monitors to write out stdio, when a job is ended
  static constexpr std::uint64_t kRepeatKillNs = 5 * kMs;   // between looks for processes that still have to be killed
  static constexpr std::uint64_t kGiveUpNs = 10'000 * kMs;  // on processes that the kernel does not let go
  static constexpr std::uint64_t kInterruptGraceNs = 5'000 * kMs;  // after INT or TERM
  static constexpr std::uint64_t kSameSignalNs =
      100 * kMs;                                       // two of a kind within it are one: a terminal, or timeout(1),
                                                       // signals the whole process group, the guard forwards besides
  static constexpr std::uint64_t kLostNs = 100 * kMs;  // for a script to end as its program did
  static constexpr std::uint64_t kLeftoverNs = 300 * kMs;  // for what scripts leave in the background, at a good end
  static constexpr std::uint64_t kJoinNs = 5'000 * kMs;    // for a program left in the background to call shmem_init
  static constexpr std::uint64_t kReportNs = 500 * kMs;    // for other nodes to say what their PEs do
  static constexpr int kNodesAsked = 32;                   // for so many more, standstill is looked for less often
  static constexpr std::uint64_t kStandstillNs = 1'000 * kMs;  // between looks whether the job can go on
  static constexpr std::uint64_t kForegroundNs = 500 * kMs;    // between looks whether the terminal is ours again

  enum class Source { guard, signals, failures, terminal, terminal_out, sink, channel, session, stream, others };
  struct Watch {
    Source source;
    int pe;
    int index;
  };

  // job.cpp: starting, and moving bytes
  void start_all();
  void start(int pe, Wiring wiring);
  void wait_and_handle();
  int wait_ms() const;
  void watch(int fd, short events, Source source, int pe = -1, int index = -1);
  void handle(const Watch& watch);
  void read_signals();
  void read_failures();
  void read_channel(int pe);
  void write_channel(int pe);
  bool read_stream(Stream& stream);
  void pump_terminal();
  void write_terminal();
  void finish_output();
  void judge_output();
  void judge_reports();
  Sessions sessions_to_join() const;
  bool sees_others(const std::string& trace) const;
  void tell(const std::string& text);
  void print(const std::string& line);

  // job_end.cpp: what it means that something happened
  void on_signal(int signal);
  void on_event(const StoreServer::Event& event);
  void reap();
  void on_end(int pe);
  void on_starter_end(int pe);
  void on_session_lost(int pe);
  void on_session_end(int pe, int wait_status);
  void judge();
  void judge_sessions();
  void judge_lost(int pe);
  void judge_leftovers();
  void judge_standstill();
  void tell_standstill(const std::vector<PeState>& all);
  void fail(int pe, int status, const std::string& what);
  /// `why` is what the other nodes are told.
  void begin_end(int status, const std::string& why);
  void kill_all();
  /// On what cannot be killed.
  void give_up();
  void forward(int signal);
  void print_table(const std::string& title);
  std::string table(const std::vector<PeState>& all) const;
  PeState state_of(int pe) const;
  std::vector<PeState> states() const;
  void tell_lines(const std::string& text);
  std::string interrupted_text() const;
  void end_here(int status);
  // job_others.cpp: what the other nodes say
  void read_others();
  void on_frame(const store::Frame& frame);
  bool over();
  bool others_over();
  void inquire(const std::string& title);
  void on_report(std::uint32_t node, const std::string& bytes);
  void judge_inquiry();
  void conclude();
  bool all_wait() const;
  void judge_timeout();
  std::string pe_text(int pe) const;
  std::string doing(int pe) const;
  bool ending() const { return ending_ns_ != 0; }
  bool any_joined() const;
  bool any_session() const;
  bool joined(int pe) const { return server_.state(pe) == StoreServer::State::joined; }
  std::uint64_t join_by_ns(int pe) const;
  /// The number of this launcher's PE `pe` in the whole job.
  int number(int pe) const { return first_ + pe; }
  Pe& at(int pe) { return pes_[static_cast<size_t>(pe)]; }
  const Pe& at(int pe) const { return pes_[static_cast<size_t>(pe)]; }

  const Settings& settings_;
  const std::string program_;
  const int guard_fd_;
  Federation* const others_;
  const int first_, total_;  // the number of the first PE here, and of PEs in the job
  const std::uint64_t started_ns_;
  sigset_t signals_;
  UniqueFd signal_fd_, life_writer_, secret_;
  StatusMapping status_page_;
  StoreServer server_;
  std::unique_ptr<Spawner> spawner_;
  const OomWatch oom_;
  std::vector<Pe> pes_;
  int running_ = 0;            // PEs not ended
  bool children_left_ = true;  // processes of the job, PEs or not
  Sink out_{1}, err_{2};

  bool terminal_ = false;  // standard input is one, and still read
  UniqueFd terminal_out_;  // to PE 0
  std::string typed_;      // read, not yet passed on

  std::array<std::uint64_t, 65> signal_ns_{};  // when each signal last came
  bool failures_open_ = true, exec_failed_ = false, stop_forwarded_ = false;
  int interrupted_by_ = 0;
  std::uint64_t interrupted_ns_ = 0;
  int status_ = 0;
  store::Type asked_{};  // what all PEs here have asked the others for
  bool told_done_ = false, finished_ = false;
  /// The PEs of all nodes are being asked for what they do.
  struct Inquiry {
    std::uint64_t asked_ns = 0;  // 0: nothing is asked
    std::string title;           // of the table that the user waits for; "": it is for the search for a standstill
    std::vector<PeState> told;   // of the whole job, without those here
    std::vector<bool> answered;  // by node
  } inquiry_;
  std::vector<int> unanswered_;                        // by node: questions; each answers them in order
  std::vector<std::optional<std::int64_t>> ahead_ns_;  // by node: what its clock shows less than ours
  bool timed_out_ = false;
  bool no_reports_told_ = false;  // by a PE that ended the job
  std::uint64_t ending_ns_ = 0;   // when it was decided to end the job; 0: it runs
  std::uint64_t kill_ns_ = 0;     // when everything is killed, if ending
  std::uint64_t joined_ns_ = 0;   // when a PE joined last
  std::uint64_t quiet_ns_ = 0;    // since when only processes are left that never were a PE
  bool leftovers_named_ = false;
  StandstillWatch standstill_;
  std::uint64_t standstill_ns_ = 0;  // when it is looked at next
  std::string standstill_told_;

  std::vector<pollfd> polled_;
  std::vector<Watch> watched_;
};

}  // namespace shoal::run

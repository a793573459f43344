// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/trace_file.hpp"
#include "bootstrap/secret_file.hpp"
#include "guard.hpp"
#include "traces.hpp"

namespace shoal::run {
namespace {

constexpr std::uint64_t kMostSessions = 1'000'000;  // whatever a PE has written there

/// Each PE costs the launcher up to five descriptors; the PEs themselves get the limit as it was.
rlimit raise_file_limit() {
  rlimit before;
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit most{before.rlim_max, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &most);
  return before;
}

void pipe_ends(UniqueFd& read_end, UniqueFd& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe2");
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
}

/// Whether the terminal that is standard input is ours to read.
bool in_foreground() { return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp(); }

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

/// What has nothing to read; an empty file of nobody's where there is no /dev.
UniqueFd open_null() {
  UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) null.reset(::memfd_create("shoal-nothing", MFD_CLOEXEC));
  if (!null) throw_errno("an empty file as standard input");
  return null;
}

/// For an interrupted job: standard error may be the very pipe that nobody reads, and writing would wait for ever.
void say_if_read(const std::string& text) {
  constexpr int kToReadMs = 200;
  pollfd room{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&room, 1, kToReadMs) > 0) say(text);
}

}  // namespace

Job::Job(const Settings& settings, const std::string& program, int guard_fd, Federation* others)
    : settings_(settings),
      program_(program),
      guard_fd_(guard_fd),
      others_(others),
      first_(others != nullptr ? others->meeting().first : 0),
      total_(others != nullptr ? others->meeting().total : settings.npes),
      started_ns_(now_ns()),
      signals_(handled_signals()),
      status_page_(StatusMapping::create(total_)),
      server_(settings.npes, first_, total_),
      pes_(static_cast<size_t>(settings.npes)) {
  signal_fd_.reset(::signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signal_fd_) throw_errno("signalfd");
  sigset_t unblocked = signals_;
  for (const int signal : kToldByErrors) ::sigaddset(&unblocked, signal);
  spawner_ = std::make_unique<Spawner>(settings_, total_, program_, unblocked, raise_file_limit());
}

int Job::run() {
  start_all();
  while (!over()) {
    wait_and_handle();
    reap();
    judge();
  }
  finish_output();
  judge_output();
  judge_reports();
  if (interrupted_by_ != 0 && status_ != 0) say_if_read("the job was ended by " + signal_text(interrupted_by_));
  if (settings_.verbose) say(strf("the job ended with status %d", status_));
  return status_ & 0xff;
}

/// Tagged output that could not be written is lost, and the program cannot know. A reader that has gone away wanted it
/// so.
void Job::judge_output() {
  for (const Sink* sink : {&out_, &err_}) {
    if (!sink->broken() || sink->error() == EPIPE) continue;
    say(strf("cannot write standard %s, and what the PEs wrote there is lost: %s", sink == &out_ ? "output" : "error",
             std::strerror(sink->error())));
    status_ = std::max(status_, 1);
  }
}

/// Whether it is for the launcher of node 0 to join the pieces: it sees all of them, for this one sees those of others.
bool Job::sees_others(const std::string& trace) const {
  if (settings_.node_rank == 0) return false;
  for (int pe = 0; pe < total_; ++pe) {
    const bool here = pe >= first_ && pe < first_ + settings_.npes;
    if (!here && ::access(trace_piece(trace, pe).c_str(), F_OK) == 0) return true;
  }
  return false;
}

/// Those of which a PE here has begun the trace, and PE 0, where it is here, has not joined it.
Sessions Job::sessions_to_join() const {
  const auto told = [this](int pe, std::atomic<std::uint64_t> Counters::*which) {
    const std::uint64_t number = (status_page_.record(pe)->counters.*which).load(std::memory_order_relaxed);
    return static_cast<int>(std::min<std::uint64_t>(number, kMostSessions));
  };
  int last = 0;
  for (int pe = 0; pe < settings_.npes; ++pe) last = std::max(last, told(number(pe), &Counters::traces));
  return {told(0, &Counters::joined) + 1, last};
}

/// What PE 0 had no time for: traces are joined, and of other reports it is said that there are none.
void Job::judge_reports() {
  if (!join_traces(settings_, total_, sessions_to_join(),
                   [this](const std::string& trace) { return sees_others(trace); }))
    status_ = std::max(status_, 1);
  if (no_reports_told_ || settings_.node_rank != 0) return;
  bool lost = false;
  for (int pe = 0; pe < settings_.npes; ++pe) {
    const Phase phase = read_status(*status_page_.record(number(pe))).phase;
    lost = lost || phase == Phase::running || phase == Phase::waiting || phase == Phase::leaving;
  }
  const std::string reports = lost ? reports_wanted(settings_) : "";
  if (!reports.empty()) say(reports + ": no report, since the job ended before all PEs had called shmem_finalize");
}

void Job::start_all() {
  UniqueFd life_reader;
  pipe_ends(life_reader, life_writer_);
  life_reader = move_up(std::move(life_reader));
  UniqueFd status_page(::fcntl(status_page_.fd(), F_DUPFD_CLOEXEC, 0));
  if (!status_page) throw_errno("dup");
  const UniqueFd status = move_up(std::move(status_page));
  // PEs of one machine have a secret, too: they may be told to behave as if they were on several.
  const std::optional<Secret> secret = others_ != nullptr ? others_->job_secret() : Secret::fresh();
  UniqueFd secret_file;
  if (secret) secret_file = move_up(make_secret_file(*secret));
  const Wiring wiring{-1, life_reader.get(), status.get(), secret_file.get()};
  if (settings_.verbose) say(strf("starting %d PEs of %s", settings_.npes, program_.c_str()));
  for (int pe = 0; pe < settings_.npes; ++pe) {
    try {
      start(pe, wiring);
    } catch (const Error& error) {
      for (int rest = pe; rest < settings_.npes; ++rest) at(rest).ended = true;
      tell(strf("cannot start PE %d of %d: %s", number(pe), total_, error.what()));
      begin_end(1, strf("node %d cannot start all of its PEs", settings_.node_rank));
      break;
    }
  }
  spawner_->close_writer();
  // Standard input is PE 0's: holding it here would keep its writer from noticing that the reader is gone.
  if (!terminal_) ::dup2(open_null().get(), STDIN_FILENO);
}

void Job::start(int pe, Wiring wiring) {
  Pe& one = at(pe);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("socketpair");
  one.channel.reset(ends[0]);
  const UniqueFd theirs = move_up(UniqueFd(ends[1]));
  set_nonblocking(one.channel.get());
  const int on = 1;  // the kernel then tells which process speaks
  ::setsockopt(one.channel.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  wiring.store_fd = theirs.get();

  UniqueFd in, out, err;
  if (number(pe) > 0) {
    in = open_null();
  } else if (::isatty(STDIN_FILENO)) {
    // PE 0 is in a process group of its own, in the background for the terminal: it could not read it.
    pipe_ends(in, terminal_out_);
    set_nonblocking(terminal_out_.get());
    terminal_ = true;
  }
  if (settings_.tag_output) {
    UniqueFd out_reader, err_reader;
    pipe_ends(out_reader, out);
    pipe_ends(err_reader, err);
    set_nonblocking(out_reader.get());
    set_nonblocking(err_reader.get());
    one.streams.push_back({std::move(out_reader), Tagger(number(pe)), &out_});
    one.streams.push_back({std::move(err_reader), Tagger(number(pe)), &err_});
  }
  wiring.in = in.get();
  wiring.out = out.get();
  wiring.err = err.get();
  one.pid = spawner_->start(pe, number(pe), wiring);
  expect_here(*status_page_.record(number(pe)), one.pid);
  ++running_;
  if (settings_.verbose)
    say(strf("PE %d is process %d%s", number(pe), static_cast<int>(one.pid),
             settings_.bind_core ? strf(" on core %d", spawner_->core_of(pe)).c_str() : ""));
}

void Job::tell(const std::string& text) { print("shoalrun: " + text); }

/// On stderr; among the lines of PEs, where these come through this process.
void Job::print(const std::string& line) {
  if (settings_.tag_output)
    err_.put(line + "\n");
  else
    print_raw_line(line);
}

void Job::watch(int fd, short events, Source source, int pe, int index) {
  if (fd < 0) return;
  polled_.push_back({fd, events, 0});
  watched_.push_back({source, pe, index});
}

void Job::wait_and_handle() {
  polled_.clear();
  watched_.clear();
  if (!ending()) watch(guard_fd_, POLLIN, Source::guard);
  watch(signal_fd_.get(), POLLIN, Source::signals);
  if (failures_open_) watch(spawner_->failures(), POLLIN, Source::failures);
  for (int pe = 0; pe < settings_.npes; ++pe) {
    Pe& one = at(pe);
    if (one.channel)
      watch(one.channel.get(), static_cast<short>(POLLIN | (server_.pending(pe).empty() ? 0 : POLLOUT)),
            Source::channel, pe);
    if (one.lost_ns == 0) watch(one.session_process.get(), POLLIN, Source::session, pe);
    for (size_t i = 0; i < one.streams.size(); ++i)
      if (!one.streams[i].sink->full()) watch(one.streams[i].fd.get(), POLLIN, Source::stream, pe, static_cast<int>(i));
  }
  if (others_ != nullptr) {
    watch(others_->server_fd(), POLLIN, Source::others);
    watch(others_->uplink_fd(), others_->uplink_events(), Source::others);
  }
  if (!out_.empty()) watch(out_.fd(), POLLOUT, Source::sink, -1, 0);
  if (!err_.empty()) watch(err_.fd(), POLLOUT, Source::sink, -1, 1);
  if (terminal_ && typed_.empty() && in_foreground()) watch(STDIN_FILENO, POLLIN, Source::terminal);
  if (!typed_.empty()) watch(terminal_out_.get(), POLLOUT, Source::terminal_out);

  const int ready = ::poll(polled_.data(), polled_.size(), wait_ms());
  if (others_ != nullptr) read_others();
  if (ready <= 0) return;
  // In the order above: what a PE said comes before what its end means.
  for (size_t i = 0; i < polled_.size(); ++i)
    if (polled_[i].revents != 0) handle(watched_[i]);
}

int Job::wait_ms() const {
  const std::uint64_t now = now_ns();
  std::uint64_t until = UINT64_MAX;
  const auto no_later_than = [&](std::uint64_t ns) { until = std::min(until, ns); };
  if (ending() && now >= kill_ns_)
    no_later_than(now + kRepeatKillNs);
  else if (ending())
    no_later_than(kill_ns_);
  else if (interrupted_by_ != 0 && (running_ > 0 || any_session()))
    no_later_than(interrupted_ns_ + kInterruptGraceNs);
  if (settings_.timeout_s > 0 && !ending() && !timed_out_)
    no_later_than(started_ns_ + static_cast<std::uint64_t>(settings_.timeout_s * 1e9));
  if (!ending() && any_joined() && inquiry_.asked_ns == 0) no_later_than(standstill_ns_);
  if (quiet_ns_ != 0 && children_left_) no_later_than(now + kRepeatKillNs);
  if (terminal_) no_later_than(now + kForegroundNs);
  for (int pe = 0; pe < settings_.npes && !ending() && interrupted_by_ == 0; ++pe) {
    if (at(pe).lost_ns != 0 && joined(pe)) no_later_than(at(pe).lost_ns + kLostNs);
    if (at(pe).ended && at(pe).channel && !joined(pe) && any_joined()) no_later_than(join_by_ns(pe));
  }
  if (others_ != nullptr && others_->wait_ms() >= 0)
    no_later_than(now + static_cast<std::uint64_t>(others_->wait_ms()) * kMs);
  if (inquiry_.asked_ns != 0) no_later_than(inquiry_.asked_ns + kReportNs);
  if (until == UINT64_MAX) return -1;
  if (until <= now) return 0;
  return static_cast<int>(std::min<std::uint64_t>((until - now) / 1'000'000 + 1, INT_MAX));
}

void Job::handle(const Watch& watch) {
  switch (watch.source) {
    case Source::guard:
      interrupted_by_ = 0;
      say("the launcher was killed; the PEs are ended");
      begin_end(128 + SIGKILL, strf("the launcher of node %d was killed", settings_.node_rank));
      kill_ns_ = now_ns();
      break;
    case Source::signals: read_signals(); break;
    case Source::failures: read_failures(); break;
    case Source::channel:
      read_channel(watch.pe);
      write_channel(watch.pe);
      break;
    case Source::session: on_session_lost(watch.pe); break;
    case Source::stream: read_stream(at(watch.pe).streams[static_cast<size_t>(watch.index)]); break;
    case Source::sink: (watch.index == 0 ? out_ : err_).write_some(); break;
    case Source::terminal: pump_terminal(); break;
    case Source::terminal_out: write_terminal(); break;
    case Source::others: break;  // always looked at
  }
}

void Job::read_signals() {
  signalfd_siginfo info;
  while (::read(signal_fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    if (info.ssi_signo != SIGCHLD) on_signal(static_cast<int>(info.ssi_signo));
}

void Job::read_failures() {
  ExecFailure failure;
  ssize_t n;
  while ((n = ::read(spawner_->failures(), &failure, sizeof failure)) == static_cast<ssize_t>(sizeof failure)) {
    exec_failed_ = true;
    if (ending()) continue;
    const std::string text = exec_failure_text(program_, failure.error);
    tell(text);
    begin_end(kCannotExecute, strf("node %d (%s) ", settings_.node_rank, host_name().c_str()) + text);
  }
  if (n == 0) failures_open_ = false;
}

void Job::read_channel(int pe) {
  Pe& one = at(pe);
  while (one.channel) {
    std::array<std::byte, 16384> bytes;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(one.channel.get(), &message, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      one.channel.reset();  // no process of this PE can speak any more; its end is noticed otherwise
      return;
    }
    pid_t speaker = 0;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header))
      if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS)
        speaker = reinterpret_cast<const ucred*>(CMSG_DATA(header))->pid;
    server_.feed(pe, std::span(bytes).first(static_cast<size_t>(n)));
    while (const auto event = server_.next_event()) {
      if (event->kind == StoreServer::Event::Kind::joined) at(event->pe).session_pid = speaker;
      on_event(*event);
    }
    for (int other = 0; other < settings_.npes; ++other) write_channel(other);
  }
}

void Job::write_channel(int pe) {
  Pe& one = at(pe);
  if (ending()) return;  // the launcher has said why; an answer would only make PEs say it again
  while (one.channel && !server_.pending(pe).empty()) {
    const auto bytes = server_.pending(pe);
    const ssize_t n = ::send(one.channel.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0) return;  // later, or never
    server_.sent(pe, static_cast<size_t>(n));
  }
}

/// False when there is nothing to read now.
bool Job::read_stream(Stream& stream) {
  std::array<char, 65536> bytes;
  const ssize_t n = ::read(stream.fd.get(), bytes.data(), bytes.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    stream.tagger.finish(*stream.sink);
    stream.fd.reset();
  } else {
    stream.tagger.feed({bytes.data(), static_cast<size_t>(n)}, *stream.sink);
  }
  stream.sink->write_some();
  // As without tags: who writes to a pipe that nobody reads is told so by SIGPIPE.
  if (stream.sink->broken()) stream.fd.reset();
  return true;
}

void Job::pump_terminal() {
  if (!in_foreground()) return;  // stopped since we began to wait; and if it is lost only now, SIGTTIN is blocked: EIO
  char bytes[4096];
  const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EIO)) return;
  if (n <= 0) {
    terminal_ = false;
    terminal_out_.reset();
    return;
  }
  typed_.assign(bytes, static_cast<size_t>(n));
  write_terminal();
}

void Job::write_terminal() {
  const ssize_t n = ::write(terminal_out_.get(), typed_.data(), typed_.size());
  if (n < 0 && errno == EAGAIN) return;
  if (n < 0) {
    terminal_ = false;
    typed_.clear();
    terminal_out_.reset();
    return;
  }
  typed_.erase(0, static_cast<size_t>(n));
}

/// All processes are gone: what they wrote is in the pipes. Waits for the readers of our own streams as a write would.
void Job::finish_output() {
  for (bool more = true; more;) {
    more = false;
    for (Pe& one : pes_)
      for (Stream& stream : one.streams)
        if (stream.fd && !stream.sink->full()) more |= read_stream(stream);
    for (Sink* sink : {&out_, &err_}) {
      sink->write_some();
      if (sink->empty()) continue;
      more = true;
      pollfd wait[] = {{sink->fd(), POLLOUT, 0}, {signal_fd_.get(), POLLIN, 0}, {guard_fd_, POLLIN, 0}};
      ::poll(wait, 3, -1);
      signalfd_siginfo info;
      while (::read(signal_fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        const int signal = static_cast<int>(info.ssi_signo);
        if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP && signal != SIGQUIT) continue;
        if (status_ == 0) status_ = 128 + signal;
        say_if_read(signal_text(signal) + ": what the PEs wrote and nobody has read yet is lost");
        return;
      }
      if (wait[2].revents != 0) return;
    }
  }
  for (Pe& one : pes_)
    for (Stream& stream : one.streams) stream.tagger.finish(*stream.sink);
  for (Sink* sink : {&out_, &err_}) sink->write_some();
}

}  // namespace shoal::run

// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/direct.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/brief_lock.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/event_fd.hpp"
#include "base/log.hpp"
#include "base/quiet_signals.hpp"
#include "bootstrap/monitor.hpp"
#include "bootstrap/rendezvous_server.hpp"
#include "bootstrap/uplink.hpp"

namespace shoal {
namespace {

using store::Bytes;
using store::Frame;
using store::Type;

constexpr std::uint64_t kSayAfterNs = 5'000'000'000;  // when the user may wonder what it waits for
constexpr std::uint64_t kAbortNs = 2'000'000'000;     // for the others to hear of an abort
constexpr std::uint64_t kExitNs = 200'000'000;        // for the news of an exit to leave
constexpr std::uint64_t kListenNs = 3'000'000'000;    // for a child forked in an earlier job to close what it inherited
constexpr std::uint64_t kPartNs = 4'000'000'000;      // for the holder to tell everyone of the end

/// A thread that takes no signals, since they are the program's, save the one that holds it while static data move: it
/// runs then.
std::thread quiet_thread(std::function<void()> body) {
  const QuietSignals quiet(true);
  return std::thread(std::move(body));
}

/// A meeting, held by a thread of this PE.
class Holder final {
 public:
  Holder(UniqueFd listener, RendezvousServer::Setup setup, UniqueFd own)
      : server_(std::move(listener), std::move(setup)) {
    server_.adopt(std::move(own));
    thread_ = quiet_thread([this] { run(); });
  }
  /// Ends it, done or not.
  ~Holder() {
    stop_.store(true, std::memory_order_release);
    bell_.raise();
    thread_.join();
  }
  /// Whether everyone has been told what there was to tell.
  bool over() const { return over_.load(std::memory_order_acquire); }
  /// Whether all have been told that this PE exits.
  bool told_exit() const { return told_exit_.load(std::memory_order_acquire); }
  void abandon() { thread_.detach(); }

 private:
  void run() {
    while (!stop_.load(std::memory_order_acquire) && !server_.over()) {
      pollfd fds[] = {
          {server_.fd(), POLLIN, 0}, {bell_.fd(), POLLIN, 0}, {server_.fd_above(), server_.events_above(), 0}};
      ::poll(fds, 3, server_.wait_ms());
      server_.progress();
      for (const std::string& note : server_.take_notes()) print_line(-1, note);
      told_exit_.store(server_.told_exit(), std::memory_order_release);
    }
    over_.store(true, std::memory_order_release);
  }
  RendezvousServer server_;
  EventFd bell_;
  std::atomic<bool> stop_{false}, over_{false}, told_exit_{false};
  std::thread thread_;
};

/// What the PEs of one node find each other by: the same for all of them, and for no others.
HostPort place_on_node(const DirectSetup& setup) {
  const std::string job = (setup.addresses.empty() ? setup.at.text() : setup.addresses.front().text()) + setup.tag;
  return {strf("unix:shoal-%zx-%d", std::hash<std::string>()(job), setup.node.first)};
}

/// Only the last process to close it frees a name; a port is free once nobody listens there.
UniqueFd listen_soon(const HostPort& at) {
  for (const std::uint64_t until = now_ns() + kListenNs;; ::poll(nullptr, 0, 1)) {
    try {
      return listen_at(at);
    } catch (const Error&) {
      if (!at.local() || now_ns() >= until) throw;
    }
  }
}

/// PE 0's own neighbours need nobody between. A certificate is for the number of one PE, so that each shows its own.
bool meets_on_node(const DirectSetup& setup) {
  return setup.node.count > 1 && !setup.node.has(0) && !setup.credentials.certificates.given();
}

class DirectBootstrap final : public Bootstrap {
 public:
  explicit DirectBootstrap(DirectSetup setup);
  ~DirectBootstrap() override;
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const Secret* secret() const override { return secret_ ? &*secret_ : nullptr; }
  Gathered allgather(std::span<const std::byte> mine) override;
  void barrier() override { request(Type::barrier, {}); }
  void leave() override;
  void watch() override;
  void exiting(int status) noexcept override;
  [[noreturn]] void abort(int status, const std::string& why) override;

 private:
  void hold(UniqueFd listener, RendezvousServer::Setup meeting, Uplink::Setup own);
  void join_on_node(const DirectSetup& setup, RendezvousServer::Setup meeting, Uplink::Setup up);
  void finish_holding() const;
  void meet(std::uint64_t by_ns);
  void derive_secret(const DirectSetup& setup);
  void check_still_ours() const;
  Frame request(Type type, std::span<const std::byte> payload);
  void pump(int wait_ms);
  void turn(std::unique_lock<std::mutex>& lock);
  void take_all();
  void run_monitor();
  void stop_monitor();
  bool prints_for_host() const;
  [[noreturn]] void end_process(int status, const std::string& line);

  const int rank_, size_;
  const pid_t owner_ = ::getpid();
  const std::string tag_;
  std::unique_ptr<TlsContext> tls_;
  std::unique_ptr<Holder> holder_;
  std::optional<Secret> secret_;

  std::mutex mutex_;  // what follows belongs to whoever holds it
  std::condition_variable answered_;
  std::unique_ptr<Uplink> uplink_;
  std::optional<Frame> answer_;
  bool left_ = false;  // all have, or this one exits: the end of the connection is no failure

  EventFd bell_;  // tells the monitor to look again
  std::atomic<bool> stop_{false};
  std::thread monitor_;
};

DirectBootstrap::DirectBootstrap(DirectSetup setup) : rank_(setup.rank), size_(setup.size), tag_(setup.tag) {
  if (!setup.at.local()) tls_ = setup.credentials.context(TlsPurpose::store);
  const std::uint64_t by_ns = now_ns() + static_cast<std::uint64_t>(setup.within_s) * 1'000'000'000;
  Uplink::Setup up{.at = setup.at,
                   .addresses = setup.addresses,
                   .tls = tls_.get(),
                   .tag = tag_,
                   .connect_by_ns = by_ns,
                   .silence_s = setup.silence_s,
                   .all_pes = static_cast<std::uint32_t>(size_)};
  up.join.members = static_cast<std::uint32_t>(size_);
  up.join.member = static_cast<std::uint32_t>(rank_);
  up.join.pes = 1;
  RendezvousServer::Setup meeting{.kind = RendezvousServer::Kind::pes,
                                  .members = size_,
                                  .tag = tag_,
                                  .tls = tls_.get(),
                                  .join_by_ns = by_ns,
                                  .silence_s = setup.silence_s};
  if (setup.holds) {
    hold(setup.listener ? std::move(setup.listener) : listen_soon(setup.at), std::move(meeting), std::move(up));
  } else if (meets_on_node(setup)) {
    join_on_node(setup, std::move(meeting), std::move(up));
  } else {
    uplink_ = std::make_unique<Uplink>(std::move(up));
  }
  meet(by_ns);
  derive_secret(setup);
}

/// Meets the PEs of this node; the first of them holds this meeting, which is one member of the job's.
void DirectBootstrap::join_on_node(const DirectSetup& setup, RendezvousServer::Setup meeting, Uplink::Setup up) {
  const PeRange node = setup.node;
  Uplink::Setup beside = up;
  beside.at = place_on_node(setup);
  beside.addresses.clear();
  beside.tls = nullptr;
  beside.once = true;
  beside.join.members = static_cast<std::uint32_t>(node.count);
  beside.join.member = static_cast<std::uint32_t>(rank_ - node.first);
  if (rank_ != node.first) {
    uplink_ = std::make_unique<Uplink>(std::move(beside));
    return;
  }
  up.join.pes = static_cast<std::uint32_t>(node.count);
  meeting.members = node.count;
  meeting.first = node.first;
  meeting.tls = nullptr;
  meeting.above = std::make_unique<Uplink>(std::move(up));
  UniqueFd listener = listen_soon(beside.at);
  hold(std::move(listener), std::move(meeting), std::move(beside));
}

/// Holds a meeting, and is a member of it.
void DirectBootstrap::hold(UniqueFd listener, RendezvousServer::Setup meeting, Uplink::Setup own) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) throw_errno("socketpair");
  UniqueFd theirs(ends[0]), ours(ends[1]);
  holder_ = std::make_unique<Holder>(std::move(listener), std::move(meeting), std::move(theirs));
  uplink_ = std::make_unique<Uplink>(std::move(ours), std::move(own));
}

/// The other members hear of an end from the one who holds the meeting: lets it tell them, but does not wait for ever.
void DirectBootstrap::finish_holding() const {
  for (const std::uint64_t until = now_ns() + kPartNs; holder_ != nullptr && !holder_->over() && now_ns() < until;)
    ::poll(nullptr, 0, 1);
}

void DirectBootstrap::meet(std::uint64_t by_ns) {
  const std::uint64_t say_at = now_ns() + kSayAfterNs;
  bool said = false;
  while (uplink_->meeting() == nullptr) {
    pump(100);
    if (!uplink_->failure().empty() || now_ns() > by_ns + kPartNs) {
      const std::string why = uplink_->failure();
      finish_holding();
      throw Error(Code::launcher, why.empty() ? "the other PEs did not come" : why);
    }
    if (said || now_ns() < say_at) continue;
    said = true;
    print_line(rank_, strf("waiting for %d other PEs%s", size_ - 1,
                           uplink_->trouble().empty() ? "" : (" (" + uplink_->trouble() + ")").c_str()));
  }
}

void DirectBootstrap::derive_secret(const DirectSetup& setup) {
  std::string nonce;
  for (const std::byte b : uplink_->meeting()->nonce) nonce += strf("%02x", static_cast<unsigned>(b));
  if (setup.at.local()) {
    // Only processes of this user on this machine have heard the nonce.
    SecretBuffer bytes(Secret::kBytes);
    std::copy_n(uplink_->meeting()->nonce.begin(), std::min(uplink_->meeting()->nonce.size(), Secret::kBytes),
                bytes.bytes().begin());
    secret_ = Secret::from_bytes(std::span<const std::byte, Secret::kBytes>(bytes.bytes())).derive("job");
  } else if (setup.credentials.secret) {
    secret_ = setup.credentials.secret->derive("job " + nonce);
  }
}

DirectBootstrap::~DirectBootstrap() {
  if (::getpid() != owner_) {  // a forked child has none of the threads
    if (monitor_.joinable()) monitor_.detach();
    if (holder_ != nullptr) {
      holder_->abandon();
      static_cast<void>(holder_.release());
    }
    static_cast<void>(uplink_.release());
    return;
  }
  stop_monitor();
  uplink_.reset();
}

void DirectBootstrap::check_still_ours() const {
  if (::getpid() != owner_)
    throw Error(Code::launcher,
                strf("a forked child of PE %d is not a PE: only the process that joined the job can do this", rank_));
}

/// One turn of the connection, for whoever keeps the lock or is alone.
void DirectBootstrap::pump(int wait_ms) {
  pollfd fd{uplink_->fd(), uplink_->events(), 0};
  const int due = uplink_->wait_ms();
  ::poll(&fd, 1, due < 0 ? wait_ms : std::min(wait_ms, due));
  uplink_->progress();
}

/// The same for who holds `lock`, which others may have while it waits: one of them may have to abort.
void DirectBootstrap::turn(std::unique_lock<std::mutex>& lock) {
  const short events = uplink_->events();
  // Without events to wait for its end would still be told, again and again.
  pollfd fds[] = {{events != 0 ? uplink_->fd() : -1, events, 0}, {bell_.fd(), POLLIN, 0}};
  const int wait = uplink_->wait_ms();
  lock.unlock();
  ::poll(fds, 2, wait);
  lock.lock();
  bell_.clear();
  uplink_->progress();
  take_all();
}

/// Takes what has come; ends the process when that is what it says.
void DirectBootstrap::take_all() {
  while (auto frame = uplink_->next()) {
    if (frame->type != Type::end) {
      left_ |= frame->type == Type::goodbye;
      answer_ = std::move(*frame);
      answered_.notify_all();
      continue;
    }
    std::string text;
    const auto fixed = store::take_fixed<std::array<std::int32_t, 2>>(*frame, text);
    uplink_->close();
    end_process(fixed[0], fixed[1] != 0 ? text : "");
  }
  if (left_ || uplink_->failure().empty()) return;
  const Meeting::Member& mine = uplink_->meeting()->of(rank_);
  const std::string line = strf("the PE where %s is gone: %s; the other PEs have been ended",
                                mine.pes > 1 ? "those of this node meet" : "the job meets", uplink_->failure().c_str());
  end_process(1, prints_for_host() ? line : "");
}

/// Of the PEs on one host one prints what all have found out by themselves.
bool DirectBootstrap::prints_for_host() const {
  const Meeting& meeting = *uplink_->meeting();
  const Meeting::Member& mine = meeting.of(rank_);
  if (mine.pes > 1) return rank_ == mine.first + 1;  // the first is gone
  const auto first = std::find_if(meeting.members.begin() + 1, meeting.members.end(),
                                  [&](const auto& one) { return one.pes == 1 && one.host == mine.host; });
  return first == meeting.members.end() || first->first == rank_;
}

Frame DirectBootstrap::request(Type type, std::span<const std::byte> payload) {
  check_still_ours();
  std::unique_lock lock(mutex_);
  uplink_->send(type, payload);
  bell_.raise();
  while (!answer_) {
    if (monitor_.joinable())
      answered_.wait(lock);
    else
      turn(lock);
  }
  Frame frame = std::move(*answer_);
  answer_.reset();
  if (frame.type != store::answer_to(type))
    throw Error(Code::launcher,
                strf("malformed frame: %s was answered with %s", store::name_of(type), store::name_of(frame.type)));
  return frame;
}

Gathered DirectBootstrap::allgather(std::span<const std::byte> mine) {
  Frame answer = request(Type::allgather, store::join_parts({mine}, store::kMaxRequest));
  auto parts = store::split_parts(answer.payload, static_cast<std::size_t>(size_));
  return {std::move(answer.payload), std::move(parts)};
}

void DirectBootstrap::watch() {
  if (!monitor_.joinable()) monitor_ = quiet_thread([this] { run_monitor(); });
}

void DirectBootstrap::run_monitor() {
  std::unique_lock lock(mutex_);
  while (!stop_.load(std::memory_order_acquire)) turn(lock);
}

void DirectBootstrap::stop_monitor() {
  if (!monitor_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  bell_.raise();
  monitor_.join();
  stop_.store(false, std::memory_order_release);
}

void DirectBootstrap::leave() {
  request(Type::leave, {});
  stop_monitor();
  uplink_->close();
  finish_holding();
  holder_.reset();
}

void DirectBootstrap::end_process(int status, const std::string& line) {
  flush_stdio_briefly();
  if (!line.empty()) print_raw_line(line.starts_with("shoal") ? line : "shoal: " + line);
  finish_holding();
  // Not _exit: whatever a tool hooks into it might wait for the very lock that the flush could not get.
  ::syscall(SYS_exit_group, status & 0xff);
  __builtin_unreachable();
}

void DirectBootstrap::exiting(int status) noexcept {
  if (::getpid() != owner_) return;
  const std::unique_lock lock = lock_briefly(mutex_);
  if (!lock || left_) return;
  try {
    uplink_->send_text(Type::exiting, status, "");
    uplink_->progress();
    // The holder of a meeting takes it along.
    const auto told = [this] { return uplink_->drained() && (holder_ == nullptr || holder_->told_exit()); };
    for (const std::uint64_t until = now_ns() + kExitNs; !told() && now_ns() < until;) pump(1);
    left_ = true;
  } catch (const std::exception&) {
    // Then the end of the connection tells that it ended, but not how.
  }
}

void DirectBootstrap::abort(int status, const std::string& why) {
  if (::getpid() != owner_) {
    if (!why.empty()) print_raw_line(why);
    ::_exit(status);
  }
  flush_stdio_briefly();
  if (const std::unique_lock lock = lock_briefly(mutex_)) {
    uplink_->send_text(Type::abort, status, why);
    // take_all ends this process, when its own end has come back: then everyone else's is on its way.
    for (const std::uint64_t until = now_ns() + kAbortNs; now_ns() < until && uplink_->failure().empty();) {
      pump(20);
      take_all();
    }
  }
  end_process(status, why);
}

}  // namespace

std::unique_ptr<Bootstrap> make_direct_bootstrap(DirectSetup setup) {
  return std::make_unique<DirectBootstrap>(std::move(setup));
}

}  // namespace shoal

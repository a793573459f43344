// SPDX-License-Identifier: Apache-2.0
// How connections come about: one side dials and says hello, the other's door welcomes it, and it confirms that.
// Whoever gives up does so before it confirms, so that both sides know alike whether there is a connection. When both
// dial at once, the lower rank's connection is the one that stays.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "bootstrap/address.hpp"
#include "transport/socket/socket_transport.hpp"

namespace shoal {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kConnectNs = 3 * kSecond;  // for one address
constexpr std::uint64_t kDialNs = 30 * kSecond;    // for all of them, again and again
constexpr std::uint64_t kRefusedNs = 3 * kSecond;  // the same, where one of them has another's credentials
constexpr std::uint64_t kLookNs = 1'000'000;       // between looks at what a stream holds
constexpr int kAgainMs = 100;

/// Waits until the descriptor is ready for `events`. @return false past the deadline
bool wait_for(int fd, short events, std::uint64_t deadline_ns) {
  pollfd wait{fd, events, 0};
  for (std::uint64_t now = now_ns(); now < deadline_ns; now = now_ns())
    if (::poll(&wait, 1, static_cast<int>((deadline_ns - now) / 1'000'000) + 1) > 0) return true;
  return false;
}

/// Moves all of a short message, on a stream that nobody else uses yet. @throws Error
template <class Move>
void move_all(Stream& stream, std::size_t bytes, short events, std::uint64_t deadline_ns, Move&& move) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = move(done);
    if (n == Stream::kEnded) throw Error(stream.code(), stream.why());
    if (n > 0) done += static_cast<std::size_t>(n);
    if (n != Stream::kAgain) continue;
    const std::uint64_t now = now_ns();
    if (now >= deadline_ns) throw Error(Code::peer, "no answer");
    wait_for(stream.fd(), events, stream.holds_input() ? std::min(deadline_ns, now + kLookNs) : deadline_ns);
  }
}
void send_all(Stream& stream, const void* from, std::size_t bytes, std::uint64_t deadline_ns) {
  move_all(stream, bytes, POLLOUT, deadline_ns,
           [&](std::size_t done) { return stream.write(static_cast<const char*>(from) + done, bytes - done); });
}
void receive_all(Stream& stream, void* to, std::size_t bytes, std::uint64_t deadline_ns) {
  move_all(stream, bytes, POLLIN, deadline_ns,
           [&](std::size_t done) { return stream.read(static_cast<char*>(to) + done, bytes - done); });
}

}  // namespace

Connection& SocketTransport::open(int pe) noexcept {
  const auto index = static_cast<std::size_t>(pe);
  const auto there = [&] { return peers_[index].load(std::memory_order_acquire); };
  try {
    std::unique_lock lock(opening_);
    // Another thread of ours may be dialling it.
    opened_.wait(lock, [&] { return dialing_[index] == Dialing::no || there() != nullptr; });
    for (std::uint64_t patience_ns = settings_.answer_ns; there() == nullptr;) {
      if (welcomed_.contains(pe)) {
        if (opened_.wait_for(lock, std::chrono::nanoseconds(patience_ns), [&] { return !welcomed_.contains(pe); }))
          continue;
        say_silent(pe, "");
        patience_ns *= 2;
        continue;
      }
      dialing_[index] = Dialing::searching;
      lock.unlock();
      std::unique_ptr<Stream> stream = dial(pe);
      lock.lock();
      if (stream != nullptr && there() == nullptr) add(pe, std::move(stream));
      // Else that PE connects itself; where it fails to, it is dialled again.
      opened_.wait_for(lock, std::chrono::nanoseconds(kSecond), [&] { return there() != nullptr; });
    }
    dialing_[index] = Dialing::no;
    opened_.notify_all();
    return *there();
  } catch (const std::exception& error) {
    target_.fail(strf("cannot connect to PE %d (on %s): %s", pe, endpoint_of(pe).machine.c_str(), error.what()));
  }
  __builtin_unreachable();  // g++ forgets that the virtual function doesn't return
}

/// The door of a PE that is stopped, in a debugger say, does not answer; its kernel does, so nothing has failed.
void SocketTransport::say_silent(int pe, const std::string& tried) const {
  print_line(me_, strf("PE %d (on %s) does not answer%s: is it stopped? Waiting for it", pe,
                       endpoint_of(pe).machine.c_str(), tried.c_str()));
}

/// Whether it may be told hello: not if it has connected itself, or is about to.
bool SocketTransport::begin_asking(int pe) {
  const std::lock_guard lock(opening_);
  const auto index = static_cast<std::size_t>(pe);
  if (peers_[index].load(std::memory_order_relaxed) != nullptr || welcomed_.contains(pe)) return false;
  dialing_[index] = Dialing::asking;
  return true;
}

/// @return null where that PE connects itself, or has
std::unique_ptr<Stream> SocketTransport::dial(int pe) {
  const auto has_connected = [&] {
    return peers_[static_cast<std::size_t>(pe)].load(std::memory_order_acquire) != nullptr;
  };
  const Endpoint endpoint = endpoint_of(pe);
  const std::uint64_t began_ns = now_ns();
  std::uint64_t deadline_ns = began_ns + kDialNs, answer_ns = settings_.answer_ns;
  for (Attempt attempt;; ::poll(nullptr, 0, kAgainMs)) {
    attempt.tried.clear();
    attempt.silent = false;
    // What led to one machine leads to the next, as a rule; others may let everything vanish.
    const std::size_t first = std::min(host_that_led_.load(std::memory_order_relaxed), endpoint.hosts.size() - 1);
    for (std::size_t k = 0; k < endpoint.hosts.size() && !has_connected(); ++k) {
      const std::size_t index = k == 0 ? first : k <= first ? k - 1 : k;
      std::unique_ptr<Stream> stream = dial_host(pe, endpoint.hosts[index], answer_ns, attempt);
      if (stream == nullptr && !attempt.use_theirs) continue;
      host_that_led_.store(index, std::memory_order_relaxed);
      return stream;
    }
    if (has_connected()) return nullptr;
    if (attempt.silent) {
      if (answer_ns == settings_.answer_ns) say_silent(pe, " (" + attempt.tried + ")");
      answer_ns *= 2;  // it finds few connections that were given up
      attempt.refused = false;
      deadline_ns = now_ns() + kDialNs;
    } else if (now_ns() >= (attempt.refused ? began_ns + kRefusedNs : deadline_ns)) {
      throw Error(
          Code::peer,
          strf("none of its addresses lets this PE in within %d s (%s). %s",
               static_cast<int>((attempt.refused ? kRefusedNs : kDialNs) / kSecond), attempt.tried.c_str(),
               attempt.refused
                   ? "See that all PEs have certificates of one authority, for their own numbers, or the same secret"
                   : "Name the network to use with SHOAL_INTERFACE, and see that no firewall is between the nodes"));
    }
  }
}

std::unique_ptr<Stream> SocketTransport::dial_host(int pe, const std::string& host, std::uint64_t answer_ns,
                                                   Attempt& attempt) {
  const std::uint16_t port = places_[static_cast<std::size_t>(pe)].port;
  std::uint64_t deadline_ns = UINT64_MAX;
  std::string why;
  try {
    UniqueFd socket = connect_to(host, port, settings_, now_ns() + kConnectNs, why);
    if (!socket) throw Error(Code::peer, why);
    deadline_ns = now_ns() + answer_ns;
    std::unique_ptr<Stream> stream = maker_->make(std::move(socket), true);
    while (!stream->handshake())
      if (!wait_for(stream->fd(), POLLIN, deadline_ns)) throw Error(Code::peer, "no answer");
    stream->check_peer(pe, identity_of(pe));
    attempt.use_theirs = !begin_asking(pe);
    if (attempt.use_theirs) return nullptr;
    wire::Hello hello{
        wire::kMagic, wire::kVersion, static_cast<std::uint32_t>(me_), static_cast<std::uint32_t>(pe), {}};
    std::memcpy(hello.job, job_.data(), sizeof hello.job);
    send_all(*stream, &hello, sizeof hello, deadline_ns);
    wire::Welcome welcome;
    receive_all(*stream, &welcome, sizeof welcome, deadline_ns);
    if (welcome.magic != wire::kWelcomeMagic) throw Error(Code::peer, "something else than Shoal answers there");
    attempt.use_theirs = welcome.answer == wire::Answer::use_yours;
    if (attempt.use_theirs) return nullptr;
    const wire::Confirm confirm{wire::kConfirmMagic, 0};
    send_all(*stream, &confirm, sizeof confirm, deadline_ns);  // the last that may fail
    return stream;
  } catch (const Error& error) {
    const std::lock_guard lock(opening_);
    dialing_[static_cast<std::size_t>(pe)] = Dialing::searching;
    attempt.tried += strf("%s%s port %u: %s", attempt.tried.empty() ? "" : "; ", host.c_str(), port, error.what());
    attempt.refused |= error.code() == Code::security;
    attempt.silent |= now_ns() >= deadline_ns;
    return nullptr;
  }
}

bool SocketTransport::on_hello(const wire::Hello& hello, Stream& stream) noexcept {
  try {
    unsigned different = 0;  // compared whole: the time must not tell how much of a guess is right
    for (std::size_t i = 0; i < job_.size(); ++i) different |= static_cast<unsigned>(hello.job[i] ^ job_[i]);
    if (hello.magic != wire::kMagic || hello.version != wire::kVersion || different != 0 ||
        hello.to != static_cast<std::uint32_t>(me_) || hello.from >= static_cast<std::uint32_t>(n_pes_) ||
        hello.from == hello.to) {
      target_.refused(SocketAddress::peer_of(stream.fd()).text(),
                      strf("its hello is not of this job's (from PE %u to PE %u)", hello.from, hello.to));
      return false;
    }
    const int pe = static_cast<int>(hello.from);
    stream.check_peer(pe, identity_of(pe));
    const std::lock_guard lock(opening_);
    // Connected already: then it dialled before it let us in, and has what we made.
    const bool use_ours = peers_[hello.from].load(std::memory_order_relaxed) != nullptr ||
                          (me_ < pe && dialing_[hello.from] == Dialing::asking);
    const wire::Welcome welcome{wire::kWelcomeMagic, use_ours ? wire::Answer::use_yours : wire::Answer::welcome};
    send_all(stream, &welcome, sizeof welcome, now_ns() + kSecond);
    if (!use_ours) welcomed_.insert(pe);
    return !use_ours;
  } catch (const Error& error) {
    // Who gave up while this PE was stopped dials again.
    if (error.code() != Code::peer) target_.refused(strf("PE %u", hello.from), error.what());
  } catch (const std::exception& error) {
    target_.refused(strf("PE %u", hello.from), error.what());
  }
  return false;
}

void SocketTransport::on_confirmed(const wire::Hello& hello, std::unique_ptr<Stream> stream) noexcept {
  const int pe = static_cast<int>(hello.from);
  try {
    const std::lock_guard lock(opening_);
    welcomed_.extract(pe);
    opened_.notify_all();
    if (peers_[hello.from].load(std::memory_order_relaxed) == nullptr) return add(pe, std::move(stream));
    target_.refused(SocketAddress::peer_of(stream->fd()).text(), strf("PE %d has connected already", pe));
  } catch (const std::exception& error) {  // out of memory, and it counts on the connection
    target_.fail(strf("cannot take the connection of PE %d: %s", pe, error.what()));
  }
}

void SocketTransport::on_given_up(const wire::Hello& hello) noexcept {
  const std::lock_guard lock(opening_);
  welcomed_.extract(static_cast<int>(hello.from));
  opened_.notify_all();
}

/// With opening_ held. The other side counts on this connection: without it the job ends.
void SocketTransport::add(int pe, std::unique_ptr<Stream> stream) {
  owned_.push_back(std::make_unique<Connection>(pe, std::move(stream), target_));
  Connection& connection = *owned_.back();
  if (!watch(connection, EPOLL_CTL_ADD))
    target_.fail(strf("cannot watch the connection to PE %d (on %s): epoll_ctl: %s", pe,
                      endpoint_of(pe).machine.c_str(), std::strerror(errno)));
  const int count = opened_count_.load(std::memory_order_relaxed);
  opened_list_[static_cast<std::size_t>(count)].store(&connection, std::memory_order_relaxed);
  opened_count_.store(count + 1, std::memory_order_release);
  peers_[static_cast<std::size_t>(pe)].store(&connection, std::memory_order_release);
  serve(connection);  // what the stream took in while it was opened shows no event
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// How connections come about: one side dials, the other's door lets it in. When both dial at once, the lower rank's
// connection is the one that stays.
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/address.hpp"
#include "transport/socket/socket_transport.hpp"

namespace shoal {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kConnectNs = 3 * kSecond;  // for one address
constexpr std::uint64_t kDialNs = 30 * kSecond;    // for all of them, again and again
constexpr std::uint64_t kRefusedNs = 3 * kSecond;  // the same, where one of them has another's credentials
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
    if (n == Stream::kEnded) throw Error(Code::peer, stream.why());
    if (n > 0) done += static_cast<std::size_t>(n);
    if (n == Stream::kAgain && !stream.holds_input() && !wait_for(stream.fd(), events, deadline_ns)) throw Error(Code::peer, "no answer");
  }
}
void send_all(Stream& stream, const void* from, std::size_t bytes, std::uint64_t deadline_ns) {
  move_all(stream, bytes, POLLOUT, deadline_ns,
           [&](std::size_t done) { return stream.write(static_cast<const char*>(from) + done, bytes - done); });
}
void receive_all(Stream& stream, void* to, std::size_t bytes, std::uint64_t deadline_ns) {
  move_all(stream, bytes, POLLIN, deadline_ns, [&](std::size_t done) { return stream.read(static_cast<char*>(to) + done, bytes - done); });
}

}  // namespace

Connection& SocketTransport::open(int pe) noexcept {
  const auto index = static_cast<std::size_t>(pe);
  const auto there = [&] { return peers_[index].load(std::memory_order_acquire); };
  try {
    std::unique_lock lock(opening_);
    opened_.wait(lock, [&] { return !dialing_[index] || there() != nullptr; });  // another thread of ours dials it
    if (there() != nullptr) return *there();
    dialing_[index] = true;
    lock.unlock();
    bool use_theirs = false;
    std::unique_ptr<Stream> stream = dial(pe, use_theirs);
    lock.lock();
    if (!use_theirs && there() == nullptr) {
      add(pe, std::move(stream));
    } else if (!opened_.wait_for(lock, std::chrono::nanoseconds(kDialNs), [&] { return there() != nullptr; })) {
      throw Error(Code::peer, "it wanted to connect itself, but never did");
    }
    dialing_[index] = false;
    opened_.notify_all();
    return *there();
  } catch (const std::exception& error) {
    target_.fail(strf("cannot connect to PE %d (on %s): %s", pe, endpoint_of(pe).machine.c_str(), error.what()));
  }
  __builtin_unreachable();  // g++ forgets that the virtual function doesn't return
}

std::unique_ptr<Stream> SocketTransport::dial(int pe, bool& use_theirs) {
  const Endpoint endpoint = endpoint_of(pe);
  const std::uint64_t began_ns = now_ns(), deadline_ns = began_ns + kDialNs;
  bool refused = false;
  std::string tried;
  do {
    tried.clear();
    for (const std::string& host : endpoint.hosts) {
      std::string why;
      std::unique_ptr<Stream> stream = dial_host(pe, host, use_theirs, std::min(deadline_ns, now_ns() + kConnectNs), why, refused);
      if (stream != nullptr || use_theirs) return stream;
      tried += strf("%s%s port %u: %s", tried.empty() ? "" : "; ", host.c_str(), endpoint.port, why.c_str());
    }
    ::poll(nullptr, 0, kAgainMs);
  } while (now_ns() < (refused ? began_ns + kRefusedNs : deadline_ns));
  throw Error(Code::peer, strf("none of its addresses lets this PE in within %d s (%s). %s",
                               static_cast<int>((refused ? kRefusedNs : kDialNs) / kSecond), tried.c_str(),
                               refused ? "See that all PEs have certificates of one authority, for their own numbers, or the same secret"
                                       : "Name the network to use with SHOAL_INTERFACE, and see that no firewall is between the nodes"));
}

std::unique_ptr<Stream> SocketTransport::dial_host(int pe, const std::string& host, bool& use_theirs, std::uint64_t deadline_ns, std::string& why,
                                                   bool& refused) {
  try {
    UniqueFd socket = connect_to(host, places_[static_cast<std::size_t>(pe)].port, deadline_ns, why);
    if (!socket) return nullptr;
    prepare(socket.get(), settings_);
    // The door of a PE that is stopped does not answer; the kernel does, so this is not the network's fault.
    const std::uint64_t answer_ns = now_ns() + kDialNs / 3;
    std::unique_ptr<Stream> stream = maker_->make(std::move(socket), true);
    while (!stream->handshake())
      if (!wait_for(stream->fd(), POLLIN, answer_ns)) throw Error(Code::peer, "it does not answer: is that PE stopped?");
    stream->check_peer(pe, identity_of(pe));
    wire::Hello hello{wire::kMagic, wire::kVersion, static_cast<std::uint32_t>(me_), static_cast<std::uint32_t>(pe), {}};
    std::memcpy(hello.job, job_.data(), sizeof hello.job);
    send_all(*stream, &hello, sizeof hello, answer_ns);
    wire::Welcome welcome;
    receive_all(*stream, &welcome, sizeof welcome, answer_ns);
    if (welcome.magic != wire::kMagic) throw Error(Code::peer, "something else than Shoal answers there");
    use_theirs = welcome.answer == wire::Answer::use_yours;
    if (use_theirs) stream.reset();
    return stream;
  } catch (const Error& error) {
    why = error.what();
    refused |= error.code() == Code::security;
    return nullptr;
  }
}

void SocketTransport::on_hello(const wire::Hello& hello, std::unique_ptr<Stream> stream) noexcept {
  try {
    const std::string who = SocketAddress::peer_of(stream->fd()).text();
    unsigned different = 0;  // compared whole: the time must not tell how much of a guess is right
    for (std::size_t i = 0; i < job_.size(); ++i) different |= static_cast<unsigned>(hello.job[i] ^ job_[i]);
    if (hello.magic != wire::kMagic || hello.version != wire::kVersion || different != 0 || hello.to != static_cast<std::uint32_t>(me_) ||
        hello.from >= static_cast<std::uint32_t>(n_pes_) || hello.from == hello.to)
      return target_.refused(who, strf("its hello is not of this job's (from PE %u to PE %u)", hello.from, hello.to));
    const int pe = static_cast<int>(hello.from);
    stream->check_peer(pe, identity_of(pe));
    const std::lock_guard lock(opening_);
    // Connected already: then it dialled before it let us in, and has what we made.
    const bool use_ours = peers_[hello.from].load(std::memory_order_relaxed) != nullptr || (dialing_[hello.from] && me_ < pe);
    const wire::Welcome welcome{wire::kMagic, use_ours ? wire::Answer::use_yours : wire::Answer::welcome};
    send_all(*stream, &welcome, sizeof welcome, now_ns() + kSecond);
    if (!use_ours) add(pe, std::move(stream));
    opened_.notify_all();
  } catch (const std::exception& error) {
    target_.refused(strf("PE %u", hello.from), error.what());
  }
}

/// With opening_ held.
Connection& SocketTransport::add(int pe, std::unique_ptr<Stream> stream) {
  owned_.push_back(std::make_unique<Connection>(pe, std::move(stream), target_));
  Connection& connection = *owned_.back();
  const int count = opened_count_.load(std::memory_order_relaxed);
  opened_list_[static_cast<std::size_t>(count)].store(&connection, std::memory_order_relaxed);
  opened_count_.store(count + 1, std::memory_order_release);
  peers_[static_cast<std::size_t>(pe)].store(&connection, std::memory_order_release);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &connection;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.fd(), &event) != 0) throw_errno("epoll_ctl");
  serve(connection);  // what the stream took in while it was opened shows no event
  return connection;
}

}  // namespace shoal

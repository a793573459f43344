// SPDX-License-Identifier: Apache-2.0
#include "transport/socket/socket_transport.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace shoal {

using wire::Frame;
using wire::Operands;
using wire::Type;

namespace {

constexpr int kPollEach = 8;  // up to so many connections are read without asking which has something
constexpr int kEvents = 64;
constexpr int kRoundsAtOnce = 4;  // of receiving from one connection, then others get their turn
constexpr int kLookMs = 1000;     // between looks whether a machine is silent
constexpr int kOwnedMs = 1;       // until it is looked again at what another thread keeps
constexpr int kSpins = 64;        // before a sender sleeps until its socket takes more

}  // namespace

SocketTransport::SocketTransport(int me, int n_pes, const SocketSettings& settings, std::unique_ptr<StreamMaker> maker,
                                 Target& target)
    : me_(me),
      n_pes_(n_pes),
      settings_(settings),
      maker_(std::move(maker)),
      target_(target),
      listener_(listen_anywhere(settings_, endpoint_)),
      epoll_(UniqueFd(::epoll_create1(EPOLL_CLOEXEC))),
      dialing_(static_cast<std::size_t>(n_pes)),
      peers_(new std::atomic<Connection*>[static_cast<std::size_t>(n_pes)]()),
      opened_list_(new std::atomic<Connection*>[static_cast<std::size_t>(n_pes)]()) {
  if (!epoll_) throw_errno("epoll_create1");
  if (::getrandom(job_.data(), job_.size(), 0) != static_cast<ssize_t>(job_.size())) throw_errno("getrandom");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, nudge_.fd(), &event) != 0) throw_errno("epoll_ctl");
}

SocketTransport::~SocketTransport() { close(); }

std::string SocketTransport::address() const {
  std::string job;
  for (const std::uint8_t byte : job_) job += strf("%02x", byte);
  const std::string identity = maker_->identity();
  return (me_ == 0 ? job : "-") + " " + (identity.empty() ? "-" : identity) + " " + endpoint_.text();
}

void SocketTransport::start(std::vector<std::string> addresses) {
  for (std::size_t pe = 0; pe < addresses.size(); ++pe) {
    // "<job of PE 0> <identity, or -> <endpoint>"
    const std::string& address = addresses[pe];
    const std::size_t job_end = address.find(' '), identity_end = address.find(' ', job_end + 1);
    const std::size_t port_end = address.find('\n');
    if (identity_end == std::string::npos || port_end == std::string::npos || (pe == 0 && job_end != 2 * job_.size()))
      throw Error(Code::peer, strf("\"%s\" is no address of a PE", address.c_str()));
    const std::string identity = address.substr(job_end + 1, identity_end - job_end - 1);
    if (identity != "-") identities_.resize(addresses.size());
    if (identity != "-") identities_[pe] = identity;
    places_.push_back(
        {&*machines_.insert(address.substr(port_end)).first, Endpoint::parse(address.substr(identity_end + 1)).port});
  }
  for (std::size_t i = 0; i < job_.size(); ++i)  // the first PE's is the job's
    job_[i] = static_cast<std::uint8_t>(std::stoi(addresses[0].substr(2 * i, 2), nullptr, 16));
  door_ = std::make_unique<Door>(std::move(listener_), n_pes_, *maker_, settings_, target_, static_cast<Host&>(*this));
  thread_.start();
}

Endpoint SocketTransport::endpoint_of(int pe) const {
  const Place& place = places_[static_cast<std::size_t>(pe)];
  return Endpoint::parse(std::to_string(place.port) + *place.machine);
}

std::string SocketTransport::identity_of(int pe) const {
  return identities_.empty() ? "" : identities_[static_cast<std::size_t>(pe)];
}

void SocketTransport::close() noexcept {
  leaving();
  door_.reset();
  thread_.stop();
  owned_.clear();
}

// Requests

void SocketTransport::put(const Far& to, const void* from, std::size_t bytes) noexcept {
  Connection& connection = peer(to.pe);
  const char* data = static_cast<const char*>(from);
  Far place = to;
  while (bytes != 0) {
    const std::uint64_t chunk = std::min<std::uint64_t>(bytes, wire::kLongest - place.offset % 8);
    const Frame frame{Type::put, 0, 0, 0, place.key, place.offset, chunk};
    const Owning owning(connection.owner());
    if (chunk > Connection::kCopied) {
      put_body(connection, frame, data);
    } else {
      make_room(connection, chunk);
      connection.append(frame, data, chunk);
      appended(connection);
    }
    data += chunk;
    place.offset += chunk;
    bytes -= chunk;
  }
}

void SocketTransport::put_body(Connection& connection, const Frame& frame, const void* data) noexcept {
  make_room(connection, 0);
  const std::uint64_t sent = connection.sent_bodies();
  connection.append_body(frame, data, frame.bytes);
  for (int round = 0; !connection.flush() && connection.sent_bodies() == sent; ++round)
    wait_on(connection, POLLIN | POLLOUT, round);
}

void SocketTransport::get(const Far& from, void* to, std::size_t bytes, Tally& tally, bool gather) noexcept {
  Connection& connection = peer(from.pe);
  char* data = static_cast<char*>(to);
  Far place = from;
  while (bytes != 0) {
    const std::uint64_t chunk = std::min<std::uint64_t>(bytes, wire::kLongest);
    const Owning owning(connection.owner());
    make_await(connection, chunk);
    make_room(connection, 0);
    tally.left.fetch_add(1, std::memory_order_relaxed);
    connection.await(data, chunk, tally);
    connection.append({Type::get, 0, 0, 0, place.key, place.offset, chunk}, nullptr, 0);
    data += chunk;
    place.offset += chunk;
    bytes -= chunk;
    if (gather)
      appended(connection);
    else
      connection.flush();
  }
}

void SocketTransport::update(const Far& word, const AtomicCall& call) noexcept {
  Connection& connection = peer(word.pe);
  const Operands operands{call.operand, call.compare};
  const Owning owning(connection.owner());
  make_room(connection, sizeof operands);
  connection.append({Type::update, static_cast<std::uint8_t>(call.op), call.width, 0, word.key, word.offset, 0},
                    &operands, sizeof operands);
  appended(connection);
}

void SocketTransport::raise(const Far& word, std::uint64_t value) noexcept {
  Connection& connection = peer(word.pe);
  const Operands operands{value, 0};
  const Owning owning(connection.owner());
  make_room(connection, sizeof operands);
  connection.append_unconfirmed(
      {Type::update, static_cast<std::uint8_t>(AtomicOp::swap), 8, 0, word.key, word.offset, 0}, &operands,
      sizeof operands);
  connection.flush();
}

void SocketTransport::fetch(const Far& word, const AtomicCall& call, void* old, Tally& tally, bool gather) noexcept {
  Connection& connection = peer(word.pe);
  const Operands operands{call.operand, call.compare};
  const Owning owning(connection.owner());
  make_await(connection, call.width);
  make_room(connection, sizeof operands);
  tally.left.fetch_add(1, std::memory_order_relaxed);
  connection.await(old, call.width, tally);
  connection.append({Type::fetch, static_cast<std::uint8_t>(call.op), call.width, 0, word.key, word.offset, 0},
                    &operands, sizeof operands);
  if (gather)
    appended(connection);
  else
    connection.flush();
}

void SocketTransport::flush(Tally& tally) noexcept {
  const int count = opened_count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    Connection& connection = *opened_list_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed);
    if (!connection.busy()) continue;
    const Owning owning(connection.owner());
    make_await(connection, 0);
    make_room(connection, 0);
    tally.left.fetch_add(1, std::memory_order_relaxed);
    connection.await(nullptr, 0, tally);
    connection.append({Type::get, 0, 0, 0, 0, 0, 0}, nullptr, 0);
    connection.flush();
  }
}

/// Sends at once what is much; else sees to it that it is sent, even if this PE never calls again.
void SocketTransport::appended(Connection& connection) noexcept {
  if (!connection.gathers()) connection.flush();
  thread_.given();
}

void SocketTransport::make_room(Connection& connection, std::size_t bytes) noexcept {
  for (int round = 0; !connection.has_room(bytes) || connection.broken(); ++round) {
    connection.flush();
    if (!connection.has_room(bytes)) wait_on(connection, POLLIN | POLLOUT, round);
    if (connection.broken()) lost(connection);
  }
}

void SocketTransport::make_await(Connection& connection, std::uint64_t bytes) noexcept {
  for (int round = 0; !connection.may_await(bytes) || connection.broken(); ++round) {
    wait_on(connection, connection.flush() ? POLLIN : POLLIN | POLLOUT, round);
  }
}

/// The owner can go no further before the other side has done something: serves it, and the others, meanwhile.
void SocketTransport::wait_on(Connection& connection, short events, int round) noexcept {
  if (connection.broken()) lost(connection);
  thread_.polled();
  if (connection.receive()) return;
  const int count = opened_count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    Connection* other = opened_list_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed);
    if (other != &connection) serve(*other);
  }
  if (round < kSpins) return;
  pollfd wait{connection.fd(), events, 0};
  ::poll(&wait, 1, 1);
}

void SocketTransport::lost(Connection& connection) noexcept {
  connection.owner().disown();
  lost_.wait_to_be_ended();
  fail_lost(connection);
}

void SocketTransport::fail_lost(const Connection& connection) noexcept {
  const std::string machine = endpoint_of(connection.pe()).machine;
  target_.fail(strf("the connection to PE %d (on %s, %s) was lost: %s", connection.pe(), machine.c_str(),
                    connection.address().c_str(), connection.why().c_str()));
  __builtin_unreachable();  // g++ forgets that the virtual function doesn't return
}

// Serving

bool SocketTransport::serve(Connection& connection) noexcept {
  note_if_lost(connection);  // whoever sent may have found it out
  if (connection.broken() || !connection.owner().try_own()) return false;
  bool any = connection.dirty() && connection.flush();
  any |= connection.receive();
  if (connection.dirty()) connection.flush();
  connection.owner().disown();
  note_if_lost(connection);
  return any;
}

void SocketTransport::note_if_lost(Connection& connection) noexcept {
  if (connection.broken() && !leaving_.load(std::memory_order_relaxed)) lost_.note(connection);
}

/// For the thread, which must not miss who is lost while the program waits for a PE that is stopped: what an owner
/// keeps comes again as an event.
bool SocketTransport::own_soon(Connection& connection) noexcept {
  if (connection.owner().own_soon()) return true;
  ::poll(nullptr, 0, kOwnedMs);
  watch(connection, EPOLL_CTL_MOD);
  return false;
}

/// Waits for owners, unlike serve_all(): one that has appended and not looked yet whether the thread
/// sleeps would leave it there.
void SocketTransport::send_what_lies() noexcept {
  const int count = opened_count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    Connection& connection = *opened_list_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed);
    if (connection.dirty() && own_soon(connection)) {
      connection.flush();
      connection.owner().disown();
    }
    serve(connection);
  }
}

bool SocketTransport::serve_all() noexcept {
  bool any = false;
  const int count = opened_count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i)
    any |= serve(*opened_list_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed));
  return any;
}

/// @param how  as epoll_ctl's
bool SocketTransport::watch(Connection& connection, int how) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &connection;
  return ::epoll_ctl(epoll_.get(), how, connection.fd(), &event) == 0;
}

/// Serves the connections that have something. Events come once each: so what is owned by another thread is waited for.
/// A nudge stays for the thread, whose it is.
bool SocketTransport::serve_ready(int timeout_ms, bool& nudged) noexcept {
  epoll_event events[kEvents];
  const int count = ::epoll_wait(epoll_.get(), events, kEvents, timeout_ms);
  bool any = false;
  for (int i = 0; i < count; ++i) {
    auto* connection = static_cast<Connection*>(events[i].data.ptr);
    if (connection == nullptr) {
      nudged = true;
      continue;
    }
    if (!own_soon(*connection)) continue;
    bool more = true;
    for (int round = 0; round < kRoundsAtOnce && (more = connection->receive()); ++round) any = true;
    if (connection->dirty()) any |= connection->flush();
    connection->owner().disown();
    note_if_lost(*connection);
    if (more) watch(*connection, EPOLL_CTL_MOD);  // has the event come again
  }
  return any;
}

/// The thread's: what was given while it went to sleep lies in the connections.
bool SocketTransport::serve_next() noexcept {
  bool nudged = false;
  const bool served = serve_ready(lost_.any() ? 100 : kLookMs, nudged);
  if (nudged) {
    nudge_.clear();
    serve_all();
  }
  return served;
}

bool SocketTransport::progress() noexcept {
  thread_.polled();
  const int count = opened_count_.load(std::memory_order_acquire);
  if (count <= kPollEach) return serve_all();
  bool any = false, nudged = false;
  for (int i = 0; i < count; ++i) {
    Connection& connection = *opened_list_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed);
    if (connection.dirty()) any |= serve(connection);
  }
  return serve_ready(0, nudged) || any;
}

void SocketTransport::watch_lost() noexcept {
  if (const std::uint64_t now = now_ns(); now >= look_ns_) {
    look_ns_ = now + std::uint64_t{kLookMs} * 1'000'000;
    const int count = opened_count_.load(std::memory_order_acquire);
    for (int i = 0; i < count; ++i)
      opened_list_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed)->check_silence(settings_.silence_s);
  }
  if (leaving_.load(std::memory_order_relaxed)) return;
  if (const Connection* const connection = lost_.due()) fail_lost(*connection);
}

}  // namespace shoal

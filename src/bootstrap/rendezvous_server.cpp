// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/rendezvous_server.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/rendezvous_guest.hpp"

namespace shoal {

using store::Bytes;
using store::Frame;
using store::Type;

namespace {

constexpr std::uint64_t kListener = 0;                 // the listener's number among the guests'
constexpr std::uint64_t kGreetingNs = 10'000'000'000;  // for a stranger to say who it is
constexpr std::uint64_t kPartingNs = 3'000'000'000;    // for everyone to hear of the end
constexpr std::uint64_t kExitNs = 2'000'000'000;       // from a member's word that it exits to its end
constexpr std::uint64_t kCheckNs = 1'000'000'000;      // between looks for silent machines, and for descriptors
constexpr std::size_t kMostStrangers = 256;            // connections that have not said who they are
constexpr std::uint64_t kSayAfterNs = 5'000'000'000;
constexpr int kMostNotes = 10;

int ms_until(std::uint64_t then, std::uint64_t now) {
  if (then == UINT64_MAX) return -1;
  return then <= now ? 0 : static_cast<int>(std::min<std::uint64_t>((then - now) / 1'000'000 + 1, 1'000'000));
}

}  // namespace

RendezvousServer::RendezvousServer(UniqueFd listener, Setup setup)
    : setup_(std::move(setup)),
      listener_(std::move(listener)),
      events_(UniqueFd(::epoll_create1(EPOLL_CLOEXEC))),
      members_(static_cast<std::size_t>(setup_.members)),
      taken_(members_.size()),
      say_ns_(now_ns() + kSayAfterNs) {
  if (!events_) throw_errno("epoll_create1");
  epoll_event event{EPOLLIN, {}};
  event.data.u64 = kListener;
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, listener_.get(), &event) != 0) throw_errno("epoll_ctl");
}

RendezvousServer::~RendezvousServer() = default;

void RendezvousServer::adopt(UniqueFd socket) { add(std::move(socket), nullptr, true); }

int RendezvousServer::wait_ms() const {
  const std::uint64_t now = now_ns();
  if (phase_ == Phase::ending || phase_ == Phase::over) return ms_until(close_by_ns_, now);
  const std::uint64_t look = guests_.empty() && accepts_ ? UINT64_MAX : checked_ns_ + kCheckNs;
  const int wait = ms_until(phase_ == Phase::joining ? std::min(setup_.join_by_ns, look) : look, now);
  const int above = setup_.above != nullptr ? setup_.above->wait_ms() : -1;
  return wait < 0 || (above >= 0 && above < wait) ? above : wait;
}

void RendezvousServer::progress() {
  std::array<epoll_event, 64> events;
  const int n = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < n; ++i) {
    const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
    if (id == kListener) {
      accept_all();
    } else if (const auto found = guests_.find(id); found != guests_.end()) {
      serve(*found->second);
    }
  }
  if (setup_.above != nullptr) serve_above();
  check_time();
}

void RendezvousServer::accept_all() {
  while (true) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!fd) {
      // No descriptors left: who comes waits until some are, and the listener, readable all the time, must not keep
      // this thread from everything else.
      if (errno == EAGAIN) return;
      checked_ns_ = now_ns();  // the next look is a while away
      return watch_listener(false);
    }
    if (static_cast<std::size_t>(strangers_) >= kMostStrangers + members_.size()) lose_oldest_stranger();
    watch_for_silence(fd.get(), setup_.silence_s);
    add(std::move(fd), setup_.tls, false);
  }
}

/// Members speak at once: who came first and has not is none.
void RendezvousServer::lose_oldest_stranger() {
  const auto oldest = std::find_if(guests_.begin(), guests_.end(),
                                   [](const auto& one) { return one.second->member < 0 && !one.second->trusted; });
  if (oldest == guests_.end()) return;
  oldest->second->link.close("too many connections wait to say who they are");
  lose(*oldest->second);
}

void RendezvousServer::watch_listener(bool on) {
  accepts_ = on;
  epoll_event event{on ? EPOLLIN : 0u, {}};
  event.data.u64 = kListener;
  ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
}

void RendezvousServer::add(UniqueFd fd, const TlsContext* tls, bool trusted) {
  if (!same_user(fd.get())) return;
  try {
    const std::uint64_t id = next_guest_++;
    const std::string address = SocketAddress::peer_of(fd.get()).text();
    std::unique_ptr<Guest> guest(new Guest{id, address, Link(std::move(fd), tls, Link::Side::accepting)});
    guest->trusted = trusted;
    guest->interest = EPOLLIN;
    epoll_event event{EPOLLIN, {}};
    event.data.u64 = id;
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, guest->link.fd(), &event) != 0) return;
    guests_.emplace(id, std::move(guest));
    ++strangers_;
  } catch (const std::exception&) {
    // No memory for it: it sees its connection closed, and tries again.
  }
}

/// Before the descriptor goes: to the kernel it would stay, and show events, while a forked child holds it as well.
void RendezvousServer::forget(int fd) const { ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void RendezvousServer::set_interest(Guest& guest) {
  const short wanted = guest.link.events();
  const std::uint32_t interest = ((wanted & POLLIN) != 0 ? EPOLLIN : 0u) | ((wanted & POLLOUT) != 0 ? EPOLLOUT : 0u);
  if (interest == guest.interest) return;
  guest.interest = interest;
  epoll_event event{interest, {}};
  event.data.u64 = guest.id;
  ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, guest.link.fd(), &event);
}

void RendezvousServer::serve(Guest& guest) {
  guest.link.progress();
  while (!guest.parting) {
    const std::optional<Frame> frame = guest.link.next();
    if (!frame) break;
    try {
      take(guest, *frame);
    } catch (const std::exception& error) {
      if (guest.member < 0)
        refuse(guest, error.what());
      else
        end(1, text_of(guest.member) + " broke the rules of the meeting (" + error.what() + ")");
    }
  }
  if (!guest.link.open() || (guest.parting && guest.link.drained())) return lose(guest);
  set_interest(guest);
}

void RendezvousServer::take(Guest& guest, const Frame& frame) {
  std::string text;
  if (guest.member < 0 && !listener_) return guest.link.close("the job is over");
  if (guest.member < 0 && frame.type != Type::join)
    throw Error(Code::launcher, strf("malformed session: %s before join", store::name_of(frame.type)));
  switch (frame.type) {
    case Type::join: return join(guest, frame);
    case Type::allgather:
    case Type::barrier:
    case Type::leave: return collect(guest, frame);
    case Type::abort: {
      const store::NumberedText reason = store::read_text(frame.payload);
      return end(reason.number, reason.text);
    }
    case Type::exiting:
      guest.told_status = store::read_text(frame.payload).number;
      guest.exits_by_ns = now_ns() + kExitNs;
      if (!guest.trusted) return;
      // That is this process, and takes the server along: all others are told while they can be.
      exit_told_ = true;
      return end_by_exit(guest);
    case Type::done: return note_done(guest, store::read_text(frame.payload).number);
    case Type::inquiry:
      for (const Member& member : members_)
        if (member.guest != nullptr && member.guest != &guest) {
          member.guest->link.send(frame_of(Type::inquired, std::as_bytes(std::span(&guest.member, 1))));
          set_interest(*member.guest);
        }
      return;
    case Type::report: {
      const auto asker = store::take_fixed<std::uint32_t>(frame, text);
      if (asker >= members_.size() || members_[asker].guest == nullptr) return;
      members_[asker].guest->link.send(
          frame_of(Type::reported, store::with_text(static_cast<std::uint32_t>(guest.member), text)));
      return set_interest(*members_[asker].guest);
    }
    default:
      throw Error(Code::launcher, strf("malformed frame: type %u, length %zu", static_cast<unsigned>(frame.type),
                                       frame.payload.size()));
  }
}

/// What the larger meeting says is for all members here.
void RendezvousServer::serve_above() {
  Uplink& above = *setup_.above;
  above.progress();
  try {
    if (phase_ == Phase::joining && above.meeting() != nullptr && all_joined()) start();
    while (phase_ == Phase::joining || phase_ == Phase::running) {
      const auto frame = above.next();
      if (!frame) break;
      if (frame->type == Type::end) {
        std::string text;
        const auto fixed = store::take_fixed<std::array<std::int32_t, 2>>(*frame, text);
        tell_end(fixed[0], text, fixed[1] != 0);
      } else if (asking_ != joined_) {
        throw Error(Code::launcher, strf("malformed session: %s unasked", store::name_of(frame->type)));
      } else {
        answer(frame->type, frame->payload);
      }
    }
  } catch (const std::exception& error) {
    end(1, std::string("the meeting of the job broke its rules: ") + error.what());
  }
  if (!above.failure().empty() && (phase_ == Phase::joining || phase_ == Phase::running))
    tell_end(1,
             above.meeting() == nullptr
                 ? above.failure()
                 : "the PE where the job meets is gone: " + above.failure() + "; the other PEs have been ended",
             true);
}

void RendezvousServer::collect(Guest& guest, Frame frame) {
  Member& member = at(guest.member);
  if (phase_ != Phase::running) return;
  if (member.request || member.status || member.left)
    throw Error(Code::launcher, strf("malformed session: %s out of turn", store::name_of(frame.type)));
  if (asking_ == 0) asked_first_ = guest.member;
  if (const Member& first = at(asked_first_); asking_ != 0 && first.request->type != frame.type)
    return end(1,
               strf("%s asks for %s while %s asks for %s: the PEs do not run the same program, or not the same version "
                    "of the library",
                    text_of(guest.member).c_str(), store::name_of(frame.type), text_of(asked_first_).c_str(),
                    store::name_of(first.request->type)));
  if (frame.type == Type::allgather) store::split_parts(frame.payload, static_cast<std::size_t>(member.pes));
  member.request = std::move(frame);
  if (++asking_ == joined_) return answer_all();
  check_deserted();
}

/// All have asked, for the same thing.
void RendezvousServer::answer_all() {
  const Type asked = members_[0].request->type;
  Bytes payload;
  if (asked == Type::allgather) {
    std::vector<std::span<const std::byte>> parts;
    for (const Member& member : members_) {
      if (!member.request) continue;
      const auto its = store::split_parts(member.request->payload, static_cast<std::size_t>(member.pes));
      parts.insert(parts.end(), its.begin(), its.end());
    }
    try {
      payload = store::join_parts(parts, store::kMaxReply);
    } catch (const Error& error) {
      return end(1, error.what());
    }
  }
  if (setup_.above != nullptr) return setup_.above->send(asked, payload);
  answer(store::answer_to(asked), payload);
}

void RendezvousServer::answer(Type type, std::span<const std::byte> payload) {
  for (Member& member : members_) member.request.reset();
  asking_ = 0;
  if (type == Type::goodbye && setup_.kind == Kind::pes) {
    for (Member& member : members_) member.left = true;
    phase_ = Phase::over;
    close_doors();
  }
  broadcast(type, payload);
}

void RendezvousServer::note_done(Guest& guest, int status) {
  if (!std::exchange(at(guest.member).status, status)) ++done_;
  int largest = 0;
  for (const Member& member : members_) {
    if (!member.status) return check_deserted();
    largest = std::max(largest, *member.status);
  }
  if (phase_ != Phase::running) return;
  phase_ = Phase::over;
  close_doors();
  broadcast(Type::finished, std::as_bytes(std::span(&largest, 1)));
}

/// What some wait for will never come when others have ended.
void RendezvousServer::check_deserted() {
  if (done_ == 0 || asking_ == 0) return;
  const auto ended =
      std::find_if(members_.begin(), members_.end(), [](const Member& one) { return one.status.has_value(); });
  const auto waits =
      std::find_if(members_.begin(), members_.end(), [](const Member& one) { return one.request.has_value(); });
  if (ended == members_.end() || waits == members_.end()) return;
  end(std::max(1, *ended->status),
      strf("all PEs of %s have ended with status %d, and those of %s wait for them in shmem_init or shmem_finalize",
           text_of(static_cast<int>(ended - members_.begin())).c_str(), *ended->status,
           text_of(static_cast<int>(waits - members_.begin())).c_str()));
}

/// The connection of `guest`, which is no more after this, has come to its end.
void RendezvousServer::lose(Guest& guest) {
  const std::unique_ptr<Guest> last = std::move(guests_.at(guest.id));
  guests_.erase(guest.id);
  forget(guest.link.fd());
  if (guest.member < 0) {
    --strangers_;
    if (!guest.parting && ++turned_away_ <= kMostNotes && phase_ == Phase::joining)
      notes_.push_back(strf("a connection from %s did not join: %s", guest.address.c_str(), guest.link.why().c_str()));
    return;
  }
  Member& member = at(guest.member);
  member.guest = nullptr;
  if (phase_ == Phase::ending || phase_ == Phase::over || member.status || member.left) return;
  if (setup_.kind == Kind::launchers)
    return end(1, strf("the launcher of %s is gone: %s", text_of(guest.member).c_str(), guest.link.why().c_str()));
  if (guest.told_status) return end_by_exit(guest);
  end(1, strf("%s ended without shmem_finalize: %s; the other PEs have been ended", text_of(guest.member).c_str(),
              guest.link.why().c_str()));
}

void RendezvousServer::end_by_exit(const Guest& guest) {
  at(guest.member).guest = nullptr;  // it knows, and may have exit handlers to run
  end(*guest.told_status != 0 ? *guest.told_status : 1,
      strf("%s exited with status %d without shmem_finalize; the other PEs have been ended",
           text_of(guest.member).c_str(), *guest.told_status));
}

bool RendezvousServer::told_exit() const {
  return exit_told_ && (setup_.above == nullptr || setup_.above->drained()) &&
         std::all_of(members_.begin(), members_.end(),
                     [](const Member& one) { return one.guest == nullptr || one.guest->link.drained(); });
}

void RendezvousServer::refuse(Guest& guest, const std::string& why) {
  if (++turned_away_ <= kMostNotes)
    notes_.push_back(strf("%s was turned away: %s", guest.address.c_str(), why.c_str()));
  guest.link.send(store::make_text_frame(Type::error, static_cast<int>(Code::launcher), why));
  guest.parting = true;
  guest.link.progress();
}

void RendezvousServer::broadcast(Type type, std::span<const std::byte> payload) {
  const auto frame = std::make_shared<const Bytes>(frame_of(type, payload));
  for (const Member& member : members_) {
    if (member.guest == nullptr) continue;
    member.guest->link.send(frame);
    set_interest(*member.guest);
  }
}

/// Nobody can join any more: who comes is for the next job that meets here, and tries until that listens.
void RendezvousServer::close_doors() {
  close_by_ns_ = now_ns() + kPartingNs;
  if (listener_) {
    forget(listener_.get());
    ::shutdown(listener_.get(), SHUT_RDWR);  // a forked child may not have closed it yet
  }
  listener_.reset();
}

void RendezvousServer::end(int status, const std::string& text) {
  if (phase_ == Phase::ending || phase_ == Phase::over) return;
  if (setup_.above != nullptr) {
    setup_.above->send_text(Type::abort, status, text);
    setup_.above->progress();
  }
  tell_end(status, text, true);
}

void RendezvousServer::tell_end(int status, const std::string& text, bool print) {
  phase_ = Phase::ending;
  close_doors();
  std::vector<std::string> hosts;  // PEs of one share a terminal, as a rule: one of them prints
  for (const Member& member : members_) {
    Guest* guest = member.guest;
    if (guest == nullptr) continue;
    const bool first_on_host = std::find(hosts.begin(), hosts.end(), member.host) == hosts.end();
    if (first_on_host) hosts.push_back(member.host);
    const struct {
      std::int32_t status;
      std::uint32_t print;
    } fixed{status, print && (setup_.kind == Kind::launchers || first_on_host) ? 1u : 0u};
    guest->link.send(frame_of(Type::end, store::with_text(fixed, text.substr(0, store::kMaxReason))));
    set_interest(*guest);
  }
}

void RendezvousServer::check_time() {
  const std::uint64_t now = now_ns();
  if (phase_ == Phase::joining && now >= setup_.join_by_ns) end(1, "gave up: " + missing());
  if (now < checked_ns_ + kCheckNs) return;
  checked_ns_ = now;
  if (setup_.above != nullptr && phase_ == Phase::joining && now >= say_ns_ && !setup_.above->trouble().empty()) {
    say_ns_ = UINT64_MAX;
    notes_.push_back("cannot reach the place where the job meets yet: " + setup_.above->trouble());
  }
  if (!accepts_ && listener_) watch_listener(true);
  std::vector<Guest*> gone;
  for (auto& [id, guest] : guests_) {
    guest->link.check_silence(setup_.silence_s);
    // A process that it forked may keep the connection.
    if (now >= guest->exits_by_ns) end_by_exit(*guest);
    if (guest->member < 0 && now >= guest->arrived_ns + kGreetingNs)
      guest->link.close("it did not say who it is within 10 s");
    if (!guest->link.open()) gone.push_back(guest.get());
  }
  for (Guest* guest : gone) lose(*guest);
}

bool RendezvousServer::over() const {
  if (phase_ != Phase::ending && phase_ != Phase::over) return false;
  const bool told = guests_.empty() && (setup_.above == nullptr || setup_.above->drained());
  return told || now_ns() >= close_by_ns_;
}

}  // namespace shoal

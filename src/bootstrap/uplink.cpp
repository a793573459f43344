// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/uplink.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace shoal {

using store::Frame;
using store::Type;

namespace {

constexpr std::uint64_t kAttemptNs = 3'000'000'000;  // for one address to answer, at first
constexpr std::uint64_t kBetweenNs = 100'000'000;    // before the addresses are tried again
constexpr std::uint64_t kCheckNs = 1'000'000'000;    // between looks whether the other machine is silent

}  // namespace

const Meeting::Member& Meeting::of(int pe) const {
  const auto after = std::find_if(members.begin(), members.end(), [&](const Member& one) { return one.first > pe; });
  return *(after - 1);
}

Uplink::Uplink(Setup setup) : setup_(std::move(setup)), answer_ns_(kAttemptNs) {}

Uplink::Uplink(UniqueFd socket, Setup setup) : Uplink(std::move(setup)) {
  target_ = SocketAddress::peer_of(socket.get());
  greet(std::move(socket), nullptr);
}

short Uplink::events() const {
  if (!failure_.empty()) return 0;
  return link_ != nullptr ? link_->events() : socket_ ? POLLOUT : 0;
}

int Uplink::wait_ms() const {
  if (!failure_.empty()) return -1;
  const std::uint64_t now = now_ns();
  std::uint64_t until = checked_ns_ + kCheckNs;
  if (link_ == nullptr) until = std::min(setup_.connect_by_ns, socket_ ? attempt_by_ns_ : next_attempt_ns_);
  return until <= now ? 0 : static_cast<int>(std::min<std::uint64_t>((until - now) / 1'000'000 + 1, 1000));
}

void Uplink::progress() {
  if (!failure_.empty()) return;
  const std::uint64_t now = now_ns();
  if (link_ == nullptr) {
    if (now >= setup_.connect_by_ns) return fail("nobody answers (" + tried() + ")");
    if (socket_)
      look_at_attempt();
    else if (now >= next_attempt_ns_)
      try_next();
  }
  if (link_ == nullptr) return;
  link_->progress();
  if (several_ && !link_->established() && link_->open() && now >= attempt_by_ns_) {
    answer_ns_ *= 2;  // it may be the right one, and have much to do
    return attempt_failed("no answer");
  }
  if (now >= checked_ns_ + kCheckNs) {
    checked_ns_ = now;
    link_->check_silence(setup_.silence_s);
  }
  while (!meeting_ && failure_.empty()) {
    const auto frame = link_->next();
    if (!frame) break;
    read_start(*frame);
  }
  if (!failure_.empty() || meeting_ || link_->open()) return;
  // Of several addresses, one may be another machine's.
  if (setup_.once || (link_->refused() && setup_.addresses.size() < 2)) return fail(link_->why());
  attempt_failed(link_->why());  // it was going away, or is not the one we look for
}

void Uplink::try_next() {
  try {
    if (addresses_.empty()) {
      addresses_ = setup_.addresses.empty() ? SocketAddress::lookup(setup_.at) : setup_.addresses;
      several_ = addresses_.size() > 1;
    }
  } catch (const Error& error) {
    trouble_ = error.what();
    next_attempt_ns_ = now_ns() + 10 * kBetweenNs;
    return;
  }
  target_ = addresses_.front();
  addresses_.erase(addresses_.begin());
  socket_ = start_connecting(target_);
  attempt_by_ns_ = now_ns() + kAttemptNs;
  if (!socket_) attempt_failed(std::strerror(errno));
}

void Uplink::look_at_attempt() {
  pollfd ready{socket_.get(), POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) {
    if (now_ns() >= attempt_by_ns_) attempt_failed("no answer");
    return;
  }
  const int error = connecting_error(socket_.get());
  if (error != 0) return attempt_failed(std::strerror(error));
  if (!same_user(socket_.get())) return fail("it is another user's");
  watch_for_silence(socket_.get(), setup_.silence_s);
  attempt_by_ns_ = now_ns() + answer_ns_;
  greet(std::move(socket_), setup_.tls);
}

void Uplink::attempt_failed(const std::string& why) {
  trouble_ = target_.text() + ": " + why;
  socket_.reset();
  link_.reset();
  next_attempt_ns_ = addresses_.empty() ? now_ns() + kBetweenNs : 0;
}

void Uplink::greet(UniqueFd fd, const TlsContext* tls) {
  try {
    link_ = std::make_unique<Link>(std::move(fd), tls, Link::Side::connecting);
    setup_.join.magic = store::kMagic;
    setup_.join.version = store::kVersion;
    link_->send(store::make_frame(Type::join, store::with_text(setup_.join, host_name() + "\n" + setup_.tag),
                                  store::kMaxRequest));
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

/// The server's answer to join.
void Uplink::read_start(const Frame& frame) {
  try {
    if (frame.type == Type::error) return fail(store::read_text(frame.payload).text);
    std::string text;
    if (frame.type == Type::end) {
      store::take_fixed<std::uint64_t>(frame, text);
      return fail(text);
    }
    if (frame.type != Type::start)
      throw Error(Code::launcher, strf("malformed frame: join was answered with %s", store::name_of(frame.type)));
    const auto payload = store::take_fixed<store::StartPayload>(frame, text);
    Meeting meeting;
    meeting.total = static_cast<int>(payload.total);
    meeting.first = static_cast<int>(payload.first);
    const auto nonce = std::as_bytes(std::span(payload.nonce));
    meeting.nonce.assign(nonce.begin(), nonce.end());
    std::istringstream lines(text);
    Meeting::Member member;
    int total = 0;
    while (lines >> member.first >> member.pes >> member.host >> member.address) {
      if (member.first != total || member.pes < 1)
        throw Error(Code::launcher, "malformed frame: start with a wrong table");
      total += member.pes;
      meeting.members.push_back(member);
    }
    const auto differs = [](std::uint32_t expected, std::size_t found) { return expected != 0 && expected != found; };
    if (total != meeting.total || meeting.first < 0 || meeting.first >= total ||
        differs(setup_.all_members, meeting.members.size()) || differs(setup_.all_pes, payload.total))
      throw Error(Code::launcher, "malformed frame: start with a wrong table");
    link_->allow_all();
    meeting_ = std::move(meeting);
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

std::optional<Frame> Uplink::next() {
  if (link_ == nullptr || !meeting_) return std::nullopt;
  auto frame = link_->next();
  if (!frame && !link_->open() && failure_.empty()) failure_ = link_->why();
  return frame;
}

void Uplink::send(Type type, std::span<const std::byte> payload) {
  if (link_ != nullptr) link_->send(store::make_frame(type, payload, store::kMaxReply));
}

void Uplink::send_text(Type type, int number, const std::string& text) {
  if (link_ != nullptr) link_->send(store::make_text_frame(type, number, text));
}

void Uplink::fail(const std::string& why) {
  const char* const begin = "cannot meet the job at ";  // the server of this node may have said so itself
  failure_ = why.starts_with(begin) ? why : begin + setup_.at.text() + ": " + why;
  close();
}

void Uplink::close() {
  if (link_ != nullptr) link_->close("closed by this side");
  link_.reset();
  socket_.reset();
  if (failure_.empty()) failure_ = "closed by this side";
}

std::string Uplink::tried() const { return trouble_.empty() ? "no address was tried" : trouble_; }

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/link.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "bootstrap/address.hpp"

namespace shoal {
namespace {

constexpr unsigned char kTlsRefusal[] = {21, 3, 3, 0, 2, 2, 70};  // an alert: protocol_version
constexpr std::uint32_t kTlsAlert = 0x0315;  // how a TLS record with a complaint begins, taken for a frame

}  // namespace

Link::Link(UniqueFd fd, const TlsContext* tls, Side side) : fd_(std::move(fd)), established_(tls == nullptr) {
  if (tls != nullptr) tls_ = side == Side::connecting ? tls->connect(fd_.get()) : tls->accept(fd_.get());
}

short Link::events() const {
  if (!open()) return 0;
  const bool write = established_ ? !queue_.empty() : tls_->wants() == TlsSession::Progress::want_write;
  return static_cast<short>((reader_.ready() ? 0 : POLLIN) | (write ? POLLOUT : 0));
}

void Link::progress() {
  try {
    if (open() && !established_) shake_hands();
    const std::string broke = write_all();
    // Of one who is gone all that is left: its last words may be behind others.
    while (!broke.empty() && open() && established_ && read_some()) {
    }
    if (!broke.empty()) close(broke);
  } catch (const Error& error) {
    fail(error);
  }
  read_frame();
}

/// No further than one frame: whoever sends without end does not fill this side's memory.
void Link::read_frame() {
  try {
    while (open() && established_ && !reader_.ready() && read_some()) {
    }
  } catch (const Error& error) {
    fail(error);
  }
}

void Link::fail(const Error& error) {
  refused_ = error.code() == Code::security;
  if (refused_ && !established_) say_tls_is_wanted();
  close(error.what());
}

/// OpenSSL says nothing to one that does not speak TLS; and what is not read from it would make the kernel break the
/// connection before it has read this.
void Link::say_tls_is_wanted() noexcept {
  static_cast<void>(::send(fd_.get(), kTlsRefusal, sizeof kTlsRefusal, MSG_NOSIGNAL));
  ::shutdown(fd_.get(), SHUT_WR);
  std::array<char, 4096> rest;
  for (int i = 0; i < 16 && ::recv(fd_.get(), rest.data(), rest.size(), 0) > 0; ++i) {
  }
}

void Link::shake_hands() { established_ = tls_->handshake() == TlsSession::Progress::done; }

ssize_t Link::receive(void* to, std::size_t bytes) {
  if (tls_ != nullptr) return tls_->read(to, bytes);
  const ssize_t n = ::recv(fd_.get(), to, bytes, 0);
  if (n >= 0 || errno == EAGAIN || errno == EINTR) return n;
  throw Error(Code::peer, strf("the connection broke: %s", std::strerror(errno)));
}

ssize_t Link::transmit(const void* from, std::size_t bytes) {
  if (tls_ != nullptr) return tls_->write(from, bytes);
  const ssize_t n = ::send(fd_.get(), from, bytes, MSG_NOSIGNAL);
  if (n >= 0 || errno == EAGAIN || errno == EINTR) return n;
  throw Error(Code::peer, strf("the connection broke: %s", std::strerror(errno)));
}

/// Why nothing can be sent any more, or "". What the other side said before it went away is still there to be read.
std::string Link::write_all() {
  try {
    while (open() && established_ && write_some()) {
    }
    return "";
  } catch (const Error& error) {
    if (error.code() == Code::security) throw;
    return error.what();
  }
}

/// False when nothing more can be read now.
bool Link::read_some() {
  std::array<std::byte, 16384> bytes;
  const ssize_t n = receive(bytes.data(), bytes.size());
  if (n > 0) {
    reader_.feed(std::span(bytes).first(static_cast<std::size_t>(n)));
    return true;
  }
  // Whole frames that came before the end still count: next() hands them out.
  if (n == 0 && !is_tls_alert()) close("the connection was closed");
  return false;
}

bool Link::write_some() {
  if (queue_.empty()) return false;
  const auto rest = std::span(*queue_.front()).subspan(sent_);
  const ssize_t n = transmit(rest.data(), rest.size());
  if (n < 0) return false;
  sent_ += static_cast<std::size_t>(n);
  if (sent_ == queue_.front()->size()) {
    queue_.pop_front();
    sent_ = 0;
  }
  return true;
}

std::optional<store::Frame> Link::next() {
  read_frame();
  try {
    return reader_.next();
  } catch (const Error& error) {
    if (is_tls_alert()) return std::nullopt;
    // A stranger that speaks TLS learns from any plain bytes that this side does not.
    const store::Bytes last =
        store::make_text_frame(store::Type::error, static_cast<int>(Code::launcher), error.what());
    if (tls_ == nullptr && open()) static_cast<void>(::send(fd_.get(), last.data(), last.size(), MSG_NOSIGNAL));
    close(error.what());
    return std::nullopt;
  }
}

bool Link::is_tls_alert() {
  if (tls_ != nullptr || (reader_.peek_type() & 0xffff) != kTlsAlert) return false;
  refused_ = true;
  close("the other side wants TLS, which is turned off on this one (SHOAL_TLS=0, --no-tls)");
  return true;
}

void Link::send(std::shared_ptr<const store::Bytes> frame) {
  if (open()) queue_.push_back(std::move(frame));
}

void Link::check_silence(int seconds) {
  if (open() && is_silent(fd_.get(), seconds)) close(strf("nothing has been heard from its machine for %d s", seconds));
}

void Link::close(const std::string& why) {
  if (!open()) return;
  if (tls_ != nullptr) tls_->close();
  ::shutdown(fd_.get(), SHUT_RDWR);  // a forked child may hold it, too
  why_ = why;
  queue_.clear();
  sent_ = 0;
}

}  // namespace shoal

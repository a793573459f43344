// SPDX-License-Identifier: Apache-2.0
// One control connection, plain or under TLS, that carries frames both ways without ever blocking. Whoever owns it
// polls its descriptor. Used by one thread at a time. Nothing that the other side sends makes it throw.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/process_fd.hpp"
#include "bootstrap/protocol.hpp"
#include "security/tls.hpp"

namespace shoal {

class Error;

class Link final {
 public:
  enum class Side { connecting, accepting };
  /// `fd` is a connected stream socket; without `tls`, which outlives the link, frames travel as they are.
  /// Until allow_all(), no frame from the other side may be longer than a stranger's greeting. @throws
  /// Error{out_of_memory}
  Link(UniqueFd fd, const TlsContext* tls, Side side);

  int fd() const { return fd_.get(); }
  /// What to poll for.
  short events() const;
  /// Writes what can be, and reads up to a whole frame. To be called when poll says so, and again after send().
  void progress();
  /// The next whole frame that has come. To be asked until there is none: what follows is read then.
  std::optional<store::Frame> next();
  void send(store::Bytes frame) { send(std::make_shared<const store::Bytes>(std::move(frame))); }
  void send(std::shared_ptr<const store::Bytes> frame);
  void allow_all() { reader_.set_limit(store::kMaxReply); }

  /// The TLS handshake is done, if there is one.
  bool established() const { return established_; }
  /// Everything sent is on its way.
  bool drained() const { return queue_.empty(); }
  /// False once it ended, for whatever reason: why() says it.
  bool open() const { return why_.empty(); }
  const std::string& why() const { return why_; }
  /// The other side could not prove who it is, or does not accept us: trying again is of no use.
  bool refused() const { return refused_; }
  /// Gives up when the other machine has been silent for `seconds`.
  void check_silence(int seconds);
  void close(const std::string& why);
  const TlsSession* tls() const { return tls_.get(); }

 private:
  static constexpr std::uint32_t kStrangersFrame = 4096;
  void shake_hands();
  void say_tls_is_wanted() noexcept;
  void read_frame();
  bool read_some();
  void fail(const Error& error);
  std::string write_all();
  bool write_some();
  bool is_tls_alert();
  ssize_t receive(void* to, std::size_t bytes);
  ssize_t transmit(const void* from, std::size_t bytes);
  ProcessFd fd_;
  std::unique_ptr<TlsSession> tls_;
  bool established_, refused_ = false;
  std::string why_;
  store::FrameReader reader_{kStrangersFrame};
  std::deque<std::shared_ptr<const store::Bytes>> queue_;
  std::size_t sent_ = 0;  // of the first
};

}  // namespace shoal

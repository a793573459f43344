// SPDX-License-Identifier: Apache-2.0
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "security/tls.hpp"
#include "transport/socket/stream.hpp"

namespace shoal {
namespace {

constexpr std::size_t kReadAhead = 64 * 1024;  // several records a system call

class TlsStream final : public Stream {
 public:
  TlsStream(UniqueFd socket, std::unique_ptr<TlsSession> session)
      : socket_(std::move(socket)), session_(std::move(session)) {
    SSL_set_read_ahead(session_->native(), 1);
    SSL_set_default_read_buffer_len(session_->native(), kReadAhead);
  }

  ssize_t read(void* to, std::size_t bytes) noexcept override {
    try {
      // Waiters look all the time: asking the kernel is much cheaper than asking OpenSSL.
      char next;
      if (!session_->pending() && ::recv(socket_.get(), &next, 1, MSG_PEEK) < 0) {
        if (errno == EAGAIN || errno == EINTR) return kAgain;
        return why_ = std::strerror(errno), kEnded;  // the kernel says it once
      }
      const ssize_t n = session_->read(to, bytes);
      if (n > 0) return n;
      if (n < 0) return kAgain;
      return why_ = "it closed the connection", kEnded;
    } catch (const std::exception& error) {
      return failed(error);
    }
  }
  ssize_t write(const void* from, std::size_t bytes) noexcept override {
    try {
      const ssize_t n = session_->write(from, bytes);
      return n > 0 ? n : kAgain;
    } catch (const std::exception& error) {
      return failed(error);
    }
  }
  ssize_t write_both(const void* head, std::size_t head_bytes, const void*, std::size_t) noexcept override {
    return write(head, head_bytes);
  }
  bool handshake() override { return session_->handshake() == TlsSession::Progress::done; }
  void check_peer(int pe, const std::string& identity) const override { session_->check_peer(pe, identity); }
  /// The rest of a record that is open; the first bytes of the next are to be read to open it.
  std::size_t available() const noexcept override { return static_cast<std::size_t>(SSL_pending(session_->native())); }
  bool holds_input() const noexcept override { return session_->pending(); }
  int fd() const noexcept override { return socket_.get(); }
  std::string why() const override { return why_; }
  Code code() const noexcept override { return code_; }

 private:
  ssize_t failed(const std::exception& error) noexcept {
    if (const auto* told = dynamic_cast<const Error*>(&error)) code_ = told->code();
    try {
      why_ = error.what();
    } catch (const std::exception&) {
      // Then without.
    }
    return kEnded;
  }
  const ProcessFd socket_;
  const std::unique_ptr<TlsSession> session_;
  std::string why_;
  Code code_ = Code::peer;
};

class Tls final : public StreamMaker {
 public:
  explicit Tls(std::unique_ptr<TlsContext> context) : context_(std::move(context)) {}
  const char* name() const noexcept override { return "tls"; }
  std::string identity() const override { return context_->own_fingerprint(); }
  std::unique_ptr<Stream> make(UniqueFd socket, bool initiates) const override {
    const int fd = socket.get();
    return std::make_unique<TlsStream>(std::move(socket), initiates ? context_->connect(fd) : context_->accept(fd));
  }

 private:
  const std::unique_ptr<TlsContext> context_;
};

}  // namespace

std::unique_ptr<StreamMaker> make_tls(std::unique_ptr<TlsContext> context) {
  return std::make_unique<Tls>(std::move(context));
}

}  // namespace shoal

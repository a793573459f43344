// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "transport/socket/stream.hpp"

namespace shoal {
namespace {

class TcpStream final : public Stream {
 public:
  explicit TcpStream(UniqueFd socket) : socket_(std::move(socket)) {}

  ssize_t read(void* to, std::size_t bytes) noexcept override {
    const ssize_t n = ::recv(socket_.get(), to, bytes, 0);
    if (n > 0) return n;
    if (n == 0) return error_ = 0, kEnded;
    return failed();
  }
  ssize_t write(const void* from, std::size_t bytes) noexcept override {
    const ssize_t n = ::send(socket_.get(), from, bytes, MSG_NOSIGNAL);
    return n > 0 ? n : failed();
  }
  ssize_t write_both(const void* head, std::size_t head_bytes, const void* body,
                     std::size_t body_bytes) noexcept override {
    iovec parts[2] = {{const_cast<void*>(head), head_bytes}, {const_cast<void*>(body), body_bytes}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    return n > 0 ? n : failed();
  }
  bool handshake() override { return true; }
  std::size_t available() const noexcept override {
    int bytes = 0;
    return ::ioctl(socket_.get(), FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
  }
  int fd() const noexcept override { return socket_.get(); }
  std::string why() const override { return error_ == 0 ? "it closed the connection" : std::strerror(error_); }

 private:
  ssize_t failed() noexcept {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return kAgain;
    error_ = errno;
    return kEnded;
  }
  const ProcessFd socket_;
  int error_ = 0;
};

class Tcp final : public StreamMaker {
 public:
  const char* name() const noexcept override { return "tcp"; }
  std::unique_ptr<Stream> make(UniqueFd socket, bool) const override {
    return std::make_unique<TcpStream>(std::move(socket));
  }
};

}  // namespace

std::unique_ptr<StreamMaker> make_tcp() { return std::make_unique<Tcp>(); }

}  // namespace shoal

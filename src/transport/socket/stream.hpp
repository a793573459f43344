// SPDX-License-Identifier: Apache-2.0
// A connected, non-blocking byte stream: plain TCP, or TLS over it. One thread at a time.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/process_fd.hpp"

namespace shoal {

class TlsContext;

class Stream {
 public:
  static constexpr ssize_t kAgain = 0;   ///< nothing can be moved now
  static constexpr ssize_t kEnded = -1;  ///< no more: why() says why

  virtual ~Stream() = default;
  /// Moves some bytes. @return how many, kAgain or kEnded
  virtual ssize_t read(void* to, std::size_t bytes) noexcept = 0;
  virtual ssize_t write(const void* from, std::size_t bytes) noexcept = 0;
  /// `head`, then `body`, in one go where the stream can. @return bytes of both together, kAgain or kEnded
  virtual ssize_t write_both(const void* head, std::size_t head_bytes, const void* body,
                             std::size_t body_bytes) noexcept = 0;
  /// Opening, on either side, before anything else: true when done, false to be called again. @throws Error
  virtual bool handshake() = 0;
  /// After the handshake: whether the other side may speak for `pe`, whose maker's identity() was `identity`. @throws
  /// Error
  virtual void check_peer(int, const std::string&) const {}
  /// How many bytes one read() gives for certain; 0: that is not known yet.
  virtual std::size_t available() const noexcept = 0;
  /// Whether bytes that were taken from the kernel wait inside: polling the descriptor does not show them.
  virtual bool holds_input() const noexcept { return false; }
  virtual int fd() const noexcept = 0;
  virtual std::string why() const = 0;
  /// The kind of its end: security where one side does not accept the other.
  virtual Code code() const noexcept { return Code::peer; }
};

/// Makes streams of connected, non-blocking sockets.
class StreamMaker {
 public:
  virtual ~StreamMaker() = default;
  virtual const char* name() const noexcept = 0;
  /// What others can recognise this side by when they connect; "": nothing.
  virtual std::string identity() const { return ""; }
  /// @param initiates  whether this side has connected. @throws Error
  virtual std::unique_ptr<Stream> make(UniqueFd socket, bool initiates) const = 0;
};

std::unique_ptr<StreamMaker> make_tcp();
std::unique_ptr<StreamMaker> make_tls(std::unique_ptr<TlsContext> context);

}  // namespace shoal

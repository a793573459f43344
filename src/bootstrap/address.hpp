// SPDX-License-Identifier: Apache-2.0
// Where a job meets: names, addresses, and the TCP sockets of its control connections.
#pragma once
#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace shoal {

inline constexpr int kDefaultPort = 8666;

/// A host (a name, an IPv4 or IPv6 address, or "" for any of this machine) and a port; or "unix:NAME" for a host: a
/// socket that only processes of this user on this machine reach, with no name in any file system.
struct HostPort {
  std::string host;
  int port = kDefaultPort;
  bool local() const { return host.starts_with("unix:"); }
  std::string text() const;
};
/// "host", "host:8666", "[fe80::1%eth0]:8666", "::1", ":8666", each with or without "tcp://" before it; or "unix:NAME".
/// `name` is what the text was given as, for errors. @throws Error{invalid_option}
HostPort parse_host_port(const std::string& text, const std::string& name);

/// A numeric IPv4 or IPv6 address with its port.
class SocketAddress final {
 public:
  SocketAddress() = default;
  SocketAddress(const sockaddr* raw, socklen_t length);
  /// What `where` stands for, in the order in which the system would try. @throws Error{launcher} when it is unknown
  static std::vector<SocketAddress> lookup(const HostPort& where);
  /// Of a numeric host; no name is looked up. @throws Error{launcher} when it is none
  static SocketAddress numeric(const std::string& host, int port);
  static SocketAddress local_of(int fd);
  static SocketAddress peer_of(int fd);
  /// "10.0.0.1:8666", "[fd00::1]:8666"; "a process of this machine" for a socket that is none of TCP, "an unknown
  /// address" for one that is not connected
  std::string text() const;
  /// The same without the port.
  std::string host_text() const;
  bool loopback() const;
  SocketAddress with_port(int port) const;
  int family() const { return storage_.ss_family; }
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const { return length_; }

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

/// Listens where others are told to come to: on the address itself where one is given, else (for a name, which may
/// stand for another address here than elsewhere, or for nothing) on every address of this machine. Non-blocking.
/// @throws Error{launcher} that says which address, why, and what to do
UniqueFd listen_at(const HostPort& where);
/// Whether who is at the other end of a socket is this user, where the kernel knows (Unix sockets); else true.
bool same_user(int fd);
/// The addresses of this machine's interfaces, those that reach farthest first, with this port. `only`, unless "", is
/// the name of an interface or the beginning of an address.
std::vector<SocketAddress> own_addresses(int port, const std::string& only);
/// This machine's name, for messages.
std::string host_name();
/// The port that a listening socket has.
int port_of(int fd);
/// A non-blocking socket on its way to `to`: writable once connected, or failed. -1 with errno when that fails at once.
UniqueFd start_connecting(const SocketAddress& to, const std::string& congestion = "");
/// What became of it: 0, or an errno; ECONNREFUSED, too, for one that has met itself.
int connecting_error(int fd);
/// A machine that is silent for `seconds` counts as gone; small messages leave at once. A peer that is stopped, or in a
/// debugger, is not silent: its kernel answers. No effect on sockets that are not TCP's.
void watch_for_silence(int fd, int seconds);
/// Whether there are bytes to send on `fd`, and the other kernel has said nothing for longer than `seconds`, though it
/// was asked.
bool is_silent(int fd, int seconds);

}  // namespace shoal

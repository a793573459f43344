// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/address.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "base/options.hpp"

namespace shoal {
namespace {

constexpr const char* kScheme = "tcp://";

[[noreturn]] void reject(const std::string& text, const std::string& name) {
  throw Error(Code::invalid_option,
              strf("%s=\"%s\" is not valid: expected HOST:PORT, such as node1:8666 or [fd00::1]:8666, or unix:NAME",
                   name.c_str(), text.c_str()));
}

bool is_literal(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 || host.find(':') != std::string::npos;
}

UniqueFd open_socket(int family) { return UniqueFd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

/// 0, or the errno of what failed.
int bind_and_listen(UniqueFd& fd, const SocketAddress& at) {
  fd = open_socket(at.family());
  if (!fd) return errno;
  const int on = 1, off = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on,
               sizeof on);  // what a former job's connections leave for a minute
  if (at.family() == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  return ::bind(fd.get(), at.raw(), at.length()) == 0 && ::listen(fd.get(), SOMAXCONN) == 0 ? 0 : errno;
}

std::vector<SocketAddress> find(const char* host, int port, int flags) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  const int error = ::getaddrinfo(host, std::to_string(port).c_str(), &hints, &found);
  if (error != 0)
    throw Error(Code::launcher, strf("no address is known for host \"%s\": %s", host == nullptr ? "" : host,
                                     error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error)));
  std::vector<SocketAddress> result;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next)
    result.push_back(SocketAddress(one->ai_addr, one->ai_addrlen));
  ::freeaddrinfo(found);
  return result;
}

}  // namespace

std::string HostPort::text() const {
  return local() ? host : strf(host.find(':') != std::string::npos ? "[%s]:%d" : "%s:%d", host.c_str(), port);
}

HostPort parse_host_port(const std::string& text, const std::string& name) {
  std::string rest = text.starts_with(kScheme) ? text.substr(std::strlen(kScheme)) : text, port;
  HostPort result;
  if (text.starts_with("unix:")) {
    result.host = text;
    if (text.size() == 5 || text.size() > 80) reject(text, name);
    return result;
  }
  if (rest.find('/') != std::string::npos || rest.find(' ') != std::string::npos || rest.size() > 255)
    reject(text, name);
  if (rest.starts_with("[")) {
    const std::size_t close = rest.find(']');
    if (close == std::string::npos || (close + 1 < rest.size() && rest[close + 1] != ':')) reject(text, name);
    result.host = rest.substr(1, close - 1);
    if (result.host.find(':') == std::string::npos) reject(text, name);
    if (close + 1 < rest.size() && (port = rest.substr(close + 2)).empty()) reject(text, name);
  } else if (const std::size_t colon = rest.find(':'); colon == std::string::npos || colon != rest.rfind(':')) {
    result.host = rest;  // a name, or an IPv6 address without brackets, and no port
  } else {
    result.host = rest.substr(0, colon);
    if ((port = rest.substr(colon + 1)).empty()) reject(text, name);
  }
  if (result.host.find_first_of("[]") != std::string::npos) reject(text, name);
  if (result.host.empty() && port.empty()) reject(text, name);
  if (port.empty()) return result;
  if (port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos || std::stoi(port) > 65535)
    reject(text, name);
  result.port = std::stoi(port);
  return result;
}

SocketAddress::SocketAddress(const sockaddr* raw, socklen_t length)
    : length_(std::min<socklen_t>(length, sizeof storage_)) {
  std::memcpy(&storage_, raw, length_);
}

std::vector<SocketAddress> SocketAddress::lookup(const HostPort& where) {
  if (where.local()) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    // Abstract: it begins with a zero byte. Users that choose the same name do not meet.
    const std::string name = strf("shoal.%u.%s", ::geteuid(), where.host.c_str() + 5);
    std::memcpy(at.sun_path + 1, name.data(), std::min(name.size(), sizeof at.sun_path - 1));
    return {SocketAddress(
        reinterpret_cast<const sockaddr*>(&at),
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::min(name.size(), sizeof at.sun_path - 1)))};
  }
  return find(where.host.empty() ? nullptr : where.host.c_str(), where.port, 0);
}

SocketAddress SocketAddress::numeric(const std::string& host, int port) {
  return find(host.c_str(), port, AI_NUMERICHOST).front();
}

SocketAddress SocketAddress::local_of(int fd) {
  SocketAddress result;
  result.length_ = sizeof result.storage_;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&result.storage_), &result.length_) != 0) result.length_ = 0;
  return result;
}

SocketAddress SocketAddress::peer_of(int fd) {
  SocketAddress result;
  result.length_ = sizeof result.storage_;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&result.storage_), &result.length_) != 0) result.length_ = 0;
  return result;
}

std::string SocketAddress::host_text() const {
  char host[NI_MAXHOST] = "";
  if ((family() != AF_INET && family() != AF_INET6) ||
      ::getnameinfo(raw(), length_, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0)
    return "localhost";
  const std::string text = host;
  return text.starts_with("::ffff:") && text.find('.') != std::string::npos ? text.substr(7)
                                                                            : text;  // IPv4 at a socket for both
}

std::string SocketAddress::text() const {
  if (length_ == 0) return "an unknown address";
  if (family() != AF_INET && family() != AF_INET6) return "a process of this machine";
  const int port = ntohs(family() == AF_INET ? reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port
                                             : reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  return HostPort{host_text(), port}.text();
}

bool SocketAddress::loopback() const {
  const std::string host = host_text();
  return host == "::1" || host.starts_with("127.") || (family() != AF_INET && family() != AF_INET6);
}

UniqueFd listen_at(const HostPort& where) {
  std::vector<SocketAddress> addresses;
  if (where.local() || is_literal(where.host) || where.host == "localhost") {
    addresses = SocketAddress::lookup(where);
  } else {
    addresses = find(nullptr, where.port, AI_PASSIVE);
    // A socket for both families where there are both.
    std::stable_sort(addresses.begin(), addresses.end(), [](const SocketAddress& a, const SocketAddress& b) {
      return a.family() == AF_INET6 && b.family() != AF_INET6;
    });
  }
  int error = 0;
  std::string tried;
  for (const SocketAddress& address : addresses) {
    UniqueFd fd;
    error = bind_and_listen(fd, address);
    if (error == 0) return fd;
    tried += (tried.empty() ? "" : ", ") + address.text() + ": " + std::strerror(error);
    if (error == EADDRINUSE) break;  // the other family's would be another meeting point than the one that is taken
  }
  const char* hint = where.local()         ? "another job uses this name, perhaps: give this one another"
                     : error == EADDRINUSE ? "another job uses this port, perhaps: give this one another"
                     : error == EADDRNOTAVAIL
                         ? "this is no address of this machine: the meeting point is on the machine of node rank 0"
                     : error == EACCES ? "ports below 1024 are the system's"
                                       : "give another address of this machine";
  throw Error(Code::launcher, strf("cannot listen at %s (%s); %s", where.text().c_str(), tried.c_str(), hint));
}

bool same_user(int fd) {
  ucred other{};
  socklen_t length = sizeof other;
  return SocketAddress::local_of(fd).family() != AF_UNIX ||
         (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 && other.uid == ::geteuid());
}

SocketAddress SocketAddress::with_port(int port) const {
  SocketAddress result = *this;
  if (family() == AF_INET)
    reinterpret_cast<sockaddr_in*>(&result.storage_)->sin_port = htons(static_cast<std::uint16_t>(port));
  if (family() == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(&result.storage_)->sin6_port = htons(static_cast<std::uint16_t>(port));
  return result;
}

std::vector<SocketAddress> own_addresses(int port, const std::string& only) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw_errno("getifaddrs");
  std::vector<SocketAddress> result;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const int family = one->ifa_addr == nullptr ? AF_UNSPEC : one->ifa_addr->sa_family;
    if ((family != AF_INET && family != AF_INET6) || (one->ifa_flags & IFF_UP) == 0) continue;
    const SocketAddress address(one->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (!only.empty() && only != one->ifa_name && !address.host_text().starts_with(only)) continue;
    if (address.host_text().starts_with("fe80:")) continue;  // means nothing elsewhere
    result.push_back(address.with_port(port));
  }
  ::freeifaddrs(list);
  std::stable_sort(result.begin(), result.end(),
                   [](const SocketAddress& a, const SocketAddress& b) { return !a.loopback() && b.loopback(); });
  return result;
}

std::string host_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "unknown";
}

int port_of(int fd) {
  sockaddr_storage at{};
  socklen_t length = sizeof at;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length) != 0) return 0;
  return ntohs(at.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&at)->sin_port
                                       : reinterpret_cast<sockaddr_in6*>(&at)->sin6_port);
}

UniqueFd start_connecting(const SocketAddress& to, const std::string& congestion) {
  UniqueFd fd = open_socket(to.family());
  if (fd && !congestion.empty())
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_CONGESTION, congestion.data(), static_cast<socklen_t>(congestion.size()));
  if (!fd || ::connect(fd.get(), to.raw(), to.length()) == 0 || errno == EINPROGRESS) return fd;
  const int error = errno;
  fd.reset();
  errno = error;
  return fd;
}

int connecting_error(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  if (error != 0 || SocketAddress::local_of(fd).family() == AF_UNIX) return error;
  // A socket that the kernel gave the very port that nobody listens at has connected to itself.
  return SocketAddress::local_of(fd).text() == SocketAddress::peer_of(fd).text() ? ECONNREFUSED : 0;
}

void watch_for_silence(int fd, int seconds) {
  const int on = 1, probes = std::clamp(seconds / 2, 1, 5), between = 1, idle = std::max(1, seconds - probes * between);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool is_silent(int fd, int seconds) {
  constexpr unsigned kAnswerMs = 1000;  // more than a round trip
  tcp_info info{};
  socklen_t length = sizeof info;
  int waiting = 0;
  // Keepalive does not probe while there are bytes to send, and those are sent again for a quarter of an hour, or kept
  // where there is no way to the other machine. TCP_USER_TIMEOUT would end a connection to a stopped process, too, once
  // its buffers are full.
  if (::ioctl(fd, SIOCOUTQ, &waiting) != 0 || waiting == 0 ||
      ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
      info.tcpi_last_ack_recv <= static_cast<unsigned>(seconds) * 1000)
    return false;
  // A kernel whose process takes nothing is asked ever more seldom, up to two minutes apart, and answers each time. So
  // it is silent only if it has not answered the last time, which for bytes sent again is at most tcpi_rto ago; probes
  // without bytes are counted until one is answered.
  return info.tcpi_probes > 1 || (info.tcpi_unacked > 0 && info.tcpi_last_ack_recv > info.tcpi_rto / 1000 + kAnswerMs);
}

}  // namespace shoal

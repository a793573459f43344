// SPDX-License-Identifier: Apache-2.0
#include "transport/socket/endpoint.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/address.hpp"

namespace shoal {
namespace {

std::string numeric(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST];
  return ::getnameinfo(address, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST) == 0 ? host : "";
}

std::string machine_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "unknown";
}

/// Addresses of interfaces that are up, loopback last; link-local ones mean nothing elsewhere.
std::vector<std::string> local_hosts(const std::string& wanted) {
  std::vector<std::string> hosts, loopback;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw_errno("getifaddrs");
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    const int family = i->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr))
      continue;
    const std::string host = numeric(i->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (host.empty() || (!wanted.empty() && wanted != i->ifa_name && !host.starts_with(wanted))) continue;
    ((i->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : hosts).push_back(host);
  }
  ::freeifaddrs(list);
  hosts.insert(hosts.end(), loopback.begin(), loopback.end());
  if (hosts.empty())
    throw Error(
        Code::invalid_option,
        wanted.empty()
            ? std::string("this machine has no network interface that is up, not even lo: other nodes cannot reach it")
            : strf("SHOAL_INTERFACE=\"%s\" is no interface that is up, and no address of this machine begins with it",
                   wanted.c_str()));
  return hosts;
}

bool resolve(const std::string& host, std::uint16_t port, sockaddr_storage& address, socklen_t& length) {
  address = {};
  auto* four = reinterpret_cast<sockaddr_in*>(&address);
  auto* six = reinterpret_cast<sockaddr_in6*>(&address);
  if (::inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    length = sizeof *four;
    return true;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &six->sin6_addr) != 1) return false;
  six->sin6_family = AF_INET6;
  six->sin6_port = htons(port);
  length = sizeof *six;
  return true;
}

}  // namespace

std::string Endpoint::text() const {
  std::string text = strf("%u\n%s", port, machine.c_str());
  for (const std::string& host : hosts) text += " " + host;
  return text;
}

Endpoint Endpoint::parse(const std::string& text) {
  std::istringstream words(text);
  Endpoint endpoint;
  unsigned port = 0;
  words >> port >> endpoint.machine;
  for (std::string host; words >> host;) endpoint.hosts.push_back(host);
  if (port == 0 || port > 65535 || endpoint.hosts.empty())
    throw Error(Code::peer,
                strf("\"%s\" is no address of a PE: expected a port and its machine's addresses", text.c_str()));
  endpoint.port = static_cast<std::uint16_t>(port);
  return endpoint;
}

UniqueFd listen_anywhere(const SocketSettings& settings, Endpoint& endpoint) {
  endpoint.machine = machine_name();
  endpoint.hosts = local_hosts(settings.interface);
  const int off = 0;
  UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_storage any{};
  socklen_t length = sizeof(sockaddr_in6);
  any.ss_family = AF_INET6;  // and IPv4 through it
  if (!fd || ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0 ||
      ::bind(fd.get(), reinterpret_cast<sockaddr*>(&any), length) != 0) {
    fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));  // a kernel without IPv6
    if (!fd) throw_errno("socket");
    any = {};
    any.ss_family = AF_INET;
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&any), sizeof(sockaddr_in)) != 0)
      throw_errno("bind to a free port");
    std::erase_if(endpoint.hosts, [](const std::string& host) { return host.find(':') != std::string::npos; });
  }
  if (::listen(fd.get(), SOMAXCONN) != 0) throw_errno("listen");
  length = sizeof any;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&any), &length) != 0) throw_errno("getsockname");
  endpoint.port = ntohs(any.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(any).sin_port
                                                 : reinterpret_cast<sockaddr_in6&>(any).sin6_port);
  return fd;
}

UniqueFd connect_to(const std::string& host, std::uint16_t port, std::uint64_t deadline_ns, std::string& why) {
  sockaddr_storage address;
  socklen_t length = 0;
  if (!resolve(host, port, address, length)) return why = "is no address", UniqueFd();
  UniqueFd fd(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return why = std::strerror(errno), UniqueFd();
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) == 0) return fd;
  if (errno != EINPROGRESS) return why = std::strerror(errno), UniqueFd();
  pollfd wait{fd.get(), POLLOUT, 0};
  for (std::uint64_t now = now_ns(); now < deadline_ns; now = now_ns()) {
    if (::poll(&wait, 1, static_cast<int>((deadline_ns - now) / 1'000'000) + 1) <= 0) continue;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) return fd;
    return why = std::strerror(error), UniqueFd();
  }
  return why = "no answer", UniqueFd();
}

void prepare(int fd, const SocketSettings& settings) noexcept {
  watch_for_silence(fd, settings.silence_s);
  const std::string name = settings.congestion == "auto" ? "cubic" : settings.congestion;
  if (!name.empty()) ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.c_str(), static_cast<socklen_t>(name.size()));
}

std::string peer_text(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "an unknown address";
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  if (std::strncmp(host, "::ffff:", 7) == 0) return strf("%s:%s", host + 7, port);  // IPv4 through an IPv6 socket
  return strf(address.ss_family == AF_INET ? "%s:%s" : "[%s]:%s", host, port);
}

}  // namespace shoal

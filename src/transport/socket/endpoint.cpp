// SPDX-License-Identifier: Apache-2.0
#include "transport/socket/endpoint.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/address.hpp"

namespace shoal {
namespace {

bool set_congestion(int fd, const std::string& name) noexcept {
  return ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.c_str(), static_cast<socklen_t>(name.size())) == 0;
}

/// Of interfaces that are up, loopback last.
std::vector<std::string> local_hosts(const std::string& wanted) {
  std::vector<std::string> hosts;
  for (const SocketAddress& address : own_addresses(0, wanted)) hosts.push_back(address.host_text());
  if (hosts.empty())
    throw Error(
        Code::invalid_option,
        wanted.empty()
            ? std::string("this machine has no network interface that is up, not even lo: other nodes cannot reach it")
            : strf("SHOAL_INTERFACE=\"%s\" is no interface that is up, and no address of this machine begins with it",
                   wanted.c_str()));
  return hosts;
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

std::string find_congestion(const std::string& wanted) {
  if (wanted == "kernel") return "";
  const std::string name = wanted == "auto" ? "cubic" : wanted;
  const UniqueFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe || set_congestion(probe.get(), name)) return name;
  const int error = errno;
  if (wanted == "auto") return "";
  std::string has;
  std::getline(std::ifstream("/proc/sys/net/ipv4/tcp_available_congestion_control"), has);
  throw Error(
      Code::invalid_option,
      strf("SHOAL_CONGESTION=\"%s\" is not valid: expected auto, kernel (its default), or one that this kernel has for "
           "this user, of %s (%s)",
           wanted.c_str(), has.c_str(), std::strerror(error)));
}

UniqueFd listen_anywhere(const SocketSettings& settings, Endpoint& endpoint) {
  endpoint.machine = host_name();
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
  if (!settings.congestion.empty())
    set_congestion(fd.get(), settings.congestion);  // those that are accepted inherit it
  if (::listen(fd.get(), SOMAXCONN) != 0) throw_errno("listen");
  length = sizeof any;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&any), &length) != 0) throw_errno("getsockname");
  endpoint.port = ntohs(any.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(any).sin_port
                                                 : reinterpret_cast<sockaddr_in6&>(any).sin6_port);
  return fd;
}

void prepare(int fd, const SocketSettings& settings) noexcept { watch_for_silence(fd, settings.silence_s); }

UniqueFd connect_to(const std::string& host, std::uint16_t port, const SocketSettings& settings,
                    std::uint64_t deadline_ns, std::string& why) {
  UniqueFd fd = start_connecting(SocketAddress::numeric(host, port), settings.congestion);
  if (!fd) return why = std::strerror(errno), UniqueFd();
  pollfd wait{fd.get(), POLLOUT, 0};
  for (std::uint64_t now = now_ns(); now < deadline_ns; now = now_ns()) {
    if (::poll(&wait, 1, static_cast<int>((deadline_ns - now) / 1'000'000) + 1) <= 0) continue;
    const int error = connecting_error(fd.get());
    if (error == 0) return prepare(fd.get(), settings), std::move(fd);
    return why = std::strerror(error), UniqueFd();
  }
  return why = "no answer", UniqueFd();
}

}  // namespace shoal

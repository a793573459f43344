// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/unique_id.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace shoal {
namespace {

constexpr char kMark[] = {'S', 'H', 'I', 'D'};
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kVersionAt = 4, kPortAt = 6, kSecretAt = 8, kCountAt = 40, kAddressesAt = 41;

/// The address alone, as it travels.
std::pair<const void*, std::size_t> bytes_of(const SocketAddress& address) {
  if (address.family() == AF_INET) return {&reinterpret_cast<const sockaddr_in*>(address.raw())->sin_addr, 4};
  return {&reinterpret_cast<const sockaddr_in6*>(address.raw())->sin6_addr, 16};
}

[[noreturn]] void reject() {
  throw Error(Code::invalid_argument,
              "this is no unique id of this version of Shoal: pass on all of what shmemx_get_uniqueid gave");
}

}  // namespace

MadeId make_unique_id(const std::string& interface) {
  MadeId made;
  made.listener = listen_at({"", 0});
  const int port = port_of(made.listener.get());
  const std::vector<SocketAddress> addresses = own_addresses(port, interface);
  if (addresses.empty())
    throw Error(Code::launcher,
                interface.empty()
                    ? "this machine has no network address"
                    : strf("this machine has no interface or address \"%s\" (SHOAL_INTERFACE)", interface.c_str()));
  std::byte* const to = made.id.bytes.data();
  const auto version = kVersion, short_port = static_cast<std::uint16_t>(port);
  const Secret secret = Secret::fresh();
  std::memcpy(to, kMark, sizeof kMark);
  std::memcpy(to + kVersionAt, &version, sizeof version);
  std::memcpy(to + kPortAt, &short_port, sizeof short_port);
  std::memcpy(to + kSecretAt, secret.bytes().data(), Secret::kBytes);
  std::size_t at = kAddressesAt;
  for (const SocketAddress& address : addresses) {
    const auto [bytes, length] = bytes_of(address);
    if (at + 1 + length > made.id.bytes.size()) break;
    to[at] = static_cast<std::byte>(length == 4 ? 4 : 6);
    std::memcpy(to + at + 1, bytes, length);
    at += 1 + length;
    to[kCountAt] = static_cast<std::byte>(std::to_integer<int>(to[kCountAt]) + 1);
  }
  return made;
}

ReadId read_unique_id(const UniqueId& id) {
  const std::byte* const from = id.bytes.data();
  std::uint16_t version, port;
  std::memcpy(&version, from + kVersionAt, sizeof version);
  std::memcpy(&port, from + kPortAt, sizeof port);
  if (std::memcmp(from, kMark, sizeof kMark) != 0 || version != kVersion || port == 0) reject();
  ReadId result{Secret::from_bytes(std::span<const std::byte, Secret::kBytes>(from + kSecretAt, Secret::kBytes)), {}};
  std::size_t at = kAddressesAt;
  for (int left = std::to_integer<int>(from[kCountAt]); left > 0; --left) {
    const bool v4 = at < id.bytes.size() && from[at] == std::byte{4};
    const std::size_t length = v4 ? 4 : 16;
    if (at + 1 + length > id.bytes.size() || (!v4 && from[at] != std::byte{6})) reject();
    if (v4) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      std::memcpy(&address.sin_addr, from + at + 1, length);
      result.addresses.push_back(
          SocketAddress(reinterpret_cast<const sockaddr*>(&address), sizeof address).with_port(port));
    } else {
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      std::memcpy(&address.sin6_addr, from + at + 1, length);
      result.addresses.push_back(
          SocketAddress(reinterpret_cast<const sockaddr*>(&address), sizeof address).with_port(port));
    }
    at += 1 + length;
  }
  if (result.addresses.empty()) reject();
  return result;
}

}  // namespace shoal

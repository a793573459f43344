// SPDX-License-Identifier: Apache-2.0
// Where a PE listens: one port, and every address of its machine by which others might reach it.
#pragma once
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace shoal {

/// What all connections have in common.
struct SocketSettings {
  std::string interface;  ///< a name, or the beginning of an address: only those are offered; "": all
  /// The congestion control's name; "" the kernel's default. Sockets have it before they are connected: once BBR has
  /// had one, the kernel goes on to pace what it sends by a timer.
  std::string congestion;
  int silence_s = 10;                        ///< a machine that says nothing for so long is gone
  std::uint64_t answer_ns = 10'000'000'000;  ///< for a PE to answer at an address, before another is tried
};

struct Endpoint {
  std::uint16_t port = 0;
  std::string machine;             ///< its name, for messages
  std::vector<std::string> hosts;  ///< numeric, the likeliest first
  /// "<port>\n<machine> <host> <host> ...": what follows the port all PEs of a machine have in common
  std::string text() const;
  /// @throws Error{peer}
  static Endpoint parse(const std::string& text);
};

/// The congestion control that SHOAL_CONGESTION=`wanted` stands for, as SocketSettings has it. @throws
/// Error{invalid_option} for one that the kernel does not have, or does not let this user have
std::string find_congestion(const std::string& wanted);

/// Listens on a free port of all addresses. @throws Error
UniqueFd listen_anywhere(const SocketSettings& settings, Endpoint& endpoint);

/// A connected, non-blocking, prepared socket. @param host numeric. @param deadline_ns as now_ns(). @param why set
/// where there is none. @throws Error{launcher} for another host
UniqueFd connect_to(const std::string& host, std::uint16_t port, const SocketSettings& settings,
                    std::uint64_t deadline_ns, std::string& why);
/// The options of every connected socket but those that it has from before it was: keepalive.
void prepare(int fd, const SocketSettings& settings) noexcept;

}  // namespace shoal

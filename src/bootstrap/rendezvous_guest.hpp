// SPDX-License-Identifier: Apache-2.0
// One connection of a RendezvousServer, for the files that it is made of.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "bootstrap/rendezvous_server.hpp"

namespace shoal {

struct RendezvousServer::Guest {
  std::uint64_t id;
  std::string address;
  Link link;
  std::uint64_t arrived_ns = now_ns();
  bool trusted = false;  // needs no TLS
  int member = -1;
  std::uint32_t interest = 0;           // as epoll knows it
  bool parting = false;                 // was told why it is turned away
  std::optional<int> told_status = {};  // with which it said that it exits
  std::uint64_t exits_by_ns = UINT64_MAX;
};

inline store::Bytes frame_of(store::Type type, std::span<const std::byte> payload) {
  return store::make_frame(type, payload, store::kMaxReply);
}

}  // namespace shoal

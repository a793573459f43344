// SPDX-License-Identifier: Apache-2.0
// What one PE makes and all others need to meet it: its addresses, its port and a secret. The user carries it (a
// broadcast of MPI's, a file); who knows it belongs to the job.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "bootstrap/address.hpp"
#include "security/secret.hpp"

namespace shoal {

/// As it travels: little-endian, zeros after the last address.
///
///   offset  size  field
///        0     4  mark "SHID"
///        4     2  version, 1
///        6     2  port
///        8    32  secret
///       40     1  number of addresses
///       41     …  each: 4 or 6, and 4 or 16 bytes
struct UniqueId {
  std::array<std::byte, 128> bytes{};
};
static_assert(sizeof(UniqueId) == 128);

/// Kept by the PE that made one, until its job begins.
struct MadeId {
  UniqueId id;
  UniqueFd listener;
};
/// Listens from now on. `interface`: see own_addresses. @throws Error
MadeId make_unique_id(const std::string& interface);

struct ReadId {
  Secret secret;
  std::vector<SocketAddress> addresses;
};
/// @throws Error{invalid_argument} when it is none
ReadId read_unique_id(const UniqueId& id);

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// The bootstrap of PEs that nobody of Shoal's launched: each is a member of the meeting itself, and one of them holds
// it, in a thread of its own, from init to finalize. Where it is known which PEs share a node, the first of each other
// node holds a meeting for these, which is one member of the job's: so PE 0 has a connection a node. Started by hand,
// by torchrun, or by a launcher that tells no more than who is who.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/address.hpp"
#include "bootstrap/bootstrap.hpp"
#include "security/credentials.hpp"

namespace shoal {

/// Consecutive PEs; none by default.
struct PeRange {
  int first = 0, count = 0;
  bool has(int pe) const { return pe >= first && pe < first + count; }
};

struct DirectSetup {
  int rank = 0, size = 1;
  PeRange node = {};                          ///< those on this node; none: it is not known
  HostPort at = {};                           ///< where they meet
  std::vector<SocketAddress> addresses = {};  ///< in place of those that `at` stands for
  bool holds = false;                         ///< this PE holds the meeting
  UniqueFd listener = UniqueFd();             ///< where, if it listens already
  std::string tag = {};                       ///< of the job
  Credentials credentials = {};               ///< not needed where `at` is local
  int within_s = 120;                         ///< until when all must have come
  int silence_s = 10;                         ///< how long a machine may be silent
};

/// Meets the others. @throws Error{launcher} that says who is missing or why not; Error{security}
std::unique_ptr<Bootstrap> make_direct_bootstrap(DirectSetup setup);

}  // namespace shoal

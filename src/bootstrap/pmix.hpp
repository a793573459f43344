// SPDX-License-Identifier: Apache-2.0
// What a PMIx launcher (mpirun, srun and others) tells, through libpmix, which is loaded when it is needed. A program's
// MPI may use the same library: it counts its users.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace shoal {

class Pmix {
 public:
  virtual ~Pmix() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The ranks on this node, in order; empty where it isn't told.
  virtual std::vector<int> on_this_node() const = 0;
  /// Gives everyone what rank 0 has in `bytes`. Collective. @throws Error{launcher}
  virtual void share(const std::string& key, std::span<std::byte> bytes) = 0;
};

/// Null where the library is not installed, this build is without it, or nobody answers. Left when the process exits.
Pmix* open_pmix();

}  // namespace shoal

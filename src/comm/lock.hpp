// SPDX-License-Identifier: Apache-2.0
// The distributed locks of OpenSHMEM 1.6, "Distributed Locking Routines": a queue, so that PEs are served in the order
// they came, each waiting on a word of its own.
//
// A lock is one symmetric long. Its two halves are used apart:
//   low 32 bits   `tail`, used at the lock's home PE only: 0 when free, else 1 + the PE that came last
//   high 32 bits  `node` of each PE that waits or holds: bit 31 "waits", bit 30 "holds", the rest 1 + the PE that came
//                 next
// All words are zero again when nobody holds the lock. The home is chosen by the lock's address, so that many locks
// spread.
#pragma once
#include "comm/context.hpp"

namespace shoal {

/// Returns when this PE holds the lock. Ends the job when it holds it already.
void set_lock(const Context& world, long* lock, const char* call) noexcept;
/// Gives the lock to the next PE, after all of this PE's stores are visible. Ends the job when this PE doesn't hold it.
void clear_lock(const Context& world, long* lock, const char* call) noexcept;
/// @return 0 when this PE has got the lock, 1 when somebody holds it
int test_lock(const Context& world, long* lock, const char* call) noexcept;

}  // namespace shoal

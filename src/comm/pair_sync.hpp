// SPDX-License-Identifier: Apache-2.0
// Two PEs meet (shmemx_sync_pe), and counting semaphores (shmemx_sem_*).
#pragma once
#include "comm/context.hpp"

namespace shoal {

/// Returns when `pe` has called it with this PE, as often as this PE has called it with `pe`. Orders like a barrier of
/// two: what either put before is visible to the other after. Meeting oneself returns at once.
class PairSync final {
 public:
  PairSync(const Domain& domain, std::uint64_t start);
  void meet(const Context& world, int pe, const char* call) noexcept;

 private:
  std::vector<std::uint64_t> met_;  // by PE: how often; its own thread's, or threads that meet different PEs
};

/// Waits until the count at `pe` is above zero, then takes one.
void semaphore_wait(const Context& world, std::int64_t* count, int pe, const char* call) noexcept;
/// @return whether one could be taken at once
bool semaphore_try(const Context& world, std::int64_t* count, int pe, const char* call) noexcept;

}  // namespace shoal

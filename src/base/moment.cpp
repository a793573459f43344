// SPDX-License-Identifier: Apache-2.0
#include "base/moment.hpp"

#include "base/clock.hpp"
#include "base/ticks.hpp"

namespace shoal {

Moment this_moment() noexcept {
  constexpr int kTries = 4;
  Moment best;
  std::uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = ticks(), ns = now_ns(), took = ticks() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {before + took / 2, ns};
  }
  return best;
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "base/ticks.hpp"

#include "base/clock.hpp"

namespace shoal {

double ns_per_tick() noexcept {
  struct Moment {
    std::uint64_t at_ticks = ticks(), at_ns = now_ns();
  };
  static const Moment first;
  constexpr std::uint64_t kLeastNs = 10'000'000;
  Moment now;
  while (now.at_ns - first.at_ns < kLeastNs) now = Moment();
  return static_cast<double>(now.at_ns - first.at_ns) / static_cast<double>(now.at_ticks - first.at_ticks);
}

}  // namespace shoal

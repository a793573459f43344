// SPDX-License-Identifier: Apache-2.0
#include "base/ticks.hpp"

#include "base/moment.hpp"

namespace shoal {

double ns_per_tick() noexcept {
  static const Moment first = this_moment();
  constexpr std::uint64_t kLeastNs = 10'000'000;
  Moment now = this_moment();
  while (now.ns - first.ns < kLeastNs) now = this_moment();
  return static_cast<double>(now.ns - first.ns) / static_cast<double>(now.ticks - first.ticks);
}

}  // namespace shoal

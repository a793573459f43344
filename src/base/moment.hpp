// SPDX-License-Identifier: Apache-2.0
// One moment on both clocks: ticks() and now_ns().
#pragma once
#include <cstdint>

namespace shoal {

struct Moment {
  std::uint64_t ticks = 0, ns = 0;
};

/// Now: of a few readings the one that was interrupted least between the clocks.
Moment this_moment() noexcept;

}  // namespace shoal

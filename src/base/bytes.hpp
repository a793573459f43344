// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace shoal {

/// count * width; saturates, so that a count too large to address fails every range check.
constexpr std::size_t bytes_of(std::size_t count, std::size_t width) noexcept {
  return width != 0 && count > SIZE_MAX / width ? SIZE_MAX : count * width;
}

}  // namespace shoal

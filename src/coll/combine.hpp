// SPDX-License-Identifier: Apache-2.0
// What reductions and scans share: the check of their operands, and a range of several members' sources combined.
#pragma once
#include <cstddef>

#include "coll/kernels.hpp"
#include "team/group.hpp"

namespace shoal {

inline constexpr std::size_t kChunkBytes = 16 * 1024;  // stays in the first-level cache together with one source

/// Ends the job unless `count` elements of this member's dest and source are symmetric. @return their bytes
std::size_t check_operands(Group& group, const void* dest, const void* source, std::size_t count, const Combine& combine,
                           const char* call) noexcept;

/// into = source[first, first + count) of members 0 to `last`, combined in order; at most a chunk.
void combine_members(Group& group, void* into, const void* source, std::size_t first, std::size_t count, int last,
                     const Combine& combine, const char* call) noexcept;

}  // namespace shoal

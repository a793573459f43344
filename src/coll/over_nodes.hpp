// SPDX-License-Identifier: Apache-2.0
// The collectives of groups whose members are on several nodes: one leader a node exchanges with the others over the
// transport, its neighbours read and write its memory directly. Operands are checked by the callers in collectives.hpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "coll/kernels.hpp"
#include "team/group.hpp"

namespace shoal {

void broadcast_over_nodes(Group& group, void* dest, const void* source, std::size_t bytes, int root, bool root_too,
                          const char* call) noexcept;

/// Each member gives `bytes`; they are at `bytes` times its number in dest.
void fcollect_over_nodes(Group& group, void* dest, const void* source, std::size_t bytes, const char* call) noexcept;

/// Member i gives counts[i] elements of `width` bytes; they lie one after another in dest.
void collect_over_nodes(Group& group, void* dest, const void* source, std::span<const std::uint64_t> counts,
                        std::size_t width, const char* call) noexcept;

/// Combines the members of each node in order, then the nodes in order. Bitwise the same on all. Types that are
/// accumulated in a wider one are rounded once in groups of up to 8 members; in larger ones once a node and, as nodes
/// are combined, up to log2(nodes) + 1 times more.
void reduce_over_nodes(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                       const char* call) noexcept;

/// A scan in groups whose nodes come one after another: false, and nothing is done, in others, and where a few members
/// had better round once. Members within a node, then nodes, are combined in order.
bool scan_over_nodes(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
                     bool inclusive, const char* call) noexcept;

/// The `bytes` of a member at `range` (its address here): where they are mapped, or fetched into `room`.
const char* member_range(Group& group, const char* range, std::size_t bytes, int member, std::byte* room,
                         const char* call) noexcept;

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// The collectives, over any Group. All members call with the same arguments save the addresses' contents.
//
// Common rules: a member's dest is written only after all members have entered, so that a fast PE never overwrites what a
// slow one still reads; a member's source may be reused when its call returns. Zero elements: nothing happens, nobody waits.
// Data move by direct access to the members' memory; nothing is allocated.
#pragma once
#include <cstddef>

#include "team/group.hpp"

namespace shoal {

/// For types whose sums are kept in a wider one until the end.
struct WideCombine {
  std::size_t width;  ///< bytes of an accumulator element
  void (*widen)(void* accumulator, const void* in, std::size_t count) noexcept;
  void (*accumulate)(void* accumulator, const void* in, std::size_t count) noexcept;
  void (*narrow)(void* out, const void* accumulator, std::size_t count) noexcept;
};

/// What a reduction needs to know about an operation on a type.
struct Combine {
  std::size_t width;  ///< bytes of an element; at most 64
  /// out = a op b; `out` may be `a` or `b`. Null when there is a wide form.
  void (*run)(void* out, const void* a, const void* b, std::size_t count) noexcept;
  const WideCombine* wide;
};

/// `bytes` from the root's source into everyone's dest; into the root's own only if `root_too`.
void broadcast(Group& group, void* dest, const void* source, std::size_t bytes, int root, bool root_too,
               const char* call) noexcept;

/// dest on all = the members' sources, one after the other; all the same length.
void fcollect(Group& group, void* dest, const void* source, std::size_t bytes, const char* call) noexcept;

/// The same; each member gives its own number of elements.
void collect(Group& group, void* dest, const void* source, std::size_t count, std::size_t width, const char* call) noexcept;

/// Block j of member i's source goes to block i of member j's dest. Within a block, element k is at k * dst (k * sst)
/// elements, and blocks are count * dst (count * sst) elements apart.
void alltoall(Group& group, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t count,
              std::size_t width, const char* call) noexcept;

/// A way to reduce. `fits` tells whether it is the one for this many bytes over this many members.
struct ReduceAlgorithm {
  const char* name;
  bool (*fits)(std::size_t bytes, int members) noexcept;
  void (*run)(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine, const char* call) noexcept;
};
/// "auto" gives null: chosen by size. @throws Error{invalid_option} listing the names
const ReduceAlgorithm* find_reduce_algorithm(const char* name);

/// dest[i] on all = source[i] of all members combined, in the order of members: bitwise the same on all. dest may be source.
/// @param forced  the algorithm to use, or null
void reduce(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
            const ReduceAlgorithm* forced, const char* call) noexcept;

/// dest[i] = source[i] of members 0 to this one combined (without this one if not `inclusive`; the first then gets zeros).
/// dest may be source.
void scan(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine, bool inclusive,
          const char* call) noexcept;

}  // namespace shoal

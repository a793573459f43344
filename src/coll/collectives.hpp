// SPDX-License-Identifier: Apache-2.0
// The collectives, over any Group. All members call with the same arguments save the addresses' contents.
//
// Common rules: a member's dest is written only after all members have entered, so that a fast PE never overwrites what
// a slow one still reads; a member's source may be reused when its call returns. Zero elements: nothing happens, nobody
// waits (save in collect, where members don't know each other's counts). Data move by direct access to the members'
// memory; on one node nothing is allocated, save in collect.
#pragma once
#include <cstddef>
#include <string>

#include "coll/kernels.hpp"
#include "team/group.hpp"

namespace shoal {

/// `bytes` from the root's source into everyone's dest; into the root's own only if `root_too`.
void broadcast(Group& group, void* dest, const void* source, std::size_t bytes, int root, bool root_too,
               const char* call) noexcept;

/// dest on all = the members' sources, one after the other; all the same length.
void fcollect(Group& group, void* dest, const void* source, std::size_t bytes, const char* call) noexcept;

/// The same; each member gives its own number of elements.
void collect(Group& group, void* dest, const void* source, std::size_t count, std::size_t width,
             const char* call) noexcept;

/// Block j of member i's source goes to block i of member j's dest. Within a block, element k is at k * dst (k * sst)
/// elements, and blocks are count * dst (count * sst) elements apart.
void alltoall(Group& group, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t count,
              std::size_t width, const char* call) noexcept;

struct ReduceAlgorithm;

/// What is chosen once a job.
struct CollTuning {
  const ReduceAlgorithm* reduce;  ///< the one to use, or null: by size
  const Kernels* kernels;
  std::size_t cache_bytes;  ///< of the largest cache
};
/// From the options' texts; "auto" chooses. @throws Error{invalid_option} listing what is accepted
CollTuning tune_collectives(const std::string& reduce, const std::string& kernels);

/// dest[i] on all = source[i] of all members combined, in the order of members (node by node, where they are on
/// several): bitwise the same on all. dest may be source.
void reduce(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine,
            const CollTuning& tuning, const char* call) noexcept;

/// dest[i] = source[i] of members 0 to this one combined (without this one if not `inclusive`; the first then gets
/// zeros). dest may be source.
void scan(Group& group, void* dest, const void* source, std::size_t count, const Combine& combine, bool inclusive,
          const char* call) noexcept;

}  // namespace shoal

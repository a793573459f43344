// SPDX-License-Identifier: Apache-2.0
// The members of a collective and how they meet, whether they are a team or an active set of the deprecated routines.
#pragma once
#include <cstddef>
#include <cstdint>

#include "comm/context.hpp"

namespace shoal {

class Group {
 public:
  virtual ~Group() = default;
  virtual int size() const noexcept = 0;
  /// This PE's place, 0 to size() - 1.
  virtual int rank() const noexcept = 0;
  /// The world PE of a member.
  virtual int world_pe(int member) const noexcept = 0;
  /// Returns when all members have entered; what any stored before is visible to all after.
  virtual void sync(const char* call) noexcept = 0;
  /// One word that a member shows the others. A member writes its own before a sync and reads the others' after it; it may
  /// write again after the next sync.
  virtual std::atomic<std::uint64_t>& shown(int member) const noexcept = 0;
  /// The world's context: addresses of members are found through it.
  virtual const Context& world() const noexcept = 0;
  /// "team of 4 PEs", for messages.
  virtual const char* kind() const noexcept = 0;

  char* at(const void* address, std::size_t bytes, int member, const char* call) const noexcept {
    return world().at(address, bytes, world_pe(member), call);
  }
};

}  // namespace shoal

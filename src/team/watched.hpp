// SPDX-License-Identifier: Apache-2.0
// Tells the observer, if there is one, of a collective for as long as this lives.
#pragma once
#include <optional>

#include "team/group.hpp"

namespace shoal {

class WatchedCollective final {
 public:
  /// @param what  all but the group and its pSync
  WatchedCollective(Group& group, CallKind kind, const char* call, const Collective& what = {}) noexcept {
    if (Observer* const observer = group.world().domain().observer; observer != nullptr) [[unlikely]] {
      what_ = what;
      what_.group = &group;
      what_.psync = group.psync();
      Call told{call, kind, -1, nullptr, nullptr, what.source_bytes};
      told.collective = &what_;
      told.context = &group.world();
      observed_.emplace(observer, [&] { return told; });
    }
  }
  /// How much of dest is written in all, where the members had to tell each other first.
  void learn_dest_bytes(std::size_t bytes) noexcept {
    if (!observed_) return;
    what_.dest_bytes = bytes;
    observed_->learned();
  }
  WatchedCollective(const WatchedCollective&) = delete;
  WatchedCollective& operator=(const WatchedCollective&) = delete;

 private:
  Collective what_;
  std::optional<Observed> observed_;
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
/// \file
/// When a destructor may make the collective call that its object's end needs.
#pragma once

#include <exception>

#include "../error.hpp"

namespace shoal::inline v1::detail {

/// Base of what is released collectively. An exception usually unwinds one PE only: a collective call from a destructor
/// would then wait for the others for ever, so the object is left to the end of the job instead.
class CollectiveOwner {
 protected:
  CollectiveOwner() noexcept = default;
  CollectiveOwner(const CollectiveOwner&) noexcept {}
  CollectiveOwner& operator=(const CollectiveOwner&) noexcept { return *this; }
  ~CollectiveOwner() = default;

  [[nodiscard]] bool may_release() const noexcept {
    return std::uncaught_exceptions() <= exceptions_ && library_runs();
  }

 private:
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace shoal::inline v1::detail

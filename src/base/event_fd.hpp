// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/eventfd.h>

#include <cstdint>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace shoal {

/// An event that a poll can wait for: readable from raise() to clear(). Any thread.
class EventFd final {
 public:
  /// @throws Error{system}
  EventFd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!fd_) throw_errno("eventfd");
  }
  int fd() const noexcept { return fd_.get(); }
  void raise() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(fd_.get(), &one, sizeof one);
  }
  void clear() const noexcept {
    std::uint64_t count;
    [[maybe_unused]] const ssize_t n = ::read(fd_.get(), &count, sizeof count);
  }

 private:
  const UniqueFd fd_;
};

}  // namespace shoal

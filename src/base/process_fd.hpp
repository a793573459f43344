// SPDX-License-Identifier: Apache-2.0
// Descriptors that stay with this process. A child of fork has a copy of every descriptor, and while it holds a
// connection, the other side does not see it end with this process: so a fork handler closes these in the child.
#pragma once
#include "base/unique_fd.hpp"

namespace shoal {

/// Owns one file descriptor, which children of fork do not have: in one, this owns nothing. (`_Fork` and a raw `clone`
/// run no handlers.)
class ProcessFd final {
 public:
  explicit ProcessFd(UniqueFd fd) noexcept;
  ~ProcessFd() { reset(); }
  ProcessFd(const ProcessFd&) = delete;
  ProcessFd& operator=(const ProcessFd&) = delete;
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset() noexcept;

 private:
  int fd_;
};

}  // namespace shoal

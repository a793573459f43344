// SPDX-License-Identifier: Apache-2.0
// Who was turned away, for whoever runs the machine: a file of JSON lines that all PEs append to.
//   {"time":"2026-11-29T20:49:44.123Z","pe":0,"who":"PE 3","what":"a write of 8 bytes at ..."}
#pragma once
#include <string>

#include "base/unique_fd.hpp"

namespace shoal {

/// Thread safe: one write a line.
class SecurityLog final {
 public:
  /// @param path  appended to, made with mode 0600; "": nothing is written. @throws Error{system} when it cannot be
  /// opened
  SecurityLog(const std::string& path, int pe);
  void write(const std::string& who, const std::string& what) const noexcept;

 private:
  UniqueFd file_;
  int pe_;
};

}  // namespace shoal

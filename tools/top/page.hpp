// SPDX-License-Identifier: Apache-2.0
// The status page of a running job, found through the process of its launcher or of any PE.
#pragma once
#include <sys/types.h>

#include <vector>

#include "base/status_page.hpp"
#include "base/verdict.hpp"

namespace shoal::top {

/// One PE as it is now.
struct PeView {
  PeState state;
  std::uint64_t waits = 0, waited_ns = 0;  ///< the call that it is in included
  std::uint64_t heap_bytes = 0, heap_used = 0;
  std::uint64_t operations = 0, bytes = 0;
  bool watched = false;  ///< whether operations and bytes are counted
};

class Page final {
 public:
  /// @param pid  of the launcher, of a PE, or of a process that a PE started and that kept its descriptors
  /// @throws Error{invalid_argument} which says that there is no such process, or no job
  explicit Page(pid_t pid);
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  std::vector<PeView> read(std::uint64_t now) const;
  /// Whether any PE's process is there still.
  bool alive() const;

 private:
  std::size_t n_pes() const;
  const StatusRecord* records_ = nullptr;
  std::size_t length_ = 0;
};

}  // namespace shoal::top

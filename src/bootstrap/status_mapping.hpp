// SPDX-License-Identifier: Apache-2.0
// The memory file with every PE's StatusRecord: made by the launcher, mapped by the PEs.
#pragma once
#include "base/options.hpp"
#include "base/status_page.hpp"
#include "base/unique_fd.hpp"

namespace shoal {

/// How the memory file shows in /proc; the number is raised with any change of StatusRecord, so that tools know whether
/// they understand it.
inline constexpr const char* kStatusFileName = "shoal-status.7";

class StatusMapping final {
 public:
  /// A new file of `npes` records, close-on-exec, sealed against a change of size. @throws Error{system}
  static StatusMapping create(int npes);
  static size_t bytes_of(int npes) { return static_cast<size_t>(npes) * sizeof(StatusRecord); }
  /// The launcher's, named by SHOAL_STATUS_FD; when there is no such variable, or the descriptor is closed or not a
  /// page for `npes` PEs, memory of this process.
  static StatusMapping open(const Options::Environment& environment, int npes);

  StatusMapping(StatusMapping&& other) noexcept;
  StatusMapping& operator=(StatusMapping&&) = delete;
  ~StatusMapping();
  /// From now on in this file, of as many bytes or more: where there is no launcher, the PEs of a node have one. To be
  /// called while nobody uses this; what the records say stays behind. @throws Error{system}
  void move_to(int fd);
  StatusRecord* record(int pe) const { return records_ + pe; }
  /// -1 when the records are in memory of this process, or were mapped from an inherited descriptor.
  int fd() const { return fd_.get(); }

 private:
  StatusMapping(UniqueFd fd, void* records, size_t length)
      : fd_(std::move(fd)), records_(static_cast<StatusRecord*>(records)), length_(length) {}
  UniqueFd fd_;
  StatusRecord* records_;
  size_t length_;
};

}  // namespace shoal

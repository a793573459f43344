// SPDX-License-Identifier: Apache-2.0
// Hands open files (memory files, above all) to other processes of the same user on the same machine, with no name in
// any file system: an abstract Unix socket, whose random name travels through the bootstrap.
//
// The name is a line of text, at most kMaxFdServerName bytes, that says all a receiver needs:
//   shoal-<32 hex digits>,<pid of the server>[,<fd>:<device>:<inode> of each file]      (numbers in decimal)
// A receiver connects and gets one message: Greeting (see fd_passing.cpp) with the files attached. Where sockets don't
// work (another network namespace, too many files in flight) it opens /proc/<pid>/fd/<fd>. Either way it compares
// device and inode of what it got.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"

namespace shoal {

inline constexpr std::size_t kMaxPassedFds = 16;
inline constexpr std::size_t kMaxFdServerName = 1024;

/// Serves a fixed list of files to whoever of the same user asks, from its own thread, until it is destroyed. A
/// receiver that dies, sends rubbish or belongs to another user costs the others nothing: the server never reads and
/// never waits for anyone. Construct it, publish name(), let everybody fetch, meet in a barrier, destroy it.
class FdServer final {
 public:
  /// Serves `fds` (1 to kMaxPassedFds), which stay the caller's and must stay open as long as this lives.
  /// @throws Error
  explicit FdServer(const std::vector<int>& fds);
  FdServer(const FdServer&) = delete;
  FdServer& operator=(const FdServer&) = delete;
  /// Stops at once; whoever was served keeps what it has.
  ~FdServer();

  const std::string& name() const noexcept { return name_; }
  /// Receivers that got the files by socket so far.
  std::size_t served() const noexcept { return served_.load(std::memory_order_relaxed); }
  /// Connections turned away because they belong to another user.
  std::size_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  void run() noexcept;
  void serve_one(int connection) noexcept;

  std::vector<int> fds_;
  std::string name_;
  UniqueFd listener_, stop_;
  std::atomic<std::size_t> served_{0}, refused_{0};
  std::thread thread_;
};

struct FetchedFds {
  std::vector<UniqueFd> fds;  ///< in the server's order, close-on-exec
  bool through_proc = false;  ///< the socket failed and /proc/PID/fd served instead: worth a line at level info
  std::string why;            ///< then: how the socket failed
};

/// Fetches the files that the server called `name` serves. @param deadline_ns as now_ns(); waits no longer.
/// @throws Error that names everything tried and its errno
FetchedFds fetch_fds(const std::string& name, std::uint64_t deadline_ns);

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// What the control groups (version 1, version 2, or both at once) leave to this process. Read-only, any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace shoal {

struct CgroupLimits {
  std::string path;                          ///< this process's memory group, "" where there is none
  std::optional<double> cpus;                ///< processor time as a number of processors; nothing: unlimited
  std::optional<std::uint64_t> memory;       ///< bytes, the tightest of the group and its parents; nothing: unlimited
  std::optional<std::uint64_t> memory_used;  ///< bytes charged to the group that sets `memory`
  std::optional<std::uint64_t> oom_kills;    ///< processes of the own group that the kernel killed for memory, so far
};

/// Never throws for what the system lacks: what cannot be read is absent.
/// @param root prefix of /proc and /sys, for tests
CgroupLimits read_cgroup(const std::string& root = "");

}  // namespace shoal

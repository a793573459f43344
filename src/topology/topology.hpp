// SPDX-License-Identifier: Apache-2.0
// Which machine this is, and which of its processors and how much of its memory this process may use. Any thread.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "topology/cgroup.hpp"

namespace shoal {

/// One logical processor. Numbers that the kernel does not give are -1.
struct Cpu {
  int id, core, socket, numa_node;
};

struct Topology {
  std::string host;          ///< node name: for people only, never to decide who shares a machine
  std::string boot_id;       ///< the same for all processes of one running kernel, "" where it cannot be read
  std::string kernel;        ///< such as "6.1.0-18-amd64"
  std::string architecture;  ///< such as "x86_64"
  int cpus_online = 1;
  std::vector<Cpu> cpus;  ///< those that the affinity mask allows, by id
  std::uint64_t memory_total = 0;
  std::uint64_t memory_available = 0;
  std::string shared_huge_pages;     ///< what the kernel does for shared memory: always, within_size, advise, never
  std::string anonymous_huge_pages;  ///< what it does for private memory: always, madvise, never
  std::uint64_t huge_page_size = 0;
  CgroupLimits cgroup;
};

/// Never throws for what the system lacks. @param root prefix of /proc and /sys, for tests
Topology read_topology(const std::string& root = "");

/// Processors that this process may keep busy: the affinity mask and the group's quota of processor time together
/// (a quota of 2.5 is 2), at least 1. A job with more PEs than this yields as soon as it waits.
int usable_cpus();
int usable_cpus(const Topology& topology);

/// Bytes that this process could still touch: the smaller of what is free and what the group's limit leaves.
std::uint64_t usable_memory(const Topology& topology);

}  // namespace shoal

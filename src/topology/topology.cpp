// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.hpp"

#include <dirent.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

namespace shoal {
namespace {

std::string text_in(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

int number_in(const std::string& file) {
  std::ifstream in(file);
  int number = -1;
  return in >> number ? number : -1;
}

/// The chosen word of "always [madvise] never".
std::string choice_in(const std::string& file) {
  const std::string line = text_in(file);
  const size_t open = line.find('['), close = line.find(']');
  return open == std::string::npos || close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

/// Bytes of a line "MemTotal:  123 kB".
std::uint64_t meminfo(const std::string& root, const std::string& key) {
  std::ifstream in(root + "/proc/meminfo");
  for (std::string word; in >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == key + ":" && in >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

/// Processors of the affinity mask; masks of machines with more than 1024 processors do not fit a cpu_set_t.
std::vector<int> allowed_cpus() {
  for (int most = 1024; most <= 1 << 20; most *= 2) {
    const size_t bytes = CPU_ALLOC_SIZE(most);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(most), [](cpu_set_t* s) { CPU_FREE(s); });
    if (!set) break;
    CPU_ZERO_S(bytes, set.get());
    if (::sched_getaffinity(0, bytes, set.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> ids;
    for (int id = 0; id < most; ++id)
      if (CPU_ISSET_S(static_cast<size_t>(id), bytes, set.get())) ids.push_back(id);
    return ids;
  }
  return {};
}

/// The memory node of a processor is a link "nodeN" in its directory.
int numa_node(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), ::closedir);
  if (!dir) return -1;
  while (const dirent* entry = ::readdir(dir.get())) {
    const char* name = entry->d_name;
    if (std::strncmp(name, "node", 4) == 0 && std::isdigit(static_cast<unsigned char>(name[4])))
      return std::atoi(name + 4);
  }
  return -1;
}

}  // namespace

Topology read_topology(const std::string& root) {
  Topology topology;
  utsname names{};
  if (::uname(&names) == 0) {
    topology.host = names.nodename;
    topology.kernel = names.release;
    topology.architecture = names.machine;
  }
  topology.boot_id = text_in(root + "/proc/sys/kernel/random/boot_id");
  topology.cpus_online = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  for (const int id : allowed_cpus()) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(id);
    topology.cpus.push_back({id, number_in(folder + "/topology/core_id"),
                             number_in(folder + "/topology/physical_package_id"), numa_node(folder)});
  }
  topology.memory_total = meminfo(root, "MemTotal");
  topology.memory_available = meminfo(root, "MemAvailable");
  const std::string huge = root + "/sys/kernel/mm/transparent_hugepage/";
  topology.shared_huge_pages = choice_in(huge + "shmem_enabled");
  topology.anonymous_huge_pages = choice_in(huge + "enabled");
  topology.huge_page_size = static_cast<std::uint64_t>(std::max(0, number_in(huge + "hpage_pmd_size")));
  topology.cgroup = read_cgroup(root);
  return topology;
}

int usable_cpus(const Topology& topology) {
  int cpus = topology.cpus.empty() ? topology.cpus_online : static_cast<int>(topology.cpus.size());
  if (topology.cgroup.cpus && *topology.cgroup.cpus < cpus) cpus = static_cast<int>(*topology.cgroup.cpus);
  return std::max(1, cpus);
}

int usable_cpus() {
  Topology topology;
  topology.cpus_online = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  for (const int id : allowed_cpus()) topology.cpus.push_back({id, -1, -1, -1});
  topology.cgroup = read_cgroup();
  return usable_cpus(topology);
}

std::uint64_t usable_memory(const Topology& topology) {
  std::uint64_t bytes = topology.memory_available;
  if (topology.cgroup.memory) {
    const std::uint64_t limit = *topology.cgroup.memory, used = topology.cgroup.memory_used.value_or(0);
    bytes = std::min(bytes, limit > used ? limit - used : 0);
  }
  return bytes;
}

}  // namespace shoal

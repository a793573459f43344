// SPDX-License-Identifier: Apache-2.0
#include "topology/cgroup.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace shoal {
namespace {

/// A controller's directories, from this process's own group up to the mount point.
struct Hierarchy {
  bool v2 = false;
  std::string path;
  std::vector<std::string> folders;
};

bool has_word(std::string_view list, std::string_view word) {
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

std::optional<std::string> first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

/// A whole number and nothing else: "max" and "-1" are no limit, as is the huge value that version 1 shows for "none".
std::optional<std::uint64_t> limit_in(const std::string& file) {
  const std::optional<std::string> line = first_line(file);
  if (!line || line->empty() || line->find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  if (line->size() > 18) return std::nullopt;
  return std::stoull(*line);
}

/// "name value" in a file of such lines.
std::optional<std::uint64_t> field_in(const std::string& file, std::string_view name) {
  std::ifstream in(file);
  std::string key;
  std::uint64_t value = 0;
  while (in >> key >> value)
    if (key == name) return value;
  return std::nullopt;
}

/// The mount that carries `controller` ("" for version 2): its mount point, and which group it shows there.
struct Mount {
  std::string shown, point;
};
std::optional<Mount> find_mount(const std::string& root, std::string_view controller) {
  std::ifstream in(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string id, parent, device, shown, point, word, type, source, options;
    words >> id >> parent >> device >> shown >> point;
    while (words >> word && word != "-") {
    }
    words >> type >> source >> options;
    if (controller.empty() ? type == "cgroup2" : type == "cgroup" && has_word(options, controller))
      return Mount{shown, point};
  }
  return std::nullopt;
}

std::optional<Hierarchy> find_hierarchy(const std::string& root, std::string_view controller) {
  std::ifstream in(root + "/proc/self/cgroup");
  Hierarchy found;
  bool any = false;
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    if (has_word(std::string_view(line).substr(first + 1, second - first - 1), controller)) {
      found.path = line.substr(second + 1);
      any = true;
      break;
    }
  }
  if (!any) return std::nullopt;
  found.v2 = controller.empty();
  const std::optional<Mount> mount = find_mount(root, controller);
  if (!mount) return std::nullopt;
  // Inside a container without a group namespace the mount shows a subtree whose full name /proc/self/cgroup gives.
  std::string below = found.path;
  if (mount->shown != "/" && (below + "/").compare(0, mount->shown.size() + 1, mount->shown + "/") == 0)
    below.erase(0, mount->shown.size());
  while (below.size() > 1 && below[0] == '/') {
    found.folders.push_back(root + mount->point + below);
    below.erase(below.rfind('/'));
  }
  found.folders.push_back(root + mount->point);
  return found;
}

void read_cpus(const Hierarchy& hierarchy, CgroupLimits& limits) {
  for (const std::string& folder : hierarchy.folders) {
    double quota = -1, period = 0;
    if (hierarchy.v2) {
      std::ifstream in(folder + "/cpu.max");
      if (!(in >> quota >> period)) continue;  // "max 100000"
    } else {
      const auto q = limit_in(folder + "/cpu.cfs_quota_us"), p = limit_in(folder + "/cpu.cfs_period_us");
      if (!q || !p) continue;
      quota = static_cast<double>(*q);
      period = static_cast<double>(*p);
    }
    if (quota > 0 && period > 0 && (!limits.cpus || quota / period < *limits.cpus)) limits.cpus = quota / period;
  }
}

void read_memory(const Hierarchy& hierarchy, CgroupLimits& limits) {
  const char* const limit = hierarchy.v2 ? "/memory.max" : "/memory.limit_in_bytes";
  const char* const used = hierarchy.v2 ? "/memory.current" : "/memory.usage_in_bytes";
  for (const std::string& folder : hierarchy.folders) {
    const auto bytes = limit_in(folder + limit);
    if (!bytes || (limits.memory && *bytes >= *limits.memory)) continue;
    limits.memory = bytes;
    limits.memory_used = limit_in(folder + used);
  }
  const auto kills =
      field_in(hierarchy.folders.front() + (hierarchy.v2 ? "/memory.events" : "/memory.oom_control"), "oom_kill");
  if (kills) limits.oom_kills = kills;
  if (limits.path.empty() || !hierarchy.v2) limits.path = hierarchy.path;
}

}  // namespace

CgroupLimits read_cgroup(const std::string& root) {
  CgroupLimits limits;
  if (const auto unified = find_hierarchy(root, "")) {
    read_cpus(*unified, limits);
    read_memory(*unified, limits);
  }
  // Hybrid systems mount version 2 as well but keep the controllers in version 1: the tighter of both holds.
  if (const auto cpu = find_hierarchy(root, "cpu")) read_cpus(*cpu, limits);
  if (const auto memory = find_hierarchy(root, "memory")) read_memory(*memory, limits);
  return limits;
}

}  // namespace shoal

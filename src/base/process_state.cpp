// SPDX-License-Identifier: Apache-2.0
#include "base/process_state.hpp"

#include <fstream>

namespace shoal {

std::string stat_from_state(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');  // the name before it may hold anything
  return name_end == std::string::npos || name_end + 2 >= line.size() ? "" : line.substr(name_end + 2);
}

std::string how_stopped(int pid) {
  const std::string stat = stat_from_state(pid);
  return stat.starts_with('T') ? "stopped by a signal" : stat.starts_with('t') ? "stopped by a debugger" : "";
}

}  // namespace shoal

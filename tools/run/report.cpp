// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "topology/cgroup.hpp"

namespace shoal::run {
namespace {

/// The number after `key` in a file of "key number" lines, or -1.
std::int64_t counter(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string name;
  std::int64_t number = 0;
  while (file >> name >> number)
    if (name == key) return number;
  return -1;
}

/// How many processes of this memory cgroup (version 2, or 1) were killed for lack of memory, or -1.
std::int64_t group_kills() {
  const auto kills = read_cgroup().oom_kills;
  return kills ? static_cast<std::int64_t>(*kills) : -1;
}

std::int64_t machine_kills() { return counter("/proc/vmstat", "oom_kill"); }

}  // namespace

void say(const std::string& text) { say_raw("shoalrun: " + text); }

void say_raw(const std::string& text) {
  const std::string line = text + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

std::string signal_text(int signal) {
  const char* name = ::sigdescr_np(signal);
  return name != nullptr ? strf("signal %d (%s)", signal, name) : strf("signal %d", signal);
}

std::string end_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "was killed by " + signal_text(WTERMSIG(wait_status));
  const int code = WEXITSTATUS(wait_status);
  std::string text = strf("exited with status %d", code);
  // A shell tells so that its program was killed.
  if (code > 128 && ::sigdescr_np(code - 128) != nullptr) text += strf(" (128 + %s)", signal_text(code - 128).c_str());
  return text;
}

int end_code(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string host_name() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0) return "this machine";
  return name;
}

std::optional<int> zombie_status(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t close = line.rfind(')');
  if (close == std::string::npos || line.compare(close + 1, 2, " Z") != 0) return std::nullopt;
  std::istringstream fields(line.substr(close + 2));
  std::string field;
  for (int number = 3; number <= 52; ++number)
    if (!(fields >> field)) return std::nullopt;
  return std::atoi(field.c_str());
}

OomWatch::OomWatch() : group_before_(group_kills()), machine_before_(machine_kills()) {}

std::string OomWatch::text() const {
  if (group_kills() > group_before_)
    return " (out of memory: the memory limit of this cgroup was reached; use fewer PEs or less memory each)";
  if (machine_kills() > machine_before_)
    return " (out of memory, it seems: the kernel killed for lack of memory; use fewer PEs or less memory each)";
  return "";
}

}  // namespace shoal::run

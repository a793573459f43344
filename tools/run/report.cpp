// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/process_state.hpp"
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

/// What the ioctl PIDFD_GET_INFO of Linux 6.13 and later fills in; newer than the headers that we build with.
struct PidfdInfo {
  std::uint64_t mask, cgroup;
  std::uint32_t pid, tgid, ppid, ids[8];
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);
constexpr std::uint64_t kPidfdInfoExit = 8;

std::int64_t machine_kills() { return counter("/proc/vmstat", "oom_kill"); }

}  // namespace

void say(const std::string& text) { print_raw_line("shoalrun: " + text); }

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

std::optional<int> ended_status(int process) {
  PidfdInfo info{};
  info.mask = kPidfdInfoExit;
  if (::ioctl(process, kPidfdGetInfo, &info) == 0 && (info.mask & kPidfdInfoExit) != 0) return info.exit_code;
  // The number in /proc, which may be that of another pid namespace than ours.
  const auto pid = counter("/proc/self/fdinfo/" + std::to_string(process), "Pid:");
  if (pid <= 0) return std::nullopt;
  const std::string stat = stat_from_state(static_cast<int>(pid));
  if (!stat.starts_with('Z')) return std::nullopt;
  std::istringstream fields(stat);
  std::string field;
  for (int number = 3; number <= 52; ++number)
    if (!(fields >> field)) return std::nullopt;
  return std::atoi(field.c_str());
}

std::string process_name(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

bool uses_shoal(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(file, line);)
    if (line.find("/libshoal.so") != std::string::npos) return true;
  return false;
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

// SPDX-License-Identifier: Apache-2.0
// What a figure cannot be judged without: the machine and the build.
#include <shmem.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "build_info.hpp"
#include "commit.hpp"
#include "result.hpp"

extern char** environ;

namespace shoal::perf {
namespace {

/// The value of the first line that begins with `key`, up to its colon.
std::string value_in(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t start = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "";
}

std::string first_line(const std::string& file) {
  std::ifstream lines(file);
  std::string line;
  std::getline(lines, line);
  return line;
}

/// "32K instruction, 32K data, 1024K, 32M"
std::string caches() {
  std::string all;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const std::string size = first_line(folder + "size"), type = first_line(folder + "type");
    if (size.empty() || type == "Instruction") continue;
    all += (all.empty() ? "L" : ", L") + first_line(folder + "level") + " " + size;
  }
  return all;
}

}  // namespace

Facts machine_facts(int cpus) {
  Facts facts;
  std::string cpu = value_in("/proc/cpuinfo", "model name");
  utsname system{};
  ::uname(&system);
  if (cpu.empty()) cpu = system.machine;
  facts.emplace_back("cpu", cpu);
  facts.emplace_back("processors",
                     std::to_string(cpus) + " usable of " + std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)));
  if (const std::string text = caches(); !text.empty()) facts.emplace_back("caches", text);
  facts.emplace_back("memory", value_in("/proc/meminfo", "MemTotal"));
  facts.emplace_back("kernel", std::string(system.sysname) + " " + system.release + " " + system.machine);
  if (const std::string load = first_line("/proc/loadavg"); !load.empty())
    facts.emplace_back("load before", load.substr(0, load.find(' ')));
  return facts;
}

Facts build_facts() {
  int major = 0, minor = 0;
  char name[SHMEM_MAX_NAME_LEN + 1] = {};
  shmem_info_get_version(&major, &minor);
  shmem_info_get_name(name);
  Facts facts = {{"library", name},
                 {"openshmem", std::to_string(major) + "." + std::to_string(minor)},
                 {"version", info::kVersion}};
  if (*info::kCommit != '\0') facts.emplace_back("commit", info::kCommit);
  facts.emplace_back("compiler", info::kCompiler);
  facts.emplace_back("build type", info::kBuildType);
  facts.emplace_back("flags", info::kFlags);
  if (*info::kSanitize != '\0') facts.emplace_back("sanitizers", info::kSanitize);
  facts.emplace_back("target", info::kTarget);
  return facts;
}

Facts environment_facts() {
  Facts facts;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos ||
        !(text.starts_with("SHMEM_") || text.starts_with("SHOAL_") || text.starts_with("SMA_")))
      continue;
    const std::string name = text.substr(0, equals);
    // The launcher's own, and where things were installed.
    if (name == "SHOAL_PE" || name == "SHOAL_NPES" || name.ends_with("_FD") || name == "SHOAL_ROOT") continue;
    facts.emplace_back(name, text.substr(equals + 1));
  }
  return facts;
}

std::string version_text() {
  std::string text = std::string("shoal-perf ") + info::kVersion;
  if (*info::kCommit != '\0') text += std::string(" (commit ") + info::kCommit + ")";
  return text;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

}  // namespace shoal::perf

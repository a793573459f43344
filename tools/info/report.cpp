// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/options.hpp"
#include "base/unique_fd.hpp"
#include "build_info.hpp"
#include "commit.hpp"
#include "topology/topology.hpp"

extern "C" char** environ;

namespace shoal::info {
namespace {

namespace fs = std::filesystem;

const char* variable(const char* name) { return std::getenv(name); }

std::string human(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double amount = static_cast<double>(bytes);
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(kUnits); ++unit) amount /= 1024;
  return strf(unit == 0 ? "%.0f %s" : "%.1f %s", amount, kUnits[unit]);
}

Row bytes_row(const char* key, std::uint64_t bytes) { return {key, static_cast<double>(bytes), human(bytes)}; }
Row bytes_row(const char* key, const std::optional<std::uint64_t>& bytes) {
  return bytes ? bytes_row(key, *bytes) : Row{key, {}, "no limit"};
}
Row text_row(const char* key, const std::string& text) {
  return text.empty() ? Row{key, {}, "unknown"} : Row{key, text, ""};
}

Section build_section() {
  return {"build",
          {text_row("version", kVersion),
           text_row("specification", "OpenSHMEM 1.6"),
           text_row("commit", kCommit),
           text_row("compiler", kCompiler),
           text_row("build_type", kBuildType),
           text_row("flags", kFlags),
           {"sanitizers", *kSanitize ? Value(std::string(kSanitize)) : Value(), *kSanitize ? "" : "none"},
           text_row("target", kTarget)}};
}

std::string find_in_path(const std::string& name) {
  const char* path = variable("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return file;
  }
  return {};
}

/// A file of this installation, or of the build tree that this program runs from.
std::string beside(const std::vector<std::string>& candidates) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  for (const std::string& candidate : candidates) {
    const fs::path file = (self.parent_path() / candidate).lexically_normal();
    if (fs::exists(file, error)) return file.string();
  }
  return {};
}

Section installation_section(std::vector<std::string>& warnings) {
  Section section{"installation", {}};
  const std::string library = beside({kBinToLib + std::string("/") + kSoname, "../src/" + std::string(kSoname)});
  const std::string launcher = beside({"shoalrun"});
  section.rows.push_back(text_row("library", library));
  section.rows.push_back(text_row("launcher", launcher));
  if (library.empty()) warnings.push_back(strf("%s is not beside this program: reinstall Shoal as a whole", kSoname));
  if (launcher.empty()) warnings.push_back("shoalrun is not beside this program: reinstall Shoal as a whole");
  const std::string found = find_in_path("shoalrun");
  section.rows.push_back({"shoalrun_on_path", found.empty() ? Value() : Value(found), found.empty() ? "no" : ""});
  std::error_code error;
  if (!found.empty() && !launcher.empty() && !fs::equivalent(found, launcher, error) && !error)
    warnings.push_back(
        strf("PATH finds another shoalrun first (%s): source the set_env.sh of the one you mean", found.c_str()));
  for (const char* other : {"mpirun", "srun"}) {
    const std::string file = find_in_path(other);
    const char* by_it = kWithPmix ? " (starts PEs by PMIx)" : " (cannot start PEs: this build has no PMIx)";
    section.rows.push_back({other, file.empty() ? Value() : Value(file), file.empty() ? "no" : file + by_it});
  }
  return section;
}

/// Between PEs of one machine everything goes through memory files; without those there is no job. Sockets are
/// always built in.
Section transport_section(std::vector<std::string>& warnings) {
  const UniqueFd probe(::memfd_create("shoal-info", MFD_CLOEXEC));
  if (!probe)
    warnings.push_back("this kernel or container forbids memfd_create: jobs of more than one PE cannot start");
  return {"transports",
          {{"shared_memory", static_cast<bool>(probe), probe ? "yes (memory files)" : "no"},
           {"network", true, "yes (TLS 1.3; TCP on request)"}}};
}

Section machine_section(const Topology& machine) {
  std::set<int> sockets, nodes;
  std::set<std::pair<int, int>> cores;
  std::string ids;
  for (const Cpu& cpu : machine.cpus) {
    sockets.insert(cpu.socket);
    nodes.insert(cpu.numa_node);
    cores.insert({cpu.socket, cpu.core});
    if (!ids.empty()) ids += ',';
    ids += std::to_string(cpu.id);
  }
  const auto count = [](size_t n) { return static_cast<double>(n); };
  const CgroupLimits& group = machine.cgroup;
  return {"machine",
          {text_row("host", machine.host),
           text_row("boot_id", machine.boot_id),
           text_row("kernel", machine.kernel),
           text_row("architecture", machine.architecture),
           {"cpus_online", count(static_cast<size_t>(machine.cpus_online)), ""},
           {"cpus_allowed", count(machine.cpus.size()), strf("%zu (%s)", machine.cpus.size(), ids.c_str())},
           {"cores", count(cores.size()), ""},
           {"sockets", count(sockets.size()), ""},
           {"numa_nodes", count(nodes.size()), ""},
           {"cpu_quota", group.cpus ? Value(*group.cpus) : Value(), group.cpus ? "" : "no limit"},
           {"cpus_usable", count(static_cast<size_t>(usable_cpus(machine))), ""},
           bytes_row("memory_total", machine.memory_total),
           bytes_row("memory_available", machine.memory_available),
           text_row("cgroup", group.path),
           bytes_row("memory_limit", group.memory),
           {"memory_used_of_limit", group.memory_used ? Value(static_cast<double>(*group.memory_used)) : Value(),
            group.memory_used ? human(*group.memory_used) : "no limit"},
           text_row("shared_huge_pages", machine.shared_huge_pages),
           text_row("anonymous_huge_pages", machine.anonymous_huge_pages),
           bytes_row("huge_page_size", machine.huge_page_size)}};
}

/// Why `row`'s value is refused. The other options get their defaults, so that this one is what the error names.
std::string problem_of(const OptionRow& row) {
  try {
    Options::from([&](const char* name) { return row.source == name ? variable(name) : nullptr; });
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::vector<OptionState> option_states() {
  std::vector<OptionState> states;
  for (OptionRow& row : describe_options(variable)) {
    OptionState state{row.name, row.value, row.source, row.help, problem_of(row)};
    if (const char* raw = variable(row.source.c_str())) state.value = raw;
    states.push_back(std::move(state));
  }
  return states;
}

/// A misspelt variable has no effect, and nobody would notice.
void warn_of_unknown(std::vector<std::string>& warnings) {
  for (const UnknownVariable& unknown : find_unknown(process_variables()))
    warnings.push_back(
        unknown.name + " is set but is no option of Shoal: " +
        (unknown.nearest.empty() ? "see the list of shoal-info --options" : "did you mean " + unknown.nearest + "?"));
}

}  // namespace

Report make_report() {
  Report report;
  report.options = option_states();
  const Topology machine = read_topology();
  report.sections = {build_section(), installation_section(report.warnings), transport_section(report.warnings),
                     machine_section(machine)};
  for (const OptionState& option : report.options)
    if (!option.problem.empty()) report.warnings.push_back(option.problem + "; jobs started with it end at init");
  warn_of_unknown(report.warnings);
  return report;
}

}  // namespace shoal::info

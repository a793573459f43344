// SPDX-License-Identifier: Apache-2.0
// shoal-perf: measures, draws, compares. Started by a user it checks the command line and starts itself again as a job.
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "build_info.hpp"
#include "result.hpp"
#include "session.hpp"
#include "tests.hpp"

namespace shoal::perf {
namespace {

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || length == sizeof path)
    throw Usage("shoal-perf: cannot find out where it is installed: /proc/self/exe is not readable");
  return {path, static_cast<std::size_t>(length)};
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

[[noreturn]] void become(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& remedy) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  ::execvp(program.c_str(), pointers.data());
  throw Usage("shoal-perf: cannot start " + program + ": " + std::strerror(errno) + remedy);
}

/// report and compare are Python programs of the standard library alone.
[[noreturn]] void run_script(const std::string& name, const std::vector<std::string>& arguments) {
  const std::string bin = folder_of(own_path()), script = bin + "/" + info::kBinToLib + "/shoal/perf/" + name + ".py";
  if (::access(script.c_str(), R_OK) != 0) throw Usage("shoal-perf: " + script + " is missing: install Shoal anew");
  std::vector<std::string> command = {"python3", "-B", script};
  command.insert(command.end(), arguments.begin() + 1, arguments.end());
  if (name == "compare") ::setenv("SHOAL_PERF_BIN", bin.c_str(), 1);
  become("python3", command, ": shoal-perf " + name + " needs Python 3 (Debian: apt-get install python3)");
}

void print_list(bool names_only) {
  std::string group;
  for (const Test& test : all_tests()) {
    if (names_only) {
      std::printf("%s\n", test.name);
      continue;
    }
    if (group != test.group) std::printf("%s%s\n", group.empty() ? "" : "\n", (group = test.group).c_str());
    const char* by = test.by == By::bytes ? " (by size)" : test.by == By::threads ? " (by threads)" : "";
    std::printf("  %-21s %-8s %s%s\n", test.name, name_of(test.who), test.about, by);
  }
  if (!names_only)
    std::printf(
        "\nThe second column says which PEs run the operation: PE 0 alone, PEs 0 and 1, pairs (each even PE with the "
        "next),\n"
        "or all. The other PEs wait in a barrier meanwhile.\n");
}

struct Launcher {
  const char* name;
  int pes;  // that it started; 0: a user started this process
};

/// A size of Slurm's alone may be that of the allocation: only those who count the processes that they start are asked.
Launcher find_launcher() {
  constexpr struct {
    const char *size, *rank, *name;
  } kLaunchers[] = {{"SHOAL_NPES", "SHOAL_PE", "shoalrun"},
                    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun"},
                    {"PMI_SIZE", "PMI_RANK", "mpirun"},
                    {"SLURM_STEP_NUM_TASKS", "PMIX_RANK", "srun"},
                    {"WORLD_SIZE", "RANK", "torchrun"}};
  for (const auto& [size, rank, name] : kLaunchers) {
    const char* count = std::getenv(size);
    const int pes = count != nullptr && std::getenv(rank) != nullptr ? std::atoi(count) : 0;
    if (pes > 0) return {name, pes};
  }
  return {"", 0};
}

void set_heap(const Options& options, int pes) {
  if (std::getenv("SHMEM_SYMMETRIC_SIZE") == nullptr && std::getenv("SMA_SYMMETRIC_SIZE") == nullptr)
    ::setenv("SHMEM_SYMMETRIC_SIZE", std::to_string(heap_needed(options, pes)).c_str(), 1);
}

/// The job: shoalrun beside this program, with what was asked of us.
[[noreturn]] void launch(const Options& options, const std::vector<std::string>& arguments) {
  const std::string self = own_path();
  std::string launcher = folder_of(self) + "/shoalrun";
  if (::access(launcher.c_str(), X_OK) != 0) launcher = "shoalrun";
  set_heap(options, options.npes);
  std::vector<std::string> command = {launcher, "-n", std::to_string(options.npes), "--", self};
  command.insert(command.end(), arguments.begin(), arguments.end());
  become(launcher, command, ": shoalrun should be beside shoal-perf or on PATH");
}

int run(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && (arguments[0] == "report" || arguments[0] == "compare"))
    run_script(arguments[0], arguments);
  const Options options = parse(arguments);
  if (options.help) return std::fputs(kHelp, stdout) < 0;
  if (options.version) return std::printf("%s\n", version_text().c_str()) < 0;
  if (options.list || options.names) {
    print_list(options.names);
    return 0;
  }
  chosen_tests(options);
  check_reduction(options.type, options.op);
  const auto [launcher, pes] = find_launcher();
  if (pes == 0) launch(options, arguments);
  if (options.npes_given && options.npes != pes)
    throw Usage("shoal-perf: -n " + std::to_string(options.npes) + ", but " + launcher + " started " +
                std::to_string(pes) + " PEs: run shoal-perf without " + launcher + ", or leave -n out");
  set_heap(options, pes);
  return run_as_pe(options);
}

}  // namespace
}  // namespace shoal::perf

int main(int count, char** arguments) {
  try {
    return shoal::perf::run({arguments + 1, arguments + count});
  } catch (const shoal::perf::Usage& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

// SPDX-License-Identifier: Apache-2.0
// shoal-info: what this build of Shoal is, what it will do with this environment, and what machine it is on.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>

#include "build_info.hpp"
#include "report.hpp"

namespace {

constexpr const char* kUsage =
    "Usage: shoal-info [--options] [--json] | --version | --help\n"
    "Prints Shoal's version and build, where it is installed, what the machine offers, and every option with its "
    "value\n"
    "and where that came from (\"default\", or the environment variable that set it).\n"
    "\n"
    "  --options   only the options\n"
    "  --json      the same as JSON; unknown and unlimited are null, sizes are bytes\n"
    "  --version   only the version\n"
    "  --help      this text\n"
    "\n"
    "Exit status: 0; 1 when an option's value is invalid, or nothing can be written; 2 when the command line\n"
    "is invalid.\n";

int run(int argc, char** argv) {
  bool json = false, only_options = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--options") {
      only_options = true;
    } else if (argument == "--version") {
      std::printf("shoal-info: Shoal %s\n", shoal::info::kVersion);
      return 0;
    } else if (argument == "--help" || argument == "-h") {
      std::fputs(kUsage, stdout);
      return 0;
    } else {
      std::fprintf(stderr, "shoal-info: unknown argument '%s'; see shoal-info --help\n", argv[i]);
      return 2;
    }
  }
  const shoal::info::Report report = shoal::info::make_report();
  (json ? shoal::info::print_json : shoal::info::print_text)(report, only_options);
  for (const shoal::info::OptionState& option : report.options)
    if (!option.problem.empty()) return 1;
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const int status = run(argc, argv);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fprintf(stderr, "shoal-info: cannot write standard output: %s\n", std::strerror(errno));
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "shoal-info: %s\n", error.what());
  return 1;
}

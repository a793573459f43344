// SPDX-License-Identifier: Apache-2.0
// fuzz_seeds FOLDER TARGET...: writes the seeds of each target to FOLDER/TARGET. They must be all that there are.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "targets.hpp"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER TARGET...\n");
    return 2;
  }
  std::set<std::string> named(argv + 2, argv + argc);
  for (const shoal::fuzz::Target& target : shoal::fuzz::targets()) {
    if (named.erase(target.name) == 0) {
      std::fprintf(stderr, "fuzz_seeds: nobody runs the target %s\n", target.name);
      return 1;
    }
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / target.name;
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const std::string& seed : target.seeds())
      if (!(std::ofstream(folder / ("seed-" + std::to_string(number++)), std::ios::binary) << seed)) return 1;
  }
  for (const std::string& name : named) std::fprintf(stderr, "fuzz_seeds: there is no target %s\n", name.c_str());
  return named.empty() ? 0 : 1;
}

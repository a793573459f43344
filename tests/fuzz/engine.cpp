// SPDX-License-Identifier: Apache-2.0
// fuzz TARGET [OPTION]... [FOLDER]: one target under libFuzzer, whose options they are. Without -max_total_time and -runs it takes
// a second, or 20 with SHOAL_TEST_FULL=1.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/options.hpp"
#include "targets.hpp"

namespace {

const shoal::fuzz::Target* target = nullptr;

bool limits(const char* option) {
  return std::strncmp(option, "-max_total_time=", 16) == 0 || std::strncmp(option, "-runs=", 6) == 0;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (const shoal::fuzz::Target& one : shoal::fuzz::targets())
    if (*argc > 1 && std::strcmp(one.name, (*argv)[1]) == 0) target = &one;
  if (target == nullptr) {
    std::fprintf(stderr, "usage: fuzz TARGET [OPTION]... [FOLDER], where TARGET is one of:");
    for (const shoal::fuzz::Target& one : shoal::fuzz::targets()) std::fprintf(stderr, " %s", one.name);
    std::fputc('\n', stderr);
    std::exit(2);
  }
  static std::vector<char*> arguments(*argv, *argv + *argc);
  const char* full = shoal::process_environment("SHOAL_TEST_FULL");
  static std::string time = full != nullptr && std::strcmp(full, "1") == 0 ? "-max_total_time=20" : "-max_total_time=1";
  bool limited = false;
  for (const char* argument : arguments) limited |= limits(argument);
  arguments.erase(arguments.begin() + 1);
  if (!limited) arguments.push_back(time.data());
  *argc = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  *argv = arguments.data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "tests.hpp"

#include <fnmatch.h>

namespace shoal::perf {

const std::vector<Test>& all_tests() {
  static const std::vector<Test> tests = [] {
    std::vector<Test> all;
    for (auto list : {rma_tests, rate_tests, atomic_tests, signal_tests, sync_tests, collective_tests, reduction_tests,
                      management_tests, thread_tests})
      for (const Test& test : list()) all.push_back(test);
    return all;
  }();
  return tests;
}

std::vector<Test> chosen_tests(const Options& options) {
  if (options.tests.empty()) return all_tests();
  std::vector<bool> chosen(all_tests().size());
  for (const std::string& pattern : options.tests) {
    bool found = false;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const Test& test = all_tests()[i];
      if (pattern != test.group && ::fnmatch(pattern.c_str(), test.name, 0) != 0) continue;
      chosen[i] = found = true;
    }
    if (!found) throw Usage("shoal-perf: no test or group is called " + pattern + " (see shoal-perf --list)");
  }
  std::vector<Test> tests;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) tests.push_back(all_tests()[i]);
  return tests;
}

std::size_t space_of(const Test& test, std::size_t size, int n, std::size_t stride) {
  const auto pes = static_cast<std::size_t>(n);
  // Strided tests move elements of 8 bytes; a size below that is one element.
  const std::size_t element = size < 8 ? 8 : size;
  switch (test.space) {
    case Space::one: return size;
    case Space::strided: return element * stride;
    case Space::per_pe: return size * pes;
    case Space::per_pe_strided: return element * stride * pes;
  }
  return size;
}

}  // namespace shoal::perf

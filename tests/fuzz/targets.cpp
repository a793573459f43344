// SPDX-License-Identifier: Apache-2.0
#include "targets.hpp"

#include <cstdio>
#include <cstdlib>

namespace shoal::fuzz {

std::span<const Target> targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> found;
    for (const auto* part : {&kEnvironment, &kWire, &kRecords, &kFiles}) found.insert(found.end(), part->begin(), part->end());
    return found;
  }();
  return all;
}

const std::string* shown = nullptr;

void require(bool holds, const char* what) {
  if (holds) return;
  for (const char c : shown == nullptr ? std::string() : *shown)
    std::fprintf(stderr, c >= 0x20 && c < 0x7f && c != '\\' ? "%c" : "\\x%02x", static_cast<unsigned char>(c));
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

}  // namespace shoal::fuzz

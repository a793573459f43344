// SPDX-License-Identifier: Apache-2.0
// The command line of shoal-perf's measuring mode.
#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace shoal::perf {

/// A mistake of the user's; what() is the whole message.
struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  int npes = 2;
  bool npes_given = false;
  bool quick = false;
  bool pin = true;
  bool list = false;
  bool names = false;
  bool help = false;
  bool version = false;
  std::vector<std::size_t> sizes;  // empty: chosen from min, max and the mode
  std::size_t min_size = 0;        // 0: the mode's
  std::size_t max_size = 0;
  int samples = 0;                // 0: the mode's
  double sample_ms = 0;           // 0: the mode's
  int threads = 0;                // 0: as many as PE 0 has processors, 2 to 4
  std::size_t stride = 2;         // of the strided tests, in elements
  std::size_t table = 16u << 20;  // of the random-access test, bytes a PE
  std::string type = "float";
  std::string op = "sum";
  std::string csv;
  std::string json;
  std::vector<std::string> tests;  // names, groups, patterns; empty: all
};

extern const char* const kHelp;

/// Throws Usage.
Options parse(const std::vector<std::string>& arguments);

/// The sizes in bytes that tests by size are run at, rising.
std::vector<std::size_t> chosen_sizes(const Options& options);

/// "64 KiB", "3 B", "1000 B"
std::string size_text(std::size_t bytes);

}  // namespace shoal::perf

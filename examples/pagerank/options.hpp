// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace pagerank {

struct Options {
  double damping = 0.85;
  double tolerance = 1e-10;
  std::int64_t iterations = 200;
  std::int64_t top = 20;
  std::string graph;     ///< edge list to read; empty: a package list
  std::string packages;  ///< package list to read; empty: the machine's own
  bool recommends = false;
  bool verbose = false;
  bool help = false;
};

class UsageError final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Every PE gets the same arguments and so the same result, with no communication. Throws UsageError.
Options parse_options(int argc, const char* const* argv);

/// The text of --help.
const char* usage();

}  // namespace pagerank

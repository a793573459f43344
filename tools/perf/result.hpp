// SPDX-License-Identifier: Apache-2.0
// What a run found, and how it is written down.
#pragma once
#include <cstdio>
#include <string>
#include <vector>

#include "runner.hpp"
#include "tests.hpp"

namespace shoal::perf {

/// One line of the table.
class Figure {
 public:
  Test test;
  std::size_t bytes = 0;    // of tests by size, else 0
  std::size_t threads = 0;  // of tests by threads, else 0
  double moved = 0;         // bytes an operation, over all that run at once; 0: none to speak of
  double operations = 1;    // at once
  Outcome outcome;

  /// The middle half of the samples spans a factor of two: something else had the machine.
  bool noisy() const { return wide(outcome.time) || wide(outcome.limit); }
  double ratio() const { return outcome.limit.count == 0 ? 0 : outcome.time.median / outcome.limit.median; }
  double gb_per_s() const { return moved / outcome.time.median; }
  double mops_per_s() const { return operations * 1e3 / outcome.time.median; }

 private:
  static bool wide(const Stats& stats) { return stats.q3 > 2 * stats.q1; }
};

struct Skipped {
  std::string test;
  std::string reason;
};

/// Names and values, in order.
using Facts = std::vector<std::pair<std::string, std::string>>;

struct Results {
  int npes = 0;
  std::string date;  // UTC
  Facts machine, build, options, environment;
  std::vector<Figure> figures;
  std::vector<Skipped> skipped;
};

/// The processor, the kernel, and so on, as far as they are known.
Facts machine_facts(int cpus);
Facts build_facts();
/// The SHMEM_ and SHOAL_ variables that the user set.
Facts environment_facts();
std::string version_text();
std::string utc_now();

/// "12.3 ns", "4.56 us", ...
std::string time_text(double ns);

/// Writes the table row by row, with a heading before each group. Keeps a line about progress on a terminal.
class TextTable {
 public:
  void open(const Results& results);
  void progress(std::size_t done, std::size_t total, const std::string& what);
  void row(const Figure& figure);
  void close(const Results& results);

 private:
  void clear();
  std::string group_;
  bool shown_ = false;
};

/// Throw Usage if the file cannot be written.
void write_csv(const Results& results, std::FILE* file, const std::string& name);
void write_json(const Results& results, std::FILE* file, const std::string& name);

}  // namespace shoal::perf

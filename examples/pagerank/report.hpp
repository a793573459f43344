// SPDX-License-Identifier: Apache-2.0
// All that PE 0 prints.
#pragma once

#include <string>
#include <vector>

#include "graph.hpp"
#include "iterate.hpp"
#include "options.hpp"
#include "results.hpp"
#include "serial.hpp"

namespace pagerank {

/// What was read, in words.
struct InputSummary {
  std::string source;
  std::string vertex = "vertex";  ///< what a vertex is: "vertex" or "package"
  std::string vertices = "vertices";
  std::string edges = "edges";
  std::string note;     ///< a further line; may be empty
  std::string warning;  ///< for standard error; may be empty
  double seconds = 0;
};

void print_input(const InputSummary& input, const Graph& graph);
void print_partition(const Results& results);

/// Shows the progress: one line that is rewritten on a terminal, else a line now and then.
class ProgressLine final {
 public:
  ProgressLine(EdgeIndex edges, std::int64_t max_steps);
  void show(const Progress& progress);
  void finish(const Iteration& iteration, double tolerance);

 private:
  void print(const Progress& progress) const;

  double edges_;
  std::int64_t max_steps_;
  bool terminal_;
  bool line_open_ = false;
  double last_shown_ = -1;
  std::int64_t last_step_ = 0;
};

void print_table(const InputSummary& input, const Graph& graph, const std::vector<double>& scores,
                 const std::vector<Vertex>& order);
void print_times(const InputSummary& input, const Results& results, double set_up_seconds, double seconds);
void print_pes(const Results& results);
/// On standard output where the check passed, else on standard error.
void print_check(const Graph& graph, const std::vector<double>& scores, const std::vector<Vertex>& order,
                 const std::vector<double>& reference, const Comparison& comparison, double seconds);

}  // namespace pagerank

// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace pagerank {

namespace {

/// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

struct Spread {
  double min;
  double mean;
  double max;
};

template <class Value>
Spread spread(const Results& results, Value value) {
  Spread s{value(results.summaries.front()), 0, 0};
  for (const PeSummary& summary : results.summaries) {
    const double v = value(summary);
    s.min = std::min(s.min, v);
    s.max = std::max(s.max, v);
    s.mean += v / static_cast<double>(results.summaries.size());
  }
  return s;
}

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(value + 0.5); }

template <class Value>
void print_counts(const char* name, const Results& results, Value value) {
  const Spread s = spread(results, [&](const PeSummary& summary) { return static_cast<double>(value(summary)); });
  std::printf("  %-22s%13s%13s%13s\n", name, grouped(whole(s.min)).c_str(), grouped(whole(s.mean)).c_str(),
              grouped(whole(s.max)).c_str());
}

template <class Value>
void print_seconds(const char* name, const Results& results, Value value) {
  const Spread s = spread(results, [&](const PeSummary& summary) { return value(summary.times); });
  std::printf("  %-22s%13.4f%13.4f%13.4f\n", name, s.min, s.mean, s.max);
}

void print_heading(const char* title) { std::printf("\n%-24s%13s%13s%13s\n", title, "min", "mean", "max"); }

}  // namespace

void print_input(const InputSummary& input, const Graph& graph) {
  std::printf("source  %s\ngraph   %s %s, %s %s\n", input.source.c_str(), grouped(graph.names.size()).c_str(),
              input.vertices.c_str(), grouped(graph.edges()).c_str(), input.edges.c_str());
  if (!input.note.empty()) std::printf("        %s\n", input.note.c_str());
  std::fflush(stdout);
  if (!input.warning.empty()) std::fprintf(stderr, "pagerank: warning: %s\n", input.warning.c_str());
}

void print_partition(const Results& results) {
  print_heading(("part of a PE, " + std::to_string(results.summaries.size()) + " PEs").c_str());
  print_counts("vertices", results, [](const PeSummary& s) { return s.rows; });
  print_counts("edges", results, [](const PeSummary& s) { return s.edges; });
  print_counts("values received a step", results, [](const PeSummary& s) { return s.ghosts; });
}

ProgressLine::ProgressLine(EdgeIndex edges, std::int64_t max_steps)
    : edges_(static_cast<double>(edges)), max_steps_(max_steps), terminal_(isatty(STDOUT_FILENO) == 1) {}

void ProgressLine::print(const Progress& progress) const {
  const double rate = edges_ * static_cast<double>(progress.step) / std::max(progress.seconds, 1e-9);
  std::printf("step %4lld of at most %lld   residual %.3e   %8.1f million edges/s",
              static_cast<long long>(progress.step), static_cast<long long>(max_steps_), progress.residual,
              rate * 1e-6);
}

void ProgressLine::show(const Progress& progress) {
  constexpr double kEverySecondsOnTerminal = 0.05;
  constexpr double kEverySeconds = 1;
  constexpr std::int64_t kEverySteps = 10;
  const double since = progress.seconds - last_shown_;
  const bool due = last_shown_ < 0 ||
                   (terminal_ ? since >= kEverySecondsOnTerminal
                              : since >= kEverySeconds || (progress.step < 100 && progress.step % kEverySteps == 0));
  if (!due) return;
  last_shown_ = progress.seconds;
  last_step_ = progress.step;
  if (terminal_) std::printf("\r");
  print(progress);
  std::printf(terminal_ ? "\x1b[K" : "\n");
  std::fflush(stdout);
  line_open_ = terminal_;
}

void ProgressLine::finish(const Iteration& iteration, double tolerance) {
  if (line_open_ || last_step_ != iteration.steps) {
    if (line_open_) std::printf("\r");
    print({iteration.steps, iteration.residual, iteration.seconds});
    std::printf("%s\n", line_open_ ? "\x1b[K" : "");
  }
  if (iteration.converged) {
    std::printf("converged: the last of %lld steps changed the scores by no more than %g in sum\n",
                static_cast<long long>(iteration.steps), tolerance);
  } else {
    std::printf("not converged after %lld steps, the limit (--iterations): the residual is above %g (--tolerance)\n",
                static_cast<long long>(iteration.steps), tolerance);
  }
}

void print_table(const InputSummary& input, const Graph& graph, const std::vector<double>& scores,
                 const std::vector<Vertex>& order) {
  if (order.empty()) return;
  std::size_t width = input.vertex.size();
  for (const Vertex v : order) width = std::max(width, graph.names[v].size());
  width = std::min<std::size_t>(width, 60);
  std::printf("\n%6s  %-*s  %12s  %11s\n", "rank", static_cast<int>(width), input.vertex.c_str(), "score",
              "dependents");
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Vertex v = order[i];
    std::printf("%6zu  %-*s  %12.6e  %11s\n", i + 1, static_cast<int>(width), graph.names[v].c_str(), scores[v],
                grouped(graph.in_degree(v)).c_str());
  }
}

void print_times(const InputSummary& input, const Results& results, double set_up_seconds, double seconds) {
  print_heading("seconds of a PE");
  print_seconds("compute", results, [](const Times& t) { return t.compute; });
  print_seconds("communication", results, [](const Times& t) { return t.communication(); });
  print_seconds("  pack and put", results, [](const Times& t) { return t.send; });
  print_seconds("  wait for values", results, [](const Times& t) { return t.wait; });
  print_seconds("  reductions", results, [](const Times& t) { return t.reduce; });
  std::printf("seconds in all: read %.3f, distribute %.3f, iterate %.3f\n", input.seconds, set_up_seconds, seconds);
}

void print_pes(const Results& results) {
  std::printf("\n%4s%11s%12s%11s%9s%12s%12s%12s%12s\n", "PE", "vertices", "edges", "received", "sends to", "compute s",
              "put s", "wait s", "reduce s");
  for (std::size_t pe = 0; pe < results.summaries.size(); ++pe) {
    const PeSummary& s = results.summaries[pe];
    std::printf("%4zu%11s%12s%11s%9s%12.4f%12.4f%12.4f%12.4f\n", pe, grouped(s.rows).c_str(), grouped(s.edges).c_str(),
                grouped(s.ghosts).c_str(), grouped(s.destinations).c_str(), s.times.compute, s.times.send, s.times.wait,
                s.times.reduce);
  }
}

void print_check(const Graph& graph, const std::vector<double>& scores, const std::vector<Vertex>& order,
                 const std::vector<double>& reference, const Comparison& comparison, double seconds) {
  std::FILE* out = comparison.passed() ? stdout : stderr;
  std::printf("\n");
  std::fflush(stdout);
  std::fprintf(
      out, "check against a serial run (%.3f s): largest difference %.3g (limit %g), order of the first %zu %s: %s\n",
      seconds, comparison.max_difference, Comparison::kLimit, order.size(),
      comparison.same_order ? "the same" : "NOT the same", comparison.passed() ? "passed" : "FAILED");
  if (!comparison.same_order) {
    const std::size_t place = comparison.differs_at - 1;
    const Vertex found = order[place];
    const Vertex wanted = ranking(graph, reference, order.size())[place];
    std::fprintf(out, "pagerank: rank %zu is %s (%.12e), serially it is %s (%.12e)\n", place + 1,
                 graph.names[found].c_str(), scores[found], graph.names[wanted].c_str(), reference[wanted]);
  }
}

}  // namespace pagerank

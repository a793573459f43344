// SPDX-License-Identifier: Apache-2.0
// PageRank over the Debian package-dependency graph, or over an edge list. See docs/pagerank.md.
#include <shmem.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>

#include "distribute.hpp"
#include "edge_list.hpp"
#include "errors.hpp"
#include "exchange.hpp"
#include "iterate.hpp"
#include "options.hpp"
#include "package_list.hpp"
#include "report.hpp"
#include "results.hpp"
#include "serial.hpp"

namespace {

using namespace pagerank;

enum ExitStatus { kOk = 0, kFailed = 1, kUsage = 2 };

class Timer final {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Input {
  Graph graph;
  InputSummary summary;
};

Input read_input(const Options& options) {
  const Timer timer;
  Input input;
  if (!options.graph.empty()) {
    input.graph = read_edge_list(options.graph);
    input.summary.source = options.graph;
  } else {
    PackageGraph packages = options.packages.empty() ? read_system_packages(options.recommends)
                                                     : read_package_list(options.packages, options.recommends);
    input.graph = std::move(packages.graph);
    input.summary.source = packages.source;
    input.summary.vertex = "package";
    input.summary.vertices = "packages";
    input.summary.edges = "dependencies";
    input.summary.note = std::to_string(packages.paragraphs) + " paragraphs read; " +
                         std::to_string(packages.unresolved) + " dependencies on names that no package has or provides";
    if (packages.skipped != 0) {
      input.summary.warning =
          std::to_string(packages.skipped) + " relations left out, the first: " + packages.first_skipped;
    }
  }
  input.summary.seconds = timer.seconds();
  return input;
}

/// On PE 0; its errors are told here, the other PEs hear of them through distribute().
std::optional<Input> try_read_input(const Options& options) {
  try {
    Input input = read_input(options);
    print_input(input.summary, input.graph);
    return input;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "pagerank: not enough memory on PE 0 to read the graph\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pagerank: %s\n", error.what());
  }
  return std::nullopt;
}

/// The check and all tables, on PE 0.
ExitStatus conclude(const Input& input, const Options& options, const Iteration& iteration, const Results& results,
                    double set_up_seconds) {
  const auto order = ranking(input.graph, results.scores, static_cast<std::size_t>(options.top));
  print_table(input.summary, input.graph, results.scores, order);
  print_partition(results);
  print_times(input.summary, results, set_up_seconds, iteration.seconds);
  if (options.verbose) print_pes(results);

  const Timer timer;
  const auto reference = serial_scores(input.graph, options.damping, iteration.steps);
  const double serial_seconds = timer.seconds();
  const Comparison comparison = compare(input.graph, results.scores, order, reference);
  print_check(input.graph, results.scores, order, reference, comparison, serial_seconds);
  return comparison.passed() ? kOk : kFailed;
}

/// What PE 0 says, on all PEs.
ExitStatus agree(ExitStatus status) {
  SymmetricArray<int> words(2);
  words[0] = status;
  shmem_int_broadcast(SHMEM_TEAM_WORLD, &words[1], &words[0], 1, 0);
  return static_cast<ExitStatus>(words[1]);
}

ExitStatus rank(const Options& options) {
  const bool first = shmem_my_pe() == 0;
  std::optional<Input> input;
  if (first) input = try_read_input(options);

  const Timer set_up;
  const std::unique_ptr<Part> part = distribute(input ? &input->graph : nullptr);
  if (!part) return kFailed;
  Exchange exchange(*part);
  const double set_up_seconds = set_up.seconds();

  ProgressLine progress(part->edges, options.iterations);
  const Iteration iteration = iterate(*part, exchange, options, [&](const Progress& state) {
    if (first) progress.show(state);
  });
  if (first) progress.finish(iteration, options.tolerance);

  const Results results = gather(*part, exchange, iteration);
  return agree(first ? conclude(*input, options, iteration, results, set_up_seconds) : kOk);
}

ExitStatus run(int argc, char** argv) {
  const bool first = shmem_my_pe() == 0;
  try {
    const Options options = parse_options(argc, argv);
    if (!options.help) return rank(options);
    if (first) std::fputs(usage(), stdout);
    return kOk;
  } catch (const UsageError& error) {
    if (first) std::fprintf(stderr, "pagerank: %s\nTry `%s --help`.\n", error.what(), argv[0]);
    return kUsage;
  } catch (const AgreedError& error) {
    if (first) std::fprintf(stderr, "pagerank: %s\n", error.what());
    return kFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  int status = kFailed;
  try {
    status = run(argc, argv);
  } catch (const std::exception& error) {
    // This PE alone failed (memory ran out): the others wait for it, so it ends them.
    std::fprintf(stderr, "pagerank: PE %d: %s\n", shmem_my_pe(), error.what());
    shmem_global_exit(kFailed);
  }
  shmem_finalize();
  return status;
}

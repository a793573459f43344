// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "result.hpp"
#include "tests.hpp"
#include "world.hpp"

namespace shoal::perf {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

bool has_group(const std::vector<Test>& tests, const std::string& group) {
  return std::any_of(tests.begin(), tests.end(), [&](const Test& test) { return group == test.group; });
}

/// Bytes of buffers that all PEs together may have: a quarter of the machine's memory.
double memory_budget() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 4;
}

/// Whether two buffers on each PE fit.
bool fits(const Test& test, std::size_t size, int n, std::size_t stride) {
  return 2.0 * static_cast<double>(n) * static_cast<double>(space_of(test, size, n, stride)) <= memory_budget();
}

/// What tests that are not by size get by with; also threads' words.
constexpr std::size_t kLeast = 256u << 10;

std::size_t capacity_needed(const Options& options, const std::vector<Test>& tests, int n) {
  std::size_t most = kLeast;
  for (const Test& test : tests) {
    if (test.by != By::bytes) continue;
    for (const std::size_t size : chosen_sizes(options))
      if (fits(test, size, n, options.stride)) most = std::max(most, space_of(test, size, n, options.stride));
  }
  return most + 128;  // elements of a size that is no multiple of theirs
}

Runner::Plan plan_of(const Options& options) {
  const int samples = options.samples != 0 ? options.samples : options.quick ? 15 : 21;
  const double sample_s = (options.sample_ms != 0 ? options.sample_ms : options.quick ? 1 : 3) / 1e3;
  return {samples, sample_s, std::max(sample_s * samples * 2, options.quick ? 0.03 : 0.3)};
}

std::vector<std::size_t> thread_counts(const Options& options, int cpus) {
  const int most = options.threads != 0 ? options.threads : std::clamp(cpus, 2, 4);
  std::vector<std::size_t> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(static_cast<std::size_t>(count));
  counts.push_back(static_cast<std::size_t>(most));
  return counts;
}

Facts option_facts(const Options& options, const Runner::Plan& plan, int thread_level) {
  const char* const levels[] = {"single", "funneled", "serialized", "multiple"};
  std::string sizes;
  for (const std::size_t size : chosen_sizes(options)) sizes.append(sizes.empty() ? "" : ",").append(size_text(size));
  char ms[32];
  std::snprintf(ms, sizeof ms, "%g", plan.sample_s * 1e3);
  return {{"mode", options.quick ? "quick" : "full"},
          {"sizes", sizes},
          {"samples", std::to_string(plan.samples)},
          {"sample ms", ms},
          {"type", options.type},
          {"op", options.op},
          {"stride", std::to_string(options.stride)},
          {"table", std::to_string(options.table)},
          {"pin", options.pin ? "core" : "none"},
          {"thread level", levels[std::clamp(thread_level, 0, 3)]}};
}

class Session {
 public:
  Session(const Options& options, const std::vector<Test>& tests, World& world)
      : options_(options), tests_(tests), world_(world), plan_(plan_of(options)), runner_(world, plan_) {}

  Results run() {
    Results results;
    results.npes = world_.n;
    results.date = utc_now();
    results.machine = machine_facts(world_.cpus);
    results.build = build_facts();
    results.options = option_facts(options_, plan_, world_.thread_level);
    results.environment = environment_facts();
    if (world_.me == 0) table_.open(results);
    for (std::size_t i = 0; i < tests_.size(); ++i) run_test(tests_[i], i, results);
    if (world_.me == 0) table_.close(results);
    return results;
  }

 private:
  void run_test(const Test& test, std::size_t index, Results& results) {
    if (world_.n < test.least_pes) {
      results.skipped.push_back({test.name, "needs " + std::to_string(test.least_pes) + " PEs"});
      return;
    }
    for (const std::size_t size : turns(test)) {
      if (test.by == By::bytes && !fits(test, size, world_.n, options_.stride)) {
        results.skipped.push_back(
            {test.name,
             size_text(size) + " and more: the buffers of all PEs would take over a quarter of the machine's memory"});
        return;
      }
      if (world_.me == 0) table_.progress(index + 1, tests_.size(), label(test, size));
      shmem_barrier_all();
      const Case what = test.make(world_, size);
      Figure figure{test, 0, 0, what.bytes, what.operations, runner_.measure(test.who, what)};
      if (test.by == By::bytes) figure.bytes = size;
      if (test.by == By::threads) figure.threads = size;
      if (world_.me != 0) continue;
      table_.row(figure);
      results.figures.push_back(std::move(figure));
    }
  }

  std::vector<std::size_t> turns(const Test& test) const {
    switch (test.by) {
      case By::once: return {8};
      case By::bytes: return chosen_sizes(options_);
      case By::threads: return thread_counts(options_, world_.cpus);
    }
    return {};
  }

  static std::string label(const Test& test, std::size_t size) {
    if (test.by == By::bytes) return std::string(test.name) + " " + size_text(size);
    if (test.by == By::threads) return std::string(test.name) + " " + std::to_string(size) + " threads";
    return test.name;
  }

  const Options& options_;
  const std::vector<Test>& tests_;
  World& world_;
  const Runner::Plan plan_;
  Runner runner_;
  TextTable table_;
};

/// Opened before anything is measured: a name that cannot be written is better known early.
File open_file(const std::string& name) {
  if (name.empty()) return nullptr;
  File file(std::fopen(name.c_str(), "w"));
  if (file == nullptr) throw Usage("shoal-perf: cannot write " + name + ": " + std::strerror(errno));
  return file;
}

std::size_t table_bytes(const Options& options, const std::vector<Test>& tests) {
  return has_group(tests, "gups") ? options.table : 0;
}

}  // namespace

std::size_t heap_needed(const Options& options, int npes) {
  const std::vector<Test> tests = chosen_tests(options);
  return 2 * capacity_needed(options, tests, npes) + table_bytes(options, tests) + (16u << 20);
}

int run_as_pe(const Options& options) {
  const std::vector<Test> tests = chosen_tests(options);
  const char* pes = std::getenv("SHOAL_NPES");
  const int n = pes == nullptr ? 1 : std::max(std::atoi(pes), 1);
  World world(options, has_group(tests, "threads"), capacity_needed(options, tests, n), table_bytes(options, tests));
  try {
    File csv = world.me == 0 ? open_file(options.csv) : nullptr;
    File json = world.me == 0 ? open_file(options.json) : nullptr;
    const Results results = Session(options, tests, world).run();
    if (csv != nullptr) write_csv(results, csv.get(), options.csv);
    if (json != nullptr) write_json(results, json.get(), options.json);
  } catch (const Usage& error) {
    std::fprintf(stderr, "%s\n", error.what());
    shmem_global_exit(1);
  }
  return 0;
}

}  // namespace shoal::perf

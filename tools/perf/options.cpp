// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

namespace shoal::perf {

const char* const kHelp =
    R"(Measures what each OpenSHMEM operation costs here, beside what the same machine can do at best.

usage: shoal-perf [options] [tests...]            measure
       shoal-perf report FILE.json... -o out.html  draw results as one HTML page
       shoal-perf compare [options]               the same program under Shoal, Open MPI's OpenSHMEM, and MPI

It starts itself as a job of PEs under the shoalrun beside it. A test is a name, a group, or a pattern such as 'atomic-*';
none means all. Every figure is a median of samples with its quartiles; "x limit" is how many times as long the operation takes
as the plainest code that does the same through pointers into the other PE's memory, measured sample by sample in turn with it.

  -n N                  PEs (default 2)
  --quick               few sizes and short samples: all tests in well under 20 s on an idle machine
  --sizes LIST          sizes in bytes, such as 8,4k,1m (k, m, g: powers of 1024)
  --min SIZE, --max SIZE  every power of two from one to the other (default 8 to 4m)
  --samples N           samples a figure (default 21; --quick: 15)
  --sample-time MS      least duration of a sample, in milliseconds (default 3; --quick: 1)
  --type T, --op OP     what reductions work on: float, double, int, long, half, bfloat16, ...; sum (default), prod, min, max,
                        and, or, xor
  --threads N           most threads of the threads group (default: one a processor, 2 to 4)
  --stride N            distance of the elements of strided tests, in elements (default 2)
  --table SIZE          table of the random-access test on each PE, a power of two (default 16m)
  --pin core|none       core (default): PE i stays on the i-th processor that it may use, modulo their number
  --csv FILE            write the figures as comma-separated values
  --json FILE           write everything: machine, build, options, and each figure with all its samples
  --list                print the tests, what each does and which PEs take part
  --names               print the names alone (for completion)
  --help, --version

Examples:  shoal-perf --quick
           shoal-perf put get --min 8 --max 1m --json rma.json && shoal-perf report rma.json -o rma.html
           shoal-perf -n 4 collectives --type double

shoal-perf report --help and shoal-perf compare --help tell more. All of it: docs/perf-tool.md.
)";

namespace {

[[noreturn]] void reject(const std::string& text) { throw Usage("shoal-perf: " + text + " (see shoal-perf --help)"); }

std::size_t parse_size(const std::string& option, const std::string& value) {
  char* end = nullptr;
  const unsigned long long number =
      value.empty() || value[0] < '0' || value[0] > '9' ? 0 : std::strtoull(value.c_str(), &end, 10);
  std::string unit = end == nullptr ? "" : end;
  if (unit.size() == 3 && (unit.substr(1) == "iB" || unit.substr(1) == "ib")) unit.resize(1);
  int shift = 0;
  bool known = unit.empty() || unit == "B" || unit == "b";
  for (int step = 0; step < 3; ++step)
    if (unit.size() == 1 && (unit[0] == "kmg"[step] || unit[0] == "KMG"[step])) {
      shift = 10 * (step + 1);
      known = true;
    }
  if (!known || number == 0 || number > (1ull << 40) >> shift)
    reject(option + " " + value + ": expected a size from 1 byte to 1 TiB, such as 8, 4k or 1m");
  return static_cast<std::size_t>(number) << shift;
}

int parse_int(const std::string& option, const std::string& value, int low, int high) {
  char* end = nullptr;
  const long number = std::strtol(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || number < low || number > high)
    reject(option + " " + value + ": expected a whole number from " + std::to_string(low) + " to " +
           std::to_string(high));
  return static_cast<int>(number);
}

double parse_ms(const std::string& option, const std::string& value) {
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !(number >= 0.01 && number <= 10000))
    reject(option + " " + value + ": expected milliseconds from 0.01 to 10000");
  return number;
}

void parse_list(Options& options, const std::string& value) {
  for (std::size_t start = 0; start <= value.size();) {
    const std::size_t comma = std::min(value.find(',', start), value.size());
    options.sizes.push_back(parse_size("--sizes", value.substr(start, comma - start)));
    start = comma + 1;
  }
  std::sort(options.sizes.begin(), options.sizes.end());
  options.sizes.erase(std::unique(options.sizes.begin(), options.sizes.end()), options.sizes.end());
}

struct Row {
  const char* name;
  bool takes_value;
  std::function<void(Options&, const std::string&)> apply;
};

std::string file_name(const std::string& option, const std::string& value) {
  if (value.empty()) reject(option + ": the file's name is empty");
  return value;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"-n", true,
       [](Options& o, const std::string& v) {
         o.npes = parse_int("-n", v, 1, 1 << 15);
         o.npes_given = true;
       }},
      {"--quick", false, [](Options& o, const std::string&) { o.quick = true; }},
      {"--sizes", true, [](Options& o, const std::string& v) { parse_list(o, v); }},
      {"--min", true, [](Options& o, const std::string& v) { o.min_size = parse_size("--min", v); }},
      {"--max", true, [](Options& o, const std::string& v) { o.max_size = parse_size("--max", v); }},
      {"--samples", true, [](Options& o, const std::string& v) { o.samples = parse_int("--samples", v, 3, 100000); }},
      {"--sample-time", true, [](Options& o, const std::string& v) { o.sample_ms = parse_ms("--sample-time", v); }},
      {"--type", true, [](Options& o, const std::string& v) { o.type = v; }},
      {"--op", true, [](Options& o, const std::string& v) { o.op = v; }},
      {"--threads", true, [](Options& o, const std::string& v) { o.threads = parse_int("--threads", v, 1, 256); }},
      {"--stride", true,
       [](Options& o, const std::string& v) { o.stride = static_cast<std::size_t>(parse_int("--stride", v, 1, 64)); }},
      {"--table", true, [](Options& o, const std::string& v) { o.table = parse_size("--table", v); }},
      {"--pin", true,
       [](Options& o, const std::string& v) {
         if (v != "core" && v != "none") reject("--pin " + v + ": expected core or none");
         o.pin = v == "core";
       }},
      {"--csv", true, [](Options& o, const std::string& v) { o.csv = file_name("--csv", v); }},
      {"--json", true, [](Options& o, const std::string& v) { o.json = file_name("--json", v); }},
      {"--list", false, [](Options& o, const std::string&) { o.list = true; }},
      {"--names", false, [](Options& o, const std::string&) { o.names = true; }},
      {"--help", false, [](Options& o, const std::string&) { o.help = true; }},
      {"-h", false, [](Options& o, const std::string&) { o.help = true; }},
      {"--version", false, [](Options& o, const std::string&) { o.version = true; }},
  };
  return table;
}

/// Splits "--name=value" and "-n4"; `has_value` says whether there was one.
const Row& find_row(const std::string& argument, std::string& value, bool& has_value) {
  for (const Row& row : rows()) {
    const std::string name = row.name;
    if (argument == name) return row;
    if (name.starts_with("--") && argument.starts_with(name + "=")) {
      if (!row.takes_value) reject(name + " takes no value, but " + argument + " was given");
      value = argument.substr(name.size() + 1);
      has_value = true;
      return row;
    }
  }
  if (argument.starts_with("-n") && argument.size() > 2) {
    value = argument.substr(2);
    has_value = true;
    return rows().front();
  }
  reject("unknown option " + argument);
}

void check(const Options& options) {
  if (!options.sizes.empty() && (options.min_size != 0 || options.max_size != 0))
    reject("--sizes cannot go with --min or --max: give the sizes, or a range");
  const std::vector<std::size_t> sizes = chosen_sizes(options);
  if (sizes.empty()) reject("--min " + size_text(options.min_size) + " leaves no size: it is above --max");
  if ((options.table & (options.table - 1)) != 0 || options.table < 4096)
    reject("--table: the size must be a power of two from 4k on");
}

}  // namespace

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  bool only_tests = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (only_tests || argument.empty() || argument[0] != '-') {
      options.tests.push_back(argument);
      continue;
    }
    if (argument == "--") {
      only_tests = true;
      continue;
    }
    std::string value;
    bool has_value = false;
    const Row& row = find_row(argument, value, has_value);
    if (row.takes_value && !has_value) {
      if (i + 1 == arguments.size()) reject(argument + " needs a value");
      value = arguments[++i];
    }
    row.apply(options, value);
  }
  check(options);
  return options;
}

std::vector<std::size_t> chosen_sizes(const Options& options) {
  if (!options.sizes.empty()) return options.sizes;
  if (options.quick && options.min_size == 0 && options.max_size == 0) return {8, 4096, 65536, 1u << 20};
  const std::size_t usual = options.max_size != 0 ? std::min<std::size_t>(8, options.max_size) : 8;
  const std::size_t low = options.min_size != 0 ? options.min_size : usual;
  const std::size_t high = options.max_size != 0 ? options.max_size : std::max<std::size_t>(4u << 20, low);
  std::vector<std::size_t> sizes;
  for (std::size_t size = low; size <= high; size *= 2) sizes.push_back(size);
  return sizes;
}

std::string size_text(std::size_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  while (unit < 3 && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + units[unit];
}

}  // namespace shoal::perf

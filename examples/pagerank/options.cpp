// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>

#include "errors.hpp"

namespace pagerank {

namespace {

/// The whole of `text` as a number within [low, high], or [low, high) where `open`.
template <class Number>
Number number(std::string_view option, std::string_view text, Number low, Number high, bool open,
              const char* expected) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(value >= low) || !(open ? value < high : value <= high)) {
    throw UsageError(std::string(option) + ": expected " + expected + ", found " + quoted(text));
  }
  return value;
}

/// Walks over the arguments; `--name value` and `--name=value` are the same.
class Arguments final {
 public:
  Arguments(int argc, const char* const* argv) : argc_(argc), argv_(argv) {}

  bool next() {
    if (++at_ >= argc_) return false;
    const std::string_view argument = argv_[at_];
    const std::size_t equals = argument.substr(0, 2) == "--" ? argument.find('=') : std::string_view::npos;
    has_inline_value_ = equals != std::string_view::npos;
    name_ = argument.substr(0, equals);
    value_ = has_inline_value_ ? argument.substr(equals + 1) : std::string_view();
    return true;
  }

  std::string_view name() const { return name_; }

  std::string_view value() {
    if (has_inline_value_) return value_;
    if (at_ + 1 >= argc_) throw UsageError(std::string(name_) + ": a value is missing after it");
    return argv_[++at_];
  }

  void no_value() const {
    if (has_inline_value_) throw UsageError(std::string(name_) + ": takes no value, found " + quoted(value_));
  }

 private:
  int argc_;
  const char* const* argv_;
  int at_ = 0;
  bool has_inline_value_ = false;
  std::string_view name_;
  std::string_view value_;
};

void set_file(std::string& file, std::string_view option, std::string_view value) {
  if (value.empty()) throw UsageError(std::string(option) + ": expected a file name, found an empty one");
  if (!file.empty()) throw UsageError(std::string(option) + ": a file was named before: " + quoted(file));
  file = value;
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  Options options;
  Arguments arguments(argc, argv);
  while (arguments.next()) {
    const std::string_view name = arguments.name();
    if (name == "--damping") {
      options.damping = number(name, arguments.value(), 0.0, 1.0, true, "a number from 0 to below 1");
    } else if (name == "--tolerance") {
      options.tolerance = number(name, arguments.value(), 0.0, 1.0, false, "a number from 0 to 1");
    } else if (name == "--iterations") {
      options.iterations =
          number<std::int64_t>(name, arguments.value(), 1, 1000000, false, "a whole number from 1 to 1000000");
    } else if (name == "--top") {
      options.top =
          number<std::int64_t>(name, arguments.value(), 0, 1000000000, false, "a whole number from 0 to 1000000000");
    } else if (name == "--graph") {
      set_file(options.graph, name, arguments.value());
    } else if (name == "--packages") {
      set_file(options.packages, name, arguments.value());
    } else if (name == "--recommends") {
      arguments.no_value();
      options.recommends = true;
    } else if (name == "--verbose" || name == "-v") {
      arguments.no_value();
      options.verbose = true;
    } else if (name == "--help" || name == "-h") {
      arguments.no_value();
      options.help = true;
    } else if (!name.empty() && name.front() == '-') {
      throw UsageError("unknown option " + quoted(name));
    } else {
      set_file(options.graph, "graph file", name);
    }
  }
  if (!options.graph.empty() && (!options.packages.empty() || options.recommends)) {
    throw UsageError("a graph file goes neither with --packages nor with --recommends: an edge list has no packages");
  }
  return options;
}

const char* usage() {
  return R"(usage: shoalrun -n PES pagerank [options] [FILE]

Ranks the packages of this machine's Debian package lists by PageRank: a package that many important packages depend
on is important. The graph is partitioned over the PEs, which exchange their contributions by one-sided operations only.
The result is compared with a serial run on PE 0; the exit status is 1 where they differ.

input (default: what `apt-cache dumpavail` prints, or /var/lib/dpkg/status where that is empty)
  FILE, --graph FILE   an edge list: one edge a line, "SOURCE DESTINATION"; # opens a comment
  --packages FILE      a package list in the format of /var/lib/dpkg/status
  --recommends         Recommends count as dependencies, too

computation
  --damping D          probability of following an edge, from 0 to below 1 (default 0.85)
  --tolerance T        end when a step changes the scores by no more than this, summed over all vertices
                       (default 1e-10)
  --iterations N       end after that many steps in any case (default 200)

output
  --top N              length of the table (default 20)
  --verbose, -v        also each PE's part of the graph and its times
  --help, -h           this text
)";
}

}  // namespace pagerank

// SPDX-License-Identifier: Apache-2.0
// All options, read once into an immutable value. options.def is the one list; help and documentation print from it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shoal {

struct Options {
  using any = bool;
  using flag = bool;
  using integer = std::int64_t;
  using size = std::uint64_t;
  using text = std::string;
#define SHOAL_OPTION(member, type, env, legacy, initial, help_text) type member;
#include "base/options.def"
#undef SHOAL_OPTION

  /// Gives a variable's value, or nullptr when it is not set.
  using Environment = std::function<const char*(const char* name)>;

  /// Reads every option. @throws Error{invalid_option} naming the variable, its value and what is accepted.
  static Options from(const Environment& environment);
};

/// The process's own environment, as an Options::Environment: the one place that reads it.
const char* process_environment(const char* name);

/// One row of `shoal-info` and of SHMEM_INFO's table.
struct OptionRow {
  std::string name, value, source, help;  ///< source: "default", or the name of the variable that set it
};
/// Rows in the order of options.def. Values that do not parse are shown as they are, marked invalid.
std::vector<OptionRow> describe_options(const Options::Environment& environment);

/// "1.5g" -> bytes. The whole text must be used. @throws Error{invalid_option}
std::uint64_t parse_size(const std::string& text, const std::string& name);
/// A whole decimal number, sign allowed, nothing after it. @throws Error{invalid_option}
std::int64_t parse_integer(const std::string& text, const std::string& name);

}  // namespace shoal

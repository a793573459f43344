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
  using choice = std::string;
#define SHOAL_OPTION(member, type, env, legacy, initial, help_text) type member;
#include "base/options.def"
#undef SHOAL_OPTION

  /// Gives a variable's value, or nullptr when it is not set.
  using Environment = std::function<const char*(const char* name)>;

  /// Reads every option. @throws Error{invalid_option} naming the variable, its value and what is accepted.
  static Options from(const Environment& environment);
  /// The value of the option `name` ("SHOAL_BARRIER") in one spelling. @throws Error{invalid_argument}: there is none
  std::string text_of(const std::string& name) const;
};

/// The process's own environment, as an Options::Environment: the one place that reads it.
const char* process_environment(const char* name);

/// One row of `shoal-info` and of SHMEM_INFO's table.
struct OptionRow {
  std::string name, value, source, help;  ///< source: "default", or the name of the variable that set it
};
/// Rows in the order of options.def. Values that do not parse are shown as they are, marked invalid.
std::vector<OptionRow> describe_options(const Options::Environment& environment);

/// Variables that are no options: by them a launcher tells a PE who it is, and which descriptors it has.
inline constexpr const char* kLauncherVariables[] = {"SHOAL_PE",        "SHOAL_NPES",    "SHOAL_STORE_FD",
                                                     "SHOAL_STATUS_FD", "SHOAL_LIFE_FD", "SHOAL_SECRET_FD"};
bool is_launcher_variable(const std::string& name) noexcept;

/// A variable that looks like an option and is none; `nearest` is the option that it may be meant for, or "".
struct UnknownVariable {
  std::string name, nearest;
};
/// Among `environment`, "NAME=VALUE" each, null at the end. Variables of the launcher, the tools and the tests are
/// known.
std::vector<UnknownVariable> find_unknown(const char* const* environment);
/// This process's.
const char* const* process_variables() noexcept;

/// "1.5g" -> bytes, at least 1. The whole text must be used. @throws Error{invalid_option}
std::uint64_t parse_size(const std::string& text, const std::string& name);
/// A whole decimal number, sign allowed, nothing after it. @throws Error{invalid_option}
std::int64_t parse_integer(const std::string& text, const std::string& name);
/// @throws Error{invalid_option} unless least <= value <= most
void check_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most);

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "base/options.hpp"

#include <strings.h>

#include <cctype>
#include <charconv>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"

namespace shoal {
namespace {

[[noreturn]] void reject(const std::string& name, const std::string& text, const char* accepted) {
  throw Error(Code::invalid_option, strf("%s=\"%s\" is not valid: expected %s", name.c_str(), text.c_str(), accepted));
}

bool parse_flag(const std::string& text, const std::string& name) {
  for (const char* yes : {"1", "y", "yes", "on", "true"})
    if (strcasecmp(text.c_str(), yes) == 0) return true;
  for (const char* no : {"0", "n", "no", "off", "false"})
    if (strcasecmp(text.c_str(), no) == 0) return false;
  reject(name, text, "0 or 1 (or no, yes, off, on, false, true)");
}

// One reader a type of options.def; `set` tells whether the variable is present at all.
bool read_any(const std::string&, const std::string&, bool set) { return set; }
bool read_flag(const std::string& t, const std::string& n, bool) { return parse_flag(t, n); }
std::int64_t read_integer(const std::string& t, const std::string& n, bool) { return parse_integer(t, n); }
std::uint64_t read_size(const std::string& t, const std::string& n, bool) { return parse_size(t, n); }
std::string read_text(const std::string& t, const std::string&, bool) { return t; }

struct Found {
  std::string name, value;
  bool set;
};

/// The specification's name wins over the older one; an empty value counts as not set, save for options of type any.
Found find(const Options::Environment& environment, const char* name, const char* legacy, const char* fallback,
           bool empty_counts) {
  for (const char* variable : {name, legacy}) {
    if (*variable == '\0') continue;
    const char* value = environment(variable);
    if (value != nullptr && (empty_counts || *value != '\0')) return {variable, value, true};
  }
  return {name, fallback, false};
}

}  // namespace

std::uint64_t parse_size(const std::string& text, const std::string& name) {
  static constexpr const char* kAccepted = "a positive number of bytes with an optional suffix k, m, g or t, such as 512m or 1.5g";
  if (text.empty() || !(std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '.')) reject(name, text, kAccepted);
  if (text.find_first_of("xXeEpPnNiI") != std::string::npos) reject(name, text, kAccepted);
  long double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);  // whatever the locale
  if (error != std::errc{}) reject(name, text, kAccepted);
  if (*end != '\0') {
    static constexpr char kSuffixes[] = "kmgt";
    const char* suffix = std::strchr(kSuffixes, std::tolower(static_cast<unsigned char>(*end)));
    if (suffix == nullptr || end[1] != '\0') reject(name, text, kAccepted);
    number = std::ldexp(number, 10 * static_cast<int>(suffix - kSuffixes + 1));
  }
  if (number < 1 || number > 0x1p62L) reject(name, text, kAccepted);
  return static_cast<std::uint64_t>(number);
}

std::int64_t parse_integer(const std::string& text, const std::string& name) {
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0])) || *end != '\0' || errno != 0)
    reject(name, text, "a whole number");
  return number;
}

Options Options::from(const Environment& environment) {
  Options options;
#define SHOAL_OPTION(member, type, env, legacy, initial, help_text)                              \
  {                                                                                       \
    const Found found = find(environment, env, legacy, initial, #type == std::string("any")); \
    options.member = read_##type(found.value, found.name, found.set);                     \
  }
#include "base/options.def"
#undef SHOAL_OPTION
  return options;
}

const char* process_environment(const char* name) { return std::getenv(name); }

std::vector<OptionRow> describe_options(const Options::Environment& environment) {
  std::vector<OptionRow> rows;
#define SHOAL_OPTION(member, type, env, legacy, initial, help_text)                                \
  {                                                                                         \
    const Found found = find(environment, env, legacy, initial, #type == std::string("any")); \
    OptionRow row{env, found.value, found.set ? found.name : "default", help_text};              \
    try {                                                                                   \
      read_##type(found.value, found.name, found.set);                                      \
    } catch (const Error&) {                                                                \
      row.value += " (invalid)";                                                            \
    }                                                                                       \
    rows.push_back(std::move(row));                                                         \
  }
#include "base/options.def"
#undef SHOAL_OPTION
  return rows;
}

}  // namespace shoal

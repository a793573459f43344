// SPDX-License-Identifier: Apache-2.0
#include "base/options.hpp"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <span>
#include <sstream>

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
bool read_any(const std::string&, const std::string&, bool set, const char*) { return set; }
bool read_flag(const std::string& t, const std::string& n, bool, const char*) { return parse_flag(t, n); }
std::int64_t read_integer(const std::string& t, const std::string& n, bool, const char*) { return parse_integer(t, n); }
std::uint64_t read_size(const std::string& t, const std::string& n, bool, const char*) { return parse_size(t, n); }
std::string read_text(const std::string& t, const std::string&, bool, const char*) { return t; }
/// One of the words that the help lists behind its colon.
std::string read_choice(const std::string& t, const std::string& n, bool, const char* help) {
  const char* list = std::strrchr(help, ':') + 2;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');)
    if (word.substr(word.find_first_not_of(' ')) == t) return t;
  reject(n, t, ("one of " + std::string(list)).c_str());
}

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

// Variables of the tools and of the environment script.
constexpr const char* kToolVariables[] = {"SHOAL_ROOT", "SHOAL_CC", "SHOAL_CXX"};

bool is_one_of(std::span<const char* const> list, const std::string& name) noexcept {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string to_text(bool value) { return value ? "1" : "0"; }
std::string to_text(std::int64_t value) { return std::to_string(value); }
std::string to_text(std::uint64_t value) { return std::to_string(value); }
std::string to_text(const std::string& value) { return value; }

std::vector<std::string> option_names() {
  std::vector<std::string> names;
#define SHOAL_OPTION(member, type, env, legacy, initial, help_text) \
  names.emplace_back(env);                                          \
  if (*legacy != '\0') names.emplace_back(legacy);
#include "base/options.def"
#undef SHOAL_OPTION
  return names;
}

/// How many letters must be changed, put in or left out.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (std::toupper(a[i - 1]) == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<UnknownVariable> find_unknown(const char* const* environment) {
  constexpr std::size_t kLikeness = 2;
  const std::vector<std::string> options = option_names();
  std::vector<UnknownVariable> found;
  for (; *environment != nullptr; ++environment) {
    const std::string name = std::string(*environment).substr(0, std::string(*environment).find('='));
    const auto begins = [&](const char* prefix) { return strncasecmp(name.c_str(), prefix, std::strlen(prefix)) == 0; };
    if (!begins("SHOAL_") && !begins("SHMEM_") && !begins("SMA_")) continue;
    if (begins("SHOAL_TEST_") || is_one_of(kToolVariables, name) || is_launcher_variable(name)) continue;
    if (std::find(options.begin(), options.end(), name) != options.end()) continue;
    UnknownVariable unknown{name, ""};
    std::size_t least = kLikeness + 1;
    for (const std::string& option : options)
      if (const std::size_t d = distance(name, option); d < least) {
        least = d;
        unknown.nearest = option;
      }
    found.push_back(std::move(unknown));
  }
  return found;
}

bool is_launcher_variable(const std::string& name) noexcept { return is_one_of(kLauncherVariables, name); }

const char* const* process_variables() noexcept { return environ; }

std::uint64_t parse_size(const std::string& text, const std::string& name) {
  static constexpr const char* kAccepted =
      "a number of bytes with an optional suffix k, m, g or t, such as 512m or 1.5g";
  if (text.empty() || !(std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '.'))
    reject(name, text, kAccepted);
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
  if (number > 0x1p62L) reject(name, text, kAccepted);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(number));
}

std::int64_t parse_integer(const std::string& text, const std::string& name) {
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0])) || *end != '\0' || errno != 0)
    reject(name, text, "a whole number");
  return number;
}

void check_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    throw Error(Code::invalid_option,
                strf("%s=\"%lld\" is not valid: expected a number from %lld to %lld", name,
                     static_cast<long long>(value), static_cast<long long>(least), static_cast<long long>(most)));
}

Options Options::from(const Environment& environment) {
  Options options;
#define SHOAL_OPTION(member, type, env, legacy, initial, help_text)                           \
  {                                                                                           \
    const Found found = find(environment, env, legacy, initial, #type == std::string("any")); \
    options.member = read_##type(found.value, found.name, found.set, help_text);              \
  }
#include "base/options.def"
#undef SHOAL_OPTION
  return options;
}

std::string Options::text_of(const std::string& name) const {
#define SHOAL_OPTION(member, type, env, legacy, initial, help_text) \
  if (name == env) return to_text(member);
#include "base/options.def"
#undef SHOAL_OPTION
  throw Error(Code::invalid_argument, "there is no option " + name);
}

const char* process_environment(const char* name) { return std::getenv(name); }

std::vector<OptionRow> describe_options(const Options::Environment& environment) {
  std::vector<OptionRow> rows;
#define SHOAL_OPTION(member, type, env, legacy, initial, help_text)                           \
  {                                                                                           \
    const Found found = find(environment, env, legacy, initial, #type == std::string("any")); \
    OptionRow row{env, found.value, found.set ? found.name : "default", help_text};           \
    try {                                                                                     \
      read_##type(found.value, found.name, found.set, help_text);                             \
    } catch (const Error&) {                                                                  \
      row.value += " (invalid)";                                                              \
    }                                                                                         \
    rows.push_back(std::move(row));                                                           \
  }
#include "base/options.def"
#undef SHOAL_OPTION
  return rows;
}

}  // namespace shoal

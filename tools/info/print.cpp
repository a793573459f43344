// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <cmath>
#include <cstdio>

#include "base/error.hpp"
#include "base/json.hpp"
#include "report.hpp"

namespace shoal::info {
namespace {

std::string number(double value) { return strf(value == std::floor(value) ? "%.0f" : "%.6g", value); }

std::string json_of(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* amount = std::get_if<double>(&value)) return number(*amount);
  if (const auto* text = std::get_if<std::string>(&value)) return json_string(*text);
  return "null";
}

std::string text_of(const Row& row) {
  if (!row.shown.empty()) return row.shown;
  if (const auto* text = std::get_if<std::string>(&row.value)) return *text;
  return json_of(row.value);
}

std::string spaced(std::string key) {
  for (char& c : key)
    if (c == '_') c = ' ';
  return key;
}

std::string titled(std::string name) {
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return spaced(name);
}

void print_options(const Report& report) {
  std::printf("Options\n");
  for (const OptionState& option : report.options) {
    std::printf("  %-27s %-12s %s%s\n", option.name.c_str(), option.value.empty() ? "-" : option.value.c_str(),
                option.source == "default" ? "default" : ("from " + option.source).c_str(),
                option.problem.empty() ? "" : "  INVALID");
    std::printf("  %-27s   %s\n", "", option.help.c_str());
  }
}

}  // namespace

void print_text(const Report& report, bool only_options) {
  if (!only_options) {
    for (const Section& section : report.sections) {
      std::printf("%s\n", titled(section.name).c_str());
      for (const Row& row : section.rows) std::printf("  %-24s %s\n", spaced(row.key).c_str(), text_of(row).c_str());
      std::printf("\n");
    }
  }
  print_options(report);
  if (report.warnings.empty()) return;
  std::printf("\nWarnings\n");
  for (const std::string& warning : report.warnings) std::printf("  %s\n", warning.c_str());
}

void print_json(const Report& report, bool only_options) {
  std::printf("{\n");
  if (!only_options) {
    for (const Section& section : report.sections) {
      std::printf("  %s: {", json_string(section.name).c_str());
      const char* comma = "";
      for (const Row& row : section.rows) {
        std::printf("%s\n    %s: %s", comma, json_string(row.key).c_str(), json_of(row.value).c_str());
        comma = ",";
      }
      std::printf("\n  },\n");
    }
  }
  std::printf("  \"options\": [");
  const char* comma = "";
  for (const OptionState& option : report.options) {
    std::printf("%s\n    {\"name\": %s, \"value\": %s, \"source\": %s, \"valid\": %s, \"help\": %s}", comma,
                json_string(option.name).c_str(), json_string(option.value).c_str(), json_string(option.source).c_str(),
                option.problem.empty() ? "true" : "false", json_string(option.help).c_str());
    comma = ",";
  }
  std::printf("\n  ],\n  \"warnings\": [");
  comma = "";
  for (const std::string& warning : report.warnings) {
    std::printf("%s\n    %s", comma, json_string(warning).c_str());
    comma = ",";
  }
  std::printf("%s]\n}\n", report.warnings.empty() ? "" : "\n  ");
}

}  // namespace shoal::info

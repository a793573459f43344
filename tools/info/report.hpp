// SPDX-License-Identifier: Apache-2.0
// What shoal-info knows, as plain rows; text and JSON print from the same rows.
#pragma once
#include <string>
#include <variant>
#include <vector>

namespace shoal::info {

/// A JSON scalar; monostate is null: not known, or no limit.
using Value = std::variant<std::monostate, bool, double, std::string>;

struct Row {
  std::string key;  ///< name in the JSON, and with spaces for underscores in the text
  Value value;
  std::string shown;  ///< the text's form of the value where that differs, such as "1.0 GiB"
};

struct Section {
  std::string name;
  std::vector<Row> rows;
};

struct OptionState {
  std::string name, value, source, help;
  std::string problem;  ///< why the value is refused, "" when it is not
};

struct Report {
  std::vector<Section> sections;
  std::vector<OptionState> options;
  std::vector<std::string> warnings;  ///< things that will surprise the user, each with what to do
};

/// Looks at this process's environment and machine.
Report make_report();

void print_text(const Report& report, bool only_options);
void print_json(const Report& report, bool only_options);

}  // namespace shoal::info

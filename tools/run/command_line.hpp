// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace shoal::run {

/// Exit statuses of shoalrun itself; otherwise it passes on what the program gave.
inline constexpr int kUsage = 2, kTimedOut = 3, kCannotExecute = 126, kNotFound = 127;

struct Settings {
  int npes = 0;
  bool bind_core = false;
  bool tag_output = false;
  bool verbose = false;
  double timeout_s = 0;  ///< 0: none
  std::string wdir;      ///< "": where shoalrun was started
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> program;  ///< and its arguments
  std::string show;                  ///< what --help or --version asks to print; then nothing runs
};

/// @throws Error{invalid_argument} with one line that says what is wrong and what is right
Settings parse_command_line(const std::vector<std::string>& arguments);

}  // namespace shoal::run

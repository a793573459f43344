// SPDX-License-Identifier: Apache-2.0
// Lines for people, on stderr. One write(2) a line, so that lines of several PEs never mix.
#pragma once
#include <cstdarg>
#include <string>

namespace shoal {

enum class LogLevel { error, warning, info, debug };

/// A value: the level and the PE that speaks (-1: not known yet). Thread safe.
class Log final {
 public:
  explicit Log(LogLevel level = LogLevel::warning, int pe = -1) : level_(level), pe_(pe) {}
  bool enabled(LogLevel level) const { return level <= level_; }
  void error(const char* format, ...) const __attribute__((format(printf, 2, 3)));
  void warning(const char* format, ...) const __attribute__((format(printf, 2, 3)));
  void info(const char* format, ...) const __attribute__((format(printf, 2, 3)));
  void debug(const char* format, ...) const __attribute__((format(printf, 2, 3)));

 private:
  void write(LogLevel level, const char* format, va_list args) const;
  LogLevel level_;
  int pe_;
};

/// "shoal: PE 3: text"; "shoal: text" for pe < 0.
std::string spoken_by(int pe, const std::string& text);
/// Writes "text\n" to stderr in one system call.
void print_raw_line(const std::string& text);
/// The same, spoken by `pe`.
void print_line(int pe, const std::string& text);

}  // namespace shoal

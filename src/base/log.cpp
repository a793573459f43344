// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <unistd.h>

#include "base/error.hpp"

namespace shoal {

std::string spoken_by(int pe, const std::string& text) {
  return (pe < 0 ? "shoal: " : strf("shoal: PE %d: ", pe)) + text;
}

void print_line(int pe, const std::string& text) { print_raw_line(spoken_by(pe, text)); }

void print_raw_line(const std::string& text) {
  const std::string line = text + "\n";
  // A closed or full stderr must not turn a message into a second failure.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void Log::write(LogLevel level, const char* format, va_list args) const {
  static constexpr const char* kPrefix[] = {"error: ", "warning: ", "", "debug: "};
  if (enabled(level)) print_line(pe_, kPrefix[static_cast<int>(level)] + vstrf(format, args));
}

#define SHOAL_LOG_METHOD(level)                    \
  void Log::level(const char* format, ...) const { \
    va_list args;                                  \
    va_start(args, format);                        \
    write(LogLevel::level, format, args);          \
    va_end(args);                                  \
  }
SHOAL_LOG_METHOD(error)
SHOAL_LOG_METHOD(warning)
SHOAL_LOG_METHOD(info)
SHOAL_LOG_METHOD(debug)
#undef SHOAL_LOG_METHOD

}  // namespace shoal

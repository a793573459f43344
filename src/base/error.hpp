// SPDX-License-Identifier: Apache-2.0
// Errors of set-up and control paths. Data paths never throw.
#pragma once
#include <cstdarg>
#include <exception>
#include <string>

namespace shoal {

enum class Code : int {
  invalid_argument = 1,  ///< the caller passed something that cannot be served
  invalid_option,        ///< an environment variable or command-line option does not parse
  out_of_memory,         ///< a limit of memory, address space or descriptors
  not_initialized,       ///< before init or after finalize
  launcher,              ///< nobody answers, or the launcher went away
  peer,                  ///< another PE failed or disagrees
  system,                ///< a system call failed; the text has its name and errno
  unsupported,           ///< this machine or build cannot do it
  security,              ///< credentials that cannot be used, or another side that has none
};

/// Formats like printf. @throws std::bad_alloc
std::string strf(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string vstrf(const char* format, va_list args) __attribute__((format(printf, 1, 0)));

/// Says what was wrong, where, and what to do; the text is complete, whoever catches it adds only its own name.
class Error final : public std::exception {
 public:
  explicit Error(Code code, std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : code_(code), what_(std::move(what)), file_(file), line_(line) {}
  const char* what() const noexcept override { return what_.c_str(); }
  Code code() const noexcept { return code_; }
  const char* file() const noexcept { return file_; }
  int line() const noexcept { return line_; }

 private:
  Code code_;
  std::string what_;
  const char* file_;
  int line_;
};

/// Throws Error{Code::system} with ": <strerror(errno)>" appended to `what`, and what to do where it is a limit.
[[noreturn]] void throw_errno(const std::string& what);

}  // namespace shoal

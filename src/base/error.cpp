// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace shoal {

std::string vstrf(const char* format, va_list args) {
  va_list again;
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length <= 0) return {};
  std::string text(static_cast<size_t>(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, args);
  return text;
}

std::string strf(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::string text = vstrf(format, args);
  va_end(args);
  return text;
}

namespace {

/// What helps against a limit; "" against anything else.
const char* remedy_for(int error) {
  switch (error) {
    case EMFILE: return "; raise this process's limit of open files (ulimit -n)";
    case ENFILE: return "; the whole system has too many open files: close some, or raise fs.file-max";
    case EAGAIN: return "; the limit of processes and threads (ulimit -u), or of the control group, may be too low";
    case ENOMEM: return "; raise this process's limits of memory (ulimit -v, -d), or let it use less";
    case ENOSPC: return "; free some of that space";
    default: return "";
  }
}

}  // namespace

void throw_errno(const std::string& what) {
  const int code = errno;
  throw Error(Code::system, what + ": " + std::strerror(code) + remedy_for(code));
}

}  // namespace shoal

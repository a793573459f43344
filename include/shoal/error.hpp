// SPDX-License-Identifier: Apache-2.0
/// \file
/// Exceptions of the native C++ interface. Where the C interface returns a code, this one throws; what ends the job
/// there (a PE out of range, an address that isn't symmetric) ends it here as well, with the same line.
#pragma once

#include <shmem.h>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>

namespace shoal::inline v1 {

/// A call that the library refused. Thrown on all PEs of a collective call alike, unless said otherwise.
class Error : public std::runtime_error {
 public:
  Error(const std::string& what, int code) : std::runtime_error(what), code_(code) {}
  /// What the C routine returned; never 0.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// The symmetric heap, or a further heap, has no room for an object. Thrown on all PEs alike; the heap stays usable.
class HeapExhausted : public std::bad_alloc {
 public:
  explicit HeapExhausted(std::size_t bytes)
      : text_("shoal: no room for " + std::to_string(bytes) +
              " bytes in the symmetric heap; SHMEM_SYMMETRIC_SIZE makes the default heap larger") {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

namespace detail {

inline void check(int code, const char* call, const char* remedy) {
  if (code != 0) throw Error(std::string("shoal: ") + call + " failed: " + remedy, code);
}

[[noreturn]] inline void throw_size(const char* call, const char* rule, std::size_t got, std::size_t wanted) {
  throw std::invalid_argument(std::string("shoal: ") + call + ": " + rule + " (" + std::to_string(got) + " against " +
                              std::to_string(wanted) + " elements)");
}

[[noreturn]] inline void throw_range(const char* call, std::size_t offset, std::size_t count, std::size_t size) {
  throw std::out_of_range(std::string("shoal: ") + call + ": elements [" + std::to_string(offset) + ", +" +
                          std::to_string(count) + ") are not all in an array of " + std::to_string(size));
}

/// Between the first start and the last finalize.
[[nodiscard]] inline bool library_runs() noexcept {
  int initialized = 0;
  shmem_query_initialized(&initialized);
  return initialized != 0;
}

}  // namespace detail
}  // namespace shoal::inline v1

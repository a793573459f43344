// SPDX-License-Identifier: Apache-2.0
// Whose code is at an address: this library's, that of C++ headers which the program was compiled with, Shoal's and the
// standard library's, or the C library's. What is none of these is the program's own.
#pragma once
#include <link.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shoal {

/// Addresses from `begin` up to `end`.
struct CodeRange {
  std::uintptr_t begin = 0, end = 0;
  bool holds(std::uintptr_t address) const noexcept { return address >= begin && address < end; }
  bool operator==(const CodeRange&) const = default;
};

/// What is loaded at one time. Immutable.
class OwnCode final {
 public:
  /// How often this process has loaded and unloaded something.
  struct Loads {
    unsigned long long adds = 0, subs = 0;
    bool operator==(const Loads&) const = default;
  };
  /// A loaded file.
  struct Module {
    std::string name;  ///< its path; "": the program
    std::uintptr_t base;
    CodeRange range;
    /// The functions of such headers in it, sorted and apart from each other. Shared: what is loaded at another time
    /// has most of its files in common with this.
    std::shared_ptr<const std::vector<CodeRange>> headers = nullptr;
  };

  /// What is loaded now. The first call reads the symbols of all that is, later ones those of what has come since.
  /// Shared: while one thread looks at it, another may load more. Thread safe. Of the loader's locks it takes only the
  /// one that no constructor of a library runs under: dladdr and the like would wait until those that run have ended.
  static std::shared_ptr<const OwnCode> now();

  /// Of this library, or, where it is linked statically, of what holds it.
  bool in_library(std::uintptr_t address) const noexcept { return library_.holds(address); }
  bool in_runtime(std::uintptr_t address) const noexcept { return libc_.holds(address) || cxx_.holds(address); }
  /// Of a function of such a header that the compiler did not inline.
  bool in_header(std::uintptr_t address) const noexcept;
  /// Null: in none.
  const Module* module_of(std::uintptr_t address) const noexcept;

 private:
  OwnCode(const OwnCode* before, const Loads& loads);
  static int add_module(dl_phdr_info* info, std::size_t size, void* code);
  Loads loads_;
  CodeRange library_, libc_, cxx_;
  std::vector<Module> modules_;
};

/// The function of a program or library at `offset` in it, as far as its symbols tell; else "".
std::string function_at(const char* path, std::uintptr_t offset);
/// Whether that is where such a header lies.
bool is_header_path(const char* path) noexcept;

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "memory/variable_name.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <vector>

#include "base/elf_symbols.hpp"
#include "base/error.hpp"

namespace shoal {
namespace {

constexpr std::size_t kLongest = 80;  // a name in C++ may be of any length

struct Variable {
  std::uintptr_t begin, end;
  std::string name;
};

std::uintptr_t program_base() {
  std::uintptr_t base = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uintptr_t*>(out) = info->dlpi_addr;
        return 1;  // the first is the main program
      },
      &base);
  return base;
}

std::vector<Variable> read_variables() {
  std::vector<Variable> found;
  const std::uintptr_t base = program_base();
  each_symbol("/proc/self/exe", [&](const ElfW(Sym) & one, std::string_view name) {
    if (ELF64_ST_TYPE(one.st_info) != STT_OBJECT || one.st_shndx == SHN_UNDEF || one.st_size == 0 || name.empty())
      return;
    found.push_back({base + one.st_value, base + one.st_value + one.st_size, std::string(name)});
  });
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return found;
}

/// As the source spells it: a static variable of a function has a number behind a dot, as has one that the linker
/// moved.
std::string spelled(const std::string& symbol) {
  const std::string text = demangled(symbol.substr(0, symbol.find('.', 1)));
  return text.size() <= kLongest ? text : text.substr(0, kLongest - 3) + "...";
}

}  // namespace

std::string variable_at(std::uintptr_t address) {
  static const std::vector<Variable> known = read_variables();
  auto next = std::upper_bound(known.begin(), known.end(), address,
                               [](std::uintptr_t where, const Variable& one) { return where < one.begin; });
  if (next == known.begin() || address >= (--next)->end) return "";
  return spelled(next->name) + (address == next->begin ? "" : strf(" + %#zx", address - next->begin));
}

}  // namespace shoal

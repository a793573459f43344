// SPDX-License-Identifier: Apache-2.0
#include "observe/own_code.hpp"

#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/elf_symbols.hpp"

namespace shoal {
namespace {

/// The part of a loaded file that holds an address.
struct Wanted {
  std::uintptr_t address;
  CodeRange found = {};
};

int find_part(dl_phdr_info* info, std::size_t, void* wanted) {
  auto& [address, found] = *static_cast<Wanted*>(wanted);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    const CodeRange range{info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz};
    if (part.p_type != PT_LOAD || !range.holds(address)) continue;
    found = range;
    return 1;
  }
  return 0;
}

CodeRange part_of(std::uintptr_t address) {
  Wanted wanted{address};
  ::dl_iterate_phdr(find_part, &wanted);
  return wanted.found;
}

/// Of namespace shoal or std, a lambda in one of them, or of the overloads of shmem.h.
bool is_header_name(std::string_view name) noexcept {
  if (name.substr(0, 2) != "_Z") return false;
  name.remove_prefix(std::min(name.find_first_not_of("ZNK", 2), name.size()));
  for (const std::string_view scope : {"5shoal", "St", "9__gnu_cxx", "15shmem_overloads"})
    if (name.substr(0, scope.size()) == scope) return true;
  return false;
}

/// Those of a file that is loaded at `base`.
void add_functions(const char* path, std::uintptr_t base, std::vector<CodeRange>& found) {
  each_symbol(path, [&](const ElfW(Sym) & one, std::string_view name) {
    if (ELF64_ST_TYPE(one.st_info) == STT_FUNC && one.st_size != 0 && is_header_name(name))
      found.push_back({base + one.st_value, base + one.st_value + one.st_size});
  });
}

struct Found {
  const CodeRange& library;
  std::vector<CodeRange>& headers;
};

int add_module(dl_phdr_info* info, std::size_t, void* to) {
  const auto& [library, headers] = *static_cast<Found*>(to);
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_addr + info->dlpi_phdr[i].p_vaddr == library.begin) return 0;
  add_functions(*info->dlpi_name == '\0' ? "/proc/self/exe" : info->dlpi_name, info->dlpi_addr, headers);
  return 0;
}

}  // namespace

OwnCode::OwnCode()
    : library_(part_of(reinterpret_cast<std::uintptr_t>(&OwnCode::instance))),
      libc_(part_of(reinterpret_cast<std::uintptr_t>(&::gnu_get_libc_version))) {
  Found found{library_, headers_};
  ::dl_iterate_phdr(add_module, &found);
  std::sort(headers_.begin(), headers_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
}

const OwnCode& OwnCode::instance() {
  static const OwnCode known;
  return known;
}

bool OwnCode::in_header(std::uintptr_t address) const noexcept {
  const auto next = std::upper_bound(headers_.begin(), headers_.end(), address,
                                     [](std::uintptr_t where, const CodeRange& range) { return where < range.begin; });
  return next != headers_.begin() && std::prev(next)->holds(address);
}

bool is_header_path(const char* path) noexcept {
  for (const char* const folder : {"include/shoal/", "include/shmem/", "include/c++/"})
    if (std::strstr(path, folder) != nullptr) return true;
  return false;
}

}  // namespace shoal

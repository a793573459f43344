// SPDX-License-Identifier: Apache-2.0
#include "observe/own_code.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
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
  const std::size_t begin = std::min(name.find_first_not_of("ZNK", 2), name.size());
  const bool nested = name.substr(0, begin).find('N') != std::string_view::npos;
  name.remove_prefix(begin);
  for (const std::string_view scope : {"5shoal", "9__gnu_cxx", "15shmem_overloads"})
    if (nested && name.substr(0, scope.size()) == scope) return true;
  return name.substr(0, 2) == "St";
}

/// Calls see(name, where) of each function of a file, by the file's own addresses.
template <class See>
void each_function(const char* path, See&& see) {
  each_symbol(path, [&](const ElfW(Sym) & one, std::string_view name) {
    if (ELF64_ST_TYPE(one.st_info) == STT_FUNC && one.st_size != 0)
      see(name, CodeRange{one.st_value, one.st_value + one.st_size});
  });
}

struct Found {
  const CodeRange& library;
  std::vector<CodeRange>& headers;
};

int add_module(dl_phdr_info* info, std::size_t, void* to) {
  const CodeRange& library = static_cast<Found*>(to)->library;
  std::vector<CodeRange>& headers = static_cast<Found*>(to)->headers;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_addr + info->dlpi_phdr[i].p_vaddr == library.begin) return 0;
  const std::uintptr_t base = info->dlpi_addr;
  each_function(*info->dlpi_name == '\0' ? "/proc/self/exe" : info->dlpi_name,
                [&](std::string_view name, const CodeRange& where) {
                  if (is_header_name(name)) headers.push_back({base + where.begin, base + where.end});
                });
  return 0;
}

/// Of the C++ library, where it is a file of its own.
CodeRange cxx_library() {
  Dl_info info{};
  void* const inside = reinterpret_cast<void*>(&std::terminate);
  if (::dladdr(inside, &info) == 0 || info.dli_fname == nullptr || std::strstr(info.dli_fname, "libstdc++") == nullptr)
    return {};
  return part_of(reinterpret_cast<std::uintptr_t>(inside));
}

}  // namespace

OwnCode::OwnCode()
    : library_(part_of(reinterpret_cast<std::uintptr_t>(&OwnCode::instance))),
      libc_(part_of(reinterpret_cast<std::uintptr_t>(&::gnu_get_libc_version))),
      cxx_(cxx_library()) {
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

std::string function_at(const char* path, std::uintptr_t offset) {
  std::string found;
  each_function(path, [&](std::string_view name, const CodeRange& where) {
    if (where.holds(offset)) found = name;
  });
  int status = -1;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(found.c_str(), nullptr, nullptr, &status),
                                                     std::free);
  return status == 0 ? plain.get() : found;
}

bool is_header_path(const char* path) noexcept {
  for (const char* const folder : {"include/shoal/", "include/shmem/", "include/c++/"})
    if (std::strstr(path, folder) != nullptr) return true;
  return false;
}

}  // namespace shoal

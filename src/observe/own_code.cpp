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
#include <mutex>
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

/// From the first byte of its parts to the last.
CodeRange range_of(const dl_phdr_info& info) {
  CodeRange range{UINTPTR_MAX, 0};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& part = info.dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    range.begin = std::min<std::uintptr_t>(range.begin, info.dlpi_addr + part.p_vaddr);
    range.end = std::max<std::uintptr_t>(range.end, info.dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  return range;
}

std::vector<CodeRange> header_functions(const char* path, std::uintptr_t base) {
  std::vector<CodeRange> found;
  each_function(path, [&](std::string_view name, const CodeRange& where) {
    if (is_header_name(name)) found.push_back({base + where.begin, base + where.end});
  });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return found;
}

/// How often this process has loaded and unloaded something.
struct Loads {
  unsigned long long adds, subs;
  bool operator==(const Loads&) const = default;
  static Loads now() {
    Loads loads{};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
          *static_cast<Loads*>(out) = {info->dlpi_adds, info->dlpi_subs};
          return 1;  // all objects have the same numbers
        },
        &loads);
    return loads;
  }
};

/// Of the C++ library, where it is a file of its own.
CodeRange cxx_library() {
  Dl_info info{};
  void* const inside = reinterpret_cast<void*>(&std::terminate);
  if (::dladdr(inside, &info) == 0 || info.dli_fname == nullptr || std::strstr(info.dli_fname, "libstdc++") == nullptr)
    return {};
  return part_of(reinterpret_cast<std::uintptr_t>(inside));
}

}  // namespace

struct OwnCode::Loading {
  OwnCode& code;
  const OwnCode* before;
};

int OwnCode::add_module(dl_phdr_info* info, std::size_t, void* loading) {
  auto& [code, before] = *static_cast<Loading*>(loading);
  const CodeRange range = range_of(*info);
  if (range.holds(code.library_.begin)) return 0;
  const std::uintptr_t base = info->dlpi_addr;
  if (before != nullptr)
    for (const Module& known : before->modules_)
      if (known.base == base && known.range == range && known.name == info->dlpi_name) {
        code.modules_.push_back(known);
        return 0;
      }
  const char* const path = *info->dlpi_name == '\0' ? "/proc/self/exe" : info->dlpi_name;
  code.modules_.push_back(
      {info->dlpi_name, base, range, std::make_shared<const std::vector<CodeRange>>(header_functions(path, base))});
  return 0;
}

OwnCode::OwnCode(const OwnCode* before)
    : library_(part_of(reinterpret_cast<std::uintptr_t>(&OwnCode::now))),
      libc_(part_of(reinterpret_cast<std::uintptr_t>(&::gnu_get_libc_version))),
      cxx_(cxx_library()) {
  Loading loading{*this, before};
  ::dl_iterate_phdr(add_module, &loading);
}

std::shared_ptr<const OwnCode> OwnCode::now() {
  struct Known {
    std::mutex mutex;
    Loads at{};
    std::shared_ptr<const OwnCode> code;
  };
  static Known& known = *new Known;  // what a program calls at its exit comes here, too
  const Loads loads = Loads::now();  // before the look: what comes meanwhile is looked at the next time
  const std::lock_guard guard(known.mutex);
  if (known.code == nullptr || loads != known.at) {
    known.code.reset(new OwnCode(known.code.get()));
    known.at = loads;
  }
  return known.code;
}

bool OwnCode::in_header(std::uintptr_t address) const noexcept {
  for (const Module& module : modules_) {
    if (!module.range.holds(address)) continue;
    const auto& headers = *module.headers;
    const auto next =
        std::upper_bound(headers.begin(), headers.end(), address,
                         [](std::uintptr_t where, const CodeRange& range) { return where < range.begin; });
    return next != headers.begin() && std::prev(next)->holds(address);
  }
  return false;
}

std::string function_at(const char* path, std::uintptr_t offset) {
  std::string found;
  each_function(path, [&](std::string_view name, const CodeRange& where) {
    if (where.holds(offset)) found = name;
  });
  if (!found.starts_with("_Z")) return found;  // C's: to demangle "f" gives the type float
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(found.c_str(), nullptr, nullptr, nullptr),
                                                     std::free);
  return plain != nullptr ? plain.get() : found;
}

bool is_header_path(const char* path) noexcept {
  for (const char* const folder : {"include/shoal/", "include/shmem/", "include/c++/"})
    if (std::strstr(path, folder) != nullptr) return true;
  return false;
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "observe/own_code.hpp"

#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/elf_symbols.hpp"

namespace shoal {
namespace {

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

std::vector<CodeRange> header_functions(const char* path, std::uintptr_t base) {
  std::vector<CodeRange> found;
  each_function(path, [&](std::string_view name, const CodeRange& where) {
    if (is_header_name(name)) found.push_back({base + where.begin, base + where.end});
  });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return found;
}

OwnCode::Loads loads_now() {
  OwnCode::Loads loads;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<OwnCode::Loads*>(out) = {info->dlpi_adds, info->dlpi_subs};
        return 1;  // all objects have the same numbers
      },
      &loads);
  return loads;
}

}  // namespace

int OwnCode::add_module(dl_phdr_info* info, std::size_t, void* into) {
  auto& code = *static_cast<OwnCode*>(into);
  const bool is_cxx = std::strstr(info->dlpi_name, "libstdc++") != nullptr;  // else it is linked statically
  CodeRange range{UINTPTR_MAX, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    const CodeRange part{begin, begin + info->dlpi_phdr[i].p_memsz};
    range = {std::min(range.begin, part.begin), std::max(range.end, part.end)};
    if (part.holds(reinterpret_cast<std::uintptr_t>(&OwnCode::now))) code.library_ = part;
    if (part.holds(reinterpret_cast<std::uintptr_t>(&::gnu_get_libc_version))) code.libc_ = part;
    if (is_cxx && part.holds(reinterpret_cast<std::uintptr_t>(&std::terminate))) code.cxx_ = part;
  }
  code.modules_.push_back({info->dlpi_name, info->dlpi_addr, range});
  return 0;
}

OwnCode::OwnCode(const OwnCode* before, const Loads& loads) : loads_(loads) {
  ::dl_iterate_phdr(add_module, this);
  // Files are read when the loader goes on already.
  for (Module& module : modules_) {
    if (before != nullptr)
      for (const Module& known : before->modules_)
        if (known.base == module.base && known.range == module.range && known.name == module.name)
          module.headers = known.headers;
    if (module.headers != nullptr) continue;
    const char* const path = module.name.empty() ? "/proc/self/exe" : module.name.c_str();
    module.headers = std::make_shared<const std::vector<CodeRange>>(
        module.range.holds(library_.begin) ? std::vector<CodeRange>() : header_functions(path, module.base));
  }
}

std::shared_ptr<const OwnCode> OwnCode::now() {
  struct Known {
    std::mutex mutex;  // never held where the loader is called: what it waits for may wait for this
    std::shared_ptr<const OwnCode> code;
  };
  static Known& known = *new Known;  // what a program calls at its exit comes here, too
  const Loads loads = loads_now();   // before the look: what comes meanwhile is looked at the next time
  std::shared_ptr<const OwnCode> before;
  {
    const std::lock_guard guard(known.mutex);
    before = known.code;
  }
  if (before != nullptr && before->loads_ == loads) return before;
  const std::shared_ptr<const OwnCode> code(new OwnCode(before.get(), loads));
  const std::lock_guard guard(known.mutex);
  known.code = code;
  return code;
}

const OwnCode::Module* OwnCode::module_of(std::uintptr_t address) const noexcept {
  const auto found =
      std::find_if(modules_.begin(), modules_.end(), [&](const Module& module) { return module.range.holds(address); });
  return found == modules_.end() ? nullptr : &*found;
}

bool OwnCode::in_header(std::uintptr_t address) const noexcept {
  const Module* const module = module_of(address);
  if (module == nullptr) return false;
  const auto& headers = *module->headers;
  const auto next = std::upper_bound(headers.begin(), headers.end(), address,
                                     [](std::uintptr_t where, const CodeRange& range) { return where < range.begin; });
  return next != headers.begin() && std::prev(next)->holds(address);
}

std::string function_at(const char* path, std::uintptr_t offset) {
  std::string found;
  each_function(path, [&](std::string_view name, const CodeRange& where) {
    if (where.holds(offset)) found = name;
  });
  return demangled(found);
}

bool is_header_path(const char* path) noexcept {
  for (const char* const folder : {"include/shoal/", "include/shmem/", "include/c++/"})
    if (std::strstr(path, folder) != nullptr) return true;
  return false;
}

}  // namespace shoal

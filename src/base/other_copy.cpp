// SPDX-License-Identifier: Apache-2.0
#include "base/other_copy.hpp"

#include <dlfcn.h>
#include <link.h>

#include <vector>

namespace shoal {
namespace {

constexpr const char* kOnlyOurs = "shmemx_device_current";  // of the C interface, and of no other OpenSHMEM library's

Dl_info object_of(const void* address) {
  Dl_info info{};
  ::dladdr(address, &info);
  return info;
}

Dl_info own_object() { return object_of(reinterpret_cast<const void*>(&other_copy)); }

}  // namespace

std::string this_copy() {
  const Dl_info own = own_object();
  return own.dli_fname == nullptr ? "" : own.dli_fname;
}

std::string other_copy() {
  std::vector<std::string> names;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
          static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
        return 0;
      },
      &names);
  const Dl_info own = own_object();
  for (const std::string& name : names) {
    void* const object = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (object == nullptr) continue;
    const void* const symbol = ::dlsym(object, kOnlyOurs);  // looks in what the object needs, too
    const Dl_info found = symbol == nullptr ? Dl_info{} : object_of(symbol);
    ::dlclose(object);
    if (found.dli_fbase != nullptr && found.dli_fbase != own.dli_fbase) return found.dli_fname;
  }
  return "";
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/kernel_name.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/unique_fd.hpp"

namespace shoal {
namespace {

/// The loaded object that holds an address.
struct Object {
  std::uintptr_t address;
  std::uintptr_t load = 0;
  char path[512] = "";
  bool found = false;
};

int look_at(dl_phdr_info* info, std::size_t, void* argument) {
  auto& wanted = *static_cast<Object*>(argument);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || wanted.address - info->dlpi_addr - header.p_vaddr >= header.p_memsz) continue;
    wanted.load = info->dlpi_addr;
    wanted.found = true;
    const char* name = info->dlpi_name == nullptr || info->dlpi_name[0] == '\0' ? "/proc/self/exe" : info->dlpi_name;
    std::strncpy(wanted.path, name, sizeof wanted.path - 1);
    return 1;
  }
  return 0;
}

/// A file's bytes, mapped.
class File final {
 public:
  explicit File(const char* path) : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {
    struct stat facts;
    if (fd_.get() < 0 || ::fstat(fd_.get(), &facts) != 0 || facts.st_size <= 0) return;
    size_ = static_cast<std::size_t>(facts.st_size);
    void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd_.get(), 0);
    if (data != MAP_FAILED) data_ = static_cast<const char*>(data);
  }
  ~File() {
    if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// `count` objects at `offset`, or null where the file is shorter.
  template <class T>
  const T* at(std::size_t offset, std::size_t count = 1) const {
    if (data_ == nullptr || offset > size_ || count > (size_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(data_ + offset);
  }

 private:
  UniqueFd fd_;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The mangled name of the function at `value`, or null. Its bytes are the file's.
const char* find_symbol(const File& file, std::uintptr_t value) {
  const auto* header = file.at<ElfW(Ehdr)>(0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return nullptr;
  const auto* sections = file.at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return nullptr;
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto& section = sections[i];
    if ((section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) || section.sh_link >= header->e_shnum)
      continue;
    const std::size_t count = section.sh_size / sizeof(ElfW(Sym));
    const auto* symbols = file.at<ElfW(Sym)>(section.sh_offset, count);
    const auto& names = sections[section.sh_link];
    for (std::size_t k = 0; symbols != nullptr && k < count; ++k)
      if ((symbols[k].st_info & 0xf) == STT_FUNC && symbols[k].st_shndx != SHN_UNDEF &&
          value - symbols[k].st_value < std::max<std::uintptr_t>(symbols[k].st_size, 1) && symbols[k].st_name < names.sh_size)
        return file.at<char>(names.sh_offset + symbols[k].st_name);
  }
  return nullptr;
}

}  // namespace

void readable_name(const char* mangled, char* out, std::size_t size) noexcept {
  const char* next = mangled;
  std::size_t length = 0;
  const auto append = [&](const char* text, std::size_t n) {
    for (std::size_t i = 0; i < n && length + 1 < size; ++i) out[length++] = text[i];
  };
  if (std::strncmp(next, "_Z", 2) == 0) {
    for (next += 2; *next == 'N' || *next == 'K' || *next == 'L' || *next == 'Z';) ++next;
    while (*next >= '0' && *next <= '9') {
      std::size_t n = 0;
      while (*next >= '0' && *next <= '9') n = n * 10 + static_cast<std::size_t>(*next++ - '0');
      if (std::strlen(next) < n) break;
      if (length != 0) append("::", 2);
      if (n >= 8 && std::strncmp(next, "_GLOBAL_", 8) == 0)
        append("(anonymous namespace)", 21);
      else
        append(next, n);
      next += n;
      if (*next == 'L') ++next;
    }
  }
  if (length == 0) append(mangled, std::strlen(mangled));
  if (size != 0) out[length] = '\0';
}

void kernel_name(const void* address, char* out, std::size_t size) noexcept {
  Object object{reinterpret_cast<std::uintptr_t>(address)};
  ::dl_iterate_phdr(look_at, &object);
  if (object.found) {
    const File file(object.path);
    if (const char* mangled = find_symbol(file, object.address - object.load)) return readable_name(mangled, out, size);
  }
  std::snprintf(out, size, "%p", address);
}

}  // namespace shoal

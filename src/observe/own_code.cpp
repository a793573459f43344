// SPDX-License-Identifier: Apache-2.0
#include "observe/own_code.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/unique_fd.hpp"

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

/// A file's bytes, as far as they are there: whatever it says of itself is looked at first.
class Image final {
 public:
  explicit Image(const char* path) {
    const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
    struct stat s;
    if (!fd || ::fstat(fd.get(), &s) != 0 || s.st_size <= 0) return;
    void* at = ::mmap(nullptr, static_cast<std::size_t>(s.st_size), PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (at == MAP_FAILED) return;
    bytes_ = static_cast<const char*>(at);
    size_ = static_cast<std::size_t>(s.st_size);
  }
  ~Image() {
    if (bytes_ != nullptr) ::munmap(const_cast<char*>(bytes_), size_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  /// `count` of them at `offset`, or null.
  template <class T>
  const T* at(std::size_t offset, std::size_t count) const noexcept {
    if (offset > size_ || offset % alignof(T) != 0 || count > (size_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(bytes_ + offset);
  }

 private:
  const char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

/// Of namespace shoal or std, a lambda in one of them, or of the overloads of shmem.h.
bool is_header_name(std::string_view name) noexcept {
  if (name.substr(0, 2) != "_Z") return false;
  name.remove_prefix(std::min(name.find_first_not_of("ZNK", 2), name.size()));
  for (const std::string_view scope : {"5shoal", "St", "9__gnu_cxx", "15shmem_overloads"})
    if (name.substr(0, scope.size()) == scope) return true;
  return false;
}

/// Calls see(name, begin, end) of each function in a table of symbols; addresses are the file's own.
template <class See>
void each_function(const Image& image, const ElfW(Shdr) & table, const ElfW(Shdr) & names, See&& see) {
  const std::size_t count = table.sh_size / sizeof(ElfW(Sym));
  const auto* symbols = image.at<ElfW(Sym)>(table.sh_offset, count);
  const char* texts = image.at<char>(names.sh_offset, names.sh_size);
  if (symbols == nullptr || texts == nullptr) return;
  for (std::size_t i = 0; i < count; ++i) {
    const ElfW(Sym)& one = symbols[i];
    if (ELF64_ST_TYPE(one.st_info) != STT_FUNC || one.st_size == 0 || one.st_name >= names.sh_size) continue;
    const char* const name = texts + one.st_name;
    see(std::string_view(name, ::strnlen(name, names.sh_size - one.st_name)), one.st_value, one.st_value + one.st_size);
  }
}

/// The same of the file's own table, else of what it shows to others.
template <class See>
void each_function(const char* path, See&& see) {
  const Image image(path);
  const auto* header = image.at<ElfW(Ehdr)>(0, 1);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_shentsize != sizeof(ElfW(Shdr)))
    return;
  const auto* sections = image.at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return;
  static constexpr ElfW(Word) kTables[] = {SHT_SYMTAB, SHT_DYNSYM};
  for (const ElfW(Word) kind : kTables)
    for (std::size_t i = 0; i < header->e_shnum; ++i)
      if (sections[i].sh_type == kind && sections[i].sh_link < header->e_shnum)
        return each_function(image, sections[i], sections[sections[i].sh_link], see);
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
                [&](std::string_view name, std::uintptr_t begin, std::uintptr_t end) {
                  if (is_header_name(name)) headers.push_back({base + begin, base + end});
                });
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

std::string function_at(const char* path, std::uintptr_t offset) {
  std::string found;
  each_function(path, [&](std::string_view name, std::uintptr_t begin, std::uintptr_t end) {
    if (CodeRange{begin, end}.holds(offset)) found = name;
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

// SPDX-License-Identifier: Apache-2.0
#include "base/elf_symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/unique_fd.hpp"

namespace shoal {
namespace {

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

void see_table(const Image& image, const ElfW(Shdr) & table, const ElfW(Shdr) & names,
               const Callback<const ElfW(Sym) &, std::string_view>& see) {
  const std::size_t count = table.sh_size / sizeof(ElfW(Sym));
  const auto* symbols = image.at<ElfW(Sym)>(table.sh_offset, count);
  const char* texts = image.at<char>(names.sh_offset, names.sh_size);
  if (symbols == nullptr || texts == nullptr) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (symbols[i].st_name >= names.sh_size) continue;
    const char* const name = texts + symbols[i].st_name;
    see(symbols[i], {name, ::strnlen(name, names.sh_size - symbols[i].st_name)});
  }
}

}  // namespace

void each_symbol(const char* path, const Callback<const ElfW(Sym) &, std::string_view>& see) {
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
        return see_table(image, sections[i], sections[sections[i].sh_link], see);
}

std::string demangled(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr),
                                                    std::free);
  return name != nullptr ? name.get() : symbol;
}

}  // namespace shoal

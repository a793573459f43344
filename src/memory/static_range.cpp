// SPDX-License-Identifier: Apache-2.0
// Which addresses the main program's variables have, and which program it is. Everything comes from the program headers
// in memory: no file is read, and it works for PIE and non-PIE, preloaded libraries and deleted executables alike.
#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "memory/memory_file.hpp"
#include "memory/static_data.hpp"

namespace shoal {
namespace {

using Address = std::uintptr_t;

struct Span {
  Address low, high;
  Address file_end;  ///< what lies above isn't in the executable
};

struct Program {
  Address base = 0;
  const ElfW(Phdr) * headers = nullptr;
  std::size_t count = 0;
};

Program main_program() {
  Program program;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<Program*>(out) = {info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum};
        return 1;  // the first is the main program
      },
      &program);
  return program;
}

template <class F>
void for_each_header(const Program& program, ElfW(Word) type, F f) {
  for (std::size_t i = 0; i < program.count; ++i)
    if (program.headers[i].p_type == type) f(program.headers[i], program.base + program.headers[i].p_vaddr);
}

bool needs(const Program& program, const char* library) {
  bool found = false;
  for_each_header(program, PT_DYNAMIC, [&](const ElfW(Phdr)&, Address address) {
    const auto* const dynamic = reinterpret_cast<const ElfW(Dyn)*>(address);
    Address strings = 0;
    for (const auto* entry = dynamic; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
    if (strings == 0) return;
    if (strings < program.base) strings += program.base;  // glibc has relocated it in place, others haven't
    for (const auto* entry = dynamic; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == DT_NEEDED) {
        const char* name = reinterpret_cast<const char*>(strings + entry->d_un.d_val);
        if (const char* slash = std::strrchr(name, '/')) name = slash + 1;
        found = found || std::strncmp(name, library, std::strlen(library)) == 0;
      }
  });
  return found;
}

/// `spans` without [low, high).
std::vector<Span> without(const std::vector<Span>& spans, Address low, Address high) {
  std::vector<Span> rest;
  for (const Span& span : spans) {
    if (span.low < std::min(span.high, low)) rest.push_back({span.low, std::min(span.high, low), span.file_end});
    if (std::max(span.low, high) < span.high) rest.push_back({std::max(span.low, high), span.high, span.file_end});
  }
  return rest;
}

/// The writable pages, in order of address, touching ones joined.
std::vector<Span> writable_spans(const Program& program) {
  const Address mask = page_bytes() - 1;
  std::vector<Span> spans;
  for_each_header(program, PT_LOAD, [&](const ElfW(Phdr) & header, Address address) {
    if ((header.p_flags & PF_W) == 0 || header.p_memsz == 0) return;
    spans.push_back({address & ~mask, (address + header.p_memsz + mask) & ~mask, address + header.p_filesz});
  });
  // The dynamic linker protects whole pages only, rounding both ends down.
  for_each_header(program, PT_GNU_RELRO, [&](const ElfW(Phdr) & header, Address address) {
    spans = without(spans, address & ~mask, (address + header.p_memsz) & ~mask);
  });
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.low < b.low; });
  std::vector<Span> joined;
  for (const Span& span : spans) {
    if (joined.empty() || span.low > joined.back().high) {
      joined.push_back(span);
    } else {
      joined.back().high = std::max(joined.back().high, span.high);
      joined.back().file_end = std::max(joined.back().file_end, span.file_end);
    }
  }
  return joined;
}

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; }

/// The description of the build-id note in [data, data + size), as hexadecimal digits, or "".
std::string find_build_id(const unsigned char* data, std::size_t size) {
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, data + at, sizeof note);
    const std::size_t name = at + sizeof note, text = name + padded(note.n_namesz);
    if (text > size || note.n_descsz > size - text) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(data + name, "GNU", 4) == 0) {
      std::string id;
      for (std::size_t i = 0; i < note.n_descsz; ++i) id += strf("%02x", data[text + i]);
      return id;
    }
    at = text + padded(note.n_descsz);
  }
  return {};
}

}  // namespace

std::optional<StaticRange> find_static_data(const char* library) {
  const Program program = main_program();
  if (library != nullptr && !needs(program, library)) return std::nullopt;
  const std::vector<Span> spans = writable_spans(program);
  if (spans.empty()) return std::nullopt;
  if (spans.size() > StaticRange::kMaxParts)
    throw Error(Code::unsupported,
                strf("the program's static data is in %zu pieces, more than the %zu that can be shared; set "
                     "SHOAL_STATIC_DATA=0 to do without",
                     spans.size(), StaticRange::kMaxParts));
  StaticRange range;
  range.begin = reinterpret_cast<void*>(spans.front().low);
  range.bytes = spans.back().high - spans.front().low;
  for (const Span& span : spans) {
    const Address file_end = std::clamp(span.file_end, span.low, span.high);
    range.parts[range.part_count++] = {span.low - spans.front().low, span.high - span.low, file_end - span.low};
  }
  return range;
}

std::string program_build_id() {
  const Program program = main_program();
  std::string id;
  for_each_header(program, PT_NOTE, [&](const ElfW(Phdr) & header, Address address) {
    if (id.empty()) id = find_build_id(reinterpret_cast<const unsigned char*>(address), header.p_memsz);
  });
  if (!id.empty()) return "build-id:" + id;
  struct stat info {};
  if (::stat("/proc/self/exe", &info) != 0) throw_errno("cannot tell which program this is: stat /proc/self/exe");
  return strf("file:%llx:%llx:%llx:%llx.%09ld", static_cast<unsigned long long>(info.st_dev),
              static_cast<unsigned long long>(info.st_ino), static_cast<unsigned long long>(info.st_size),
              static_cast<unsigned long long>(info.st_mtim.tv_sec), info.st_mtim.tv_nsec);
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "observe/safe_text.hpp"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstring>

namespace shoal {
namespace {

/// A line of /proc/self/maps: "begin-end perms offset device inode path".
struct MapLine {
  std::uintptr_t begin = 0, end = 0, offset = 0;
  bool readable = false;
  const char* path = "";

  explicit MapLine(const char* line) noexcept {
    begin = take_hex(line);
    end = take_hex(++line);
    readable = *++line == 'r';
    skip_field(line);
    offset = take_hex(line);
    for (int field = 0; field < 3; ++field) skip_field(line);
    path = line;
  }

 private:
  static std::uintptr_t take_hex(const char*& at) noexcept {
    std::uintptr_t number = 0;
    for (;; ++at) {
      if (*at >= '0' && *at <= '9')
        number = number * 16 + static_cast<std::uintptr_t>(*at - '0');
      else if (*at >= 'a' && *at <= 'f')
        number = number * 16 + static_cast<std::uintptr_t>(*at - 'a' + 10);
      else
        return number;
    }
  }
  static void skip_field(const char*& at) noexcept {
    while (*at != ' ' && *at != '\0') ++at;
    while (*at == ' ') ++at;
  }
};

/// Calls see(MapLine) for each until it returns true. The C library's way, dl_iterate_phdr, takes a lock, and a table
/// made before would not know what has been loaded since.
template <class See>
void each_mapping(See&& see) noexcept {
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char bytes[8192];  // more than the longest line
  std::size_t used = 0;
  bool found = false;
  for (ssize_t n; !found && used < sizeof bytes && (n = ::read(file, bytes + used, sizeof bytes - used)) > 0;) {
    used += static_cast<std::size_t>(n);
    char* line = bytes;
    for (char* end;
         !found &&
         (end = static_cast<char*>(std::memchr(line, '\n', used - static_cast<std::size_t>(line - bytes)))) != nullptr;
         line = end + 1) {
      *end = '\0';
      found = see(MapLine(line));
    }
    used -= static_cast<std::size_t>(line - bytes);
    std::memmove(bytes, line, used);
  }
  ::close(file);
}

const char* base_name(const char* path) noexcept {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

}  // namespace

SafeText& SafeText::add(const char* text) noexcept {
  while (*text != '\0' && size_ < sizeof text_ - 1) text_[size_++] = *text++;
  return *this;
}

SafeText& SafeText::add_number(std::uintptr_t number, unsigned radix) noexcept {
  char digits[2 * sizeof number * 4];
  char* first = digits + sizeof digits - 1;
  *first = '\0';
  do *--first = "0123456789abcdef"[number % radix];
  while ((number /= radix) != 0);
  return add(first);
}

SafeText& SafeText::add_code(std::uintptr_t address) noexcept {
  std::uintptr_t head = 0;  // where the first part of the file is
  bool found = false;
  each_mapping([&](const MapLine& map) {
    if (map.offset == 0 && map.path[0] == '/') head = map.readable ? map.begin : 0;
    if (address < map.begin || address >= map.end) return false;
    found = map.path[0] == '/' && head != 0;
    // Only of what may lie anywhere are addresses counted from there.
    if (found)
      add(base_name(map.path))
          .add("+")
          .add_hex(reinterpret_cast<const ElfW(Ehdr)*>(head)->e_type == ET_DYN ? address - head : address);
    return true;
  });
  return found ? *this : add_hex(address);
}

void SafeText::write_line() noexcept {
  text_[size_] = '\n';
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text_, size_ + 1);
}

std::uintptr_t word_at(std::uintptr_t address) noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return 0;
  std::uintptr_t word = 0;
  // The kernel says whether there is memory.
  if (::write(ends[1], reinterpret_cast<const void*>(address), sizeof word) != sizeof word ||
      ::read(ends[0], &word, sizeof word) != sizeof word)
    word = 0;
  for (const int end : ends) ::close(end);
  return word;
}

}  // namespace shoal

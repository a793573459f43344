// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "base/file_size_signal.hpp"

// Newer than the headers of some systems that we build on; the kernel refuses it with EINVAL where it doesn't know it.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace shoal {
namespace {

std::string limit_text(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return "unknown";
  if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return strf("%llu", static_cast<unsigned long long>(limit.rlim_cur));
}

int set_size(int fd, off_t bytes) noexcept {
  const NoFileSizeSignal quiet;
  return ::ftruncate(fd, bytes);
}

[[noreturn]] void fail_create(const char* label, std::size_t bytes, const char* call, int error) {
  const Code code =
      error == ENOMEM || error == EMFILE || error == ENFILE || error == EFBIG ? Code::out_of_memory : Code::system;
  throw Error(code, strf("no memory file \"%s\" of %zu bytes: %s: %s (file size limit %s, open file limit %s; lower "
                         "SHMEM_SYMMETRIC_SIZE, or raise them with ulimit -f, ulimit -n)",
                         label, bytes, call, std::strerror(error), limit_text(RLIMIT_FSIZE).c_str(),
                         limit_text(RLIMIT_NOFILE).c_str()));
}

[[noreturn]] void fail_map(std::size_t bytes, std::size_t alignment, int error) {
  throw Error(
      error == ENOMEM ? Code::out_of_memory : Code::system,
      strf("cannot map %zu bytes aligned to %zu: %s (address space limit %s; lower SHMEM_SYMMETRIC_SIZE, or raise it "
           "with ulimit -v)",
           bytes, alignment, std::strerror(error), limit_text(RLIMIT_AS).c_str()));
}

}  // namespace

std::size_t page_bytes() noexcept {
  static const std::size_t bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t round_to_pages(std::size_t bytes) noexcept {
  const std::size_t mask = page_bytes() - 1;
  return bytes > std::numeric_limits<std::size_t>::max() - mask ? 0 : (bytes + mask) & ~mask;
}

UniqueFd create_memory_file(const char* label, std::size_t bytes) {
  const std::size_t rounded = round_to_pages(bytes);
  if (bytes == 0 || rounded == 0 || rounded > static_cast<std::size_t>(std::numeric_limits<off_t>::max()))
    throw Error(Code::invalid_argument, strf("no memory file \"%s\" of %zu bytes: the size must be between 1 and %lld",
                                             label, bytes, static_cast<long long>(std::numeric_limits<off_t>::max())));
  UniqueFd fd(::memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));
  if (!fd && errno == EINVAL) fd.reset(::memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) fail_create(label, bytes, "memfd_create", errno);
  if (set_size(fd.get(), static_cast<off_t>(rounded)) != 0) fail_create(label, bytes, "ftruncate", errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    fail_create(label, bytes, "fcntl(F_ADD_SEALS)", errno);
  return fd;
}

Mapping::~Mapping() {
  if (owned_) ::munmap(data_, size_);
}

Mapping Mapping::map(int fd, std::size_t bytes, std::size_t offset, std::size_t alignment) {
  const std::size_t size = round_to_pages(bytes), page = page_bytes();
  if (size == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0 || offset % page != 0)
    throw Error(Code::invalid_argument,
                strf("cannot map %zu bytes at file offset %zu aligned to %zu: sizes must be positive, "
                     "offsets multiples of the page size %zu, alignments powers of two",
                     bytes, offset, alignment, page));
  const std::size_t slack = alignment > page ? alignment - page : 0;
  if (size > std::numeric_limits<std::size_t>::max() - slack) fail_map(bytes, alignment, ENOMEM);

  // A reservation with room to align, of which only the aligned part is kept.
  const std::size_t reserved_bytes = size + slack;
  void* reserved = ::mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) fail_map(bytes, alignment, errno);
  std::byte* const start = static_cast<std::byte*>(reserved);
  const std::size_t before = (alignment - reinterpret_cast<std::uintptr_t>(start) % alignment) % alignment;
  std::byte* const aligned = start + before;
  const int sharing = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  if (::mmap(aligned, size, PROT_READ | PROT_WRITE, sharing | MAP_NORESERVE | MAP_FIXED, fd,
             static_cast<off_t>(offset)) == MAP_FAILED) {
    const int error = errno;
    ::munmap(reserved, reserved_bytes);
    fail_map(bytes, alignment, error);
  }
  if (before > 0) ::munmap(start, before);
  if (slack > before) ::munmap(aligned + size, slack - before);
  return Mapping(aligned, size, true);
}

Mapping Mapping::map_file(int fd, std::size_t bytes, std::size_t offset, std::size_t alignment) {
  if (fd < 0) throw Error(Code::invalid_argument, strf("cannot map %zu bytes: no file descriptor", bytes));
  return map(fd, bytes, offset, alignment);
}

Mapping Mapping::map_private(std::size_t bytes, std::size_t alignment) { return map(-1, bytes, 0, alignment); }

Mapping Mapping::view(void* data, std::size_t size) noexcept { return Mapping(data, size, false); }

bool Mapping::advise_huge_pages() const noexcept { return size_ > 0 && ::madvise(data_, size_, MADV_HUGEPAGE) == 0; }

bool Mapping::exclude_from_core_dump(std::size_t offset, std::size_t length) const noexcept {
  if (offset > size_ || length > size_ - offset) return false;
  const std::uintptr_t mask = page_bytes() - 1, base = reinterpret_cast<std::uintptr_t>(data_);
  const std::uintptr_t first = (base + offset + mask) & ~mask, last = (base + offset + length) & ~mask;
  return first >= last || ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTDUMP) == 0;
}

}  // namespace shoal

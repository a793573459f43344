// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/status_mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/file_size_signal.hpp"

namespace shoal {
namespace {

void* map(int fd, size_t length) {
  void* at = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) throw_errno("mmap of the status page");
  return at;
}

}  // namespace

StatusMapping StatusMapping::create(int npes) {
  UniqueFd fd(::memfd_create(kStatusFileName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) throw_errno("memfd_create of the status page");
  const NoFileSizeSignal quiet;
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes_of(npes))) != 0) {
    rlimit limit{};
    if (errno != EFBIG || ::getrlimit(RLIMIT_FSIZE, &limit) != 0) throw_errno("ftruncate of the status page");
    throw Error(Code::out_of_memory,
                strf("the limit of file sizes, %llu bytes, is too low for a job of %d PEs, whose memory is "
                     "shared as files: raise it with ulimit -f",
                     static_cast<unsigned long long>(limit.rlim_cur), npes));
  }
  // A PE that shrinks the file must not be able to crash the launcher.
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw_errno("sealing the status page");
  void* at = map(fd.get(), bytes_of(npes));
  return StatusMapping(std::move(fd), at, bytes_of(npes));
}

StatusMapping StatusMapping::open(const Options::Environment& environment, int npes) {
  const char* value = environment("SHOAL_STATUS_FD");
  int fd = -1;
  if (value != nullptr && *value != '\0') {
    const std::int64_t number = parse_integer(value, "SHOAL_STATUS_FD");
    struct stat s;
    if (number >= 0 && number < 1 << 30 && ::fstat(static_cast<int>(number), &s) == 0 && S_ISREG(s.st_mode) &&
        s.st_size == static_cast<off_t>(bytes_of(npes)) && ::fcntl(static_cast<int>(number), F_GET_SEALS) > 0)
      fd = static_cast<int>(number);
  }
  return StatusMapping(UniqueFd(), map(fd, bytes_of(npes)), bytes_of(npes));
}

void StatusMapping::move_to(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) throw_errno("dup of the status page's descriptor");
  void* const there = map(copy.get(), length_);
  ::munmap(records_, length_);
  records_ = static_cast<StatusRecord*>(there);
  fd_ = std::move(copy);
  records_[0].counters.n_pes.store(length_ / sizeof(StatusRecord), std::memory_order_relaxed);
}

StatusMapping::StatusMapping(StatusMapping&& other) noexcept
    : fd_(std::move(other.fd_)), records_(std::exchange(other.records_, nullptr)), length_(other.length_) {}

StatusMapping::~StatusMapping() {
  if (records_ != nullptr) ::munmap(records_, length_);
}

}  // namespace shoal

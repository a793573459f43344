// SPDX-License-Identifier: Apache-2.0
#include "base/trace_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace shoal {
namespace {

struct flock byte_of(TraceUse use) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(use);
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool lock_piece(int fd, TraceUse use) noexcept {
  struct flock lock = byte_of(use);
  return ::fcntl(fd, F_SETLK, &lock) == 0 || (errno != EACCES && errno != EAGAIN);
}

std::string user_of_piece(int fd, TraceUse use) {
  struct flock lock = byte_of(use);
  if (::fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return "";
  return lock.l_pid > 0 ? "process " + std::to_string(lock.l_pid) : "a process of another container";
}

bool lies_at(int fd, const std::string& path) noexcept {
  struct stat open, there;
  return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &there) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

}  // namespace shoal

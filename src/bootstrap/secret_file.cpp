// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/secret_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.hpp"

namespace shoal {

UniqueFd make_secret_file(const Secret& secret) {
  UniqueFd fd(::memfd_create("shoal-secret", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) throw_errno("memfd_create for the job secret");
  if (::write(fd.get(), secret.bytes().data(), Secret::kBytes) != static_cast<ssize_t>(Secret::kBytes))
    throw_errno("write of the job secret");
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    throw_errno("sealing the job secret");
  return fd;
}

std::optional<Secret> inherited_secret(const Options::Environment& environment) {
  const char* value = environment("SHOAL_SECRET_FD");
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::int64_t fd = parse_integer(value, "SHOAL_SECRET_FD");
  SecretBuffer bytes(Secret::kBytes + 1);
  constexpr int kSealed = F_SEAL_WRITE | F_SEAL_SEAL;
  if (fd < 0 || fd > 1 << 30 || (::fcntl(static_cast<int>(fd), F_GET_SEALS) & kSealed) != kSealed ||
      ::pread(static_cast<int>(fd), bytes.bytes().data(), bytes.bytes().size(), 0) !=
          static_cast<ssize_t>(Secret::kBytes))
    throw Error(Code::launcher,
                strf("descriptor %s, named by SHOAL_SECRET_FD, is not the job's secret: the program was started "
                     "through something that closes inherited descriptors (Python's subprocess: pass close_fds=False)",
                     value));
  return Secret::from_bytes(std::span<const std::byte, Secret::kBytes>(bytes.bytes().first(Secret::kBytes)));
}

}  // namespace shoal

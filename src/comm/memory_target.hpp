// SPDX-License-Identifier: Apache-2.0
// This PE's memory, as PEs of other nodes may use it: every request is held against the segment's bounds, its members
// and the word's alignment before anything is touched.
#pragma once
#include <atomic>
#include <string>

#include "base/log.hpp"
#include "comm/context.hpp"
#include "security/security_log.hpp"
#include "transport/transport.hpp"

namespace shoal {

class MemoryTarget final : public Target {
 public:
  /// @param domain, log    outlive this
  /// @param control_bytes  from the head of this PE's own part on: what of it other nodes may use, as the library says
  MemoryTarget(const Domain& domain, std::size_t control_bytes, const Log& log, const std::string& security_log)
      : domain_(domain), control_bytes_(control_bytes), log_(log), security_log_(security_log, domain.me) {}

  char* admit(int from, std::uint32_t key, std::uint64_t offset, std::uint64_t bytes, Access access) noexcept override;
  std::span<char> region(int from, std::uint32_t key) noexcept override;
  void refused(const std::string& who, const std::string& what) noexcept override;
  void wake() noexcept override;
  [[noreturn]] void fail(const std::string& what) noexcept override;

 private:
  char* refuse(int from, std::uint32_t key, std::uint64_t offset, std::uint64_t bytes, Access access,
               const char* why) noexcept;

  const Domain& domain_;
  const std::size_t control_bytes_;
  const Log& log_;
  const SecurityLog security_log_;
  std::atomic<int> refusals_{0};
};

}  // namespace shoal

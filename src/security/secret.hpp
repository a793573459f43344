// SPDX-License-Identifier: Apache-2.0
// Secrets in memory: pages of their own that are left out of core dumps and of forked children, not swapped where the
// limits allow it, and overwritten when they are given back.
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace shoal {

class SecretBuffer final {
 public:
  /// Zeros. @throws Error{system}
  explicit SecretBuffer(std::size_t bytes);
  SecretBuffer(SecretBuffer&& other) noexcept;
  SecretBuffer& operator=(SecretBuffer&& other) noexcept;
  ~SecretBuffer();
  std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  std::byte* data_;
  std::size_t size_;
};

/// Overwrites what held a secret for a moment.
void wipe(std::span<std::byte> bytes) noexcept;

/// What the members of a job know and nobody else does: 256 bits. In a forked child it is zeros.
class Secret final {
 public:
  static constexpr std::size_t kBytes = 32;
  /// From the kernel's random numbers. @throws Error{system}
  static Secret fresh();
  static Secret from_bytes(std::span<const std::byte, kBytes> bytes);
  /// HKDF-SHA-256 of a file's text, which is 32 bytes or longer; a newline at its end does not count.
  /// @throws Error{security} when it cannot be read, is too short, or others than its owner may read it
  static Secret from_file(const std::string& path);

  std::span<const std::byte, kBytes> bytes() const noexcept {
    return std::span<const std::byte, kBytes>(buffer_.bytes());
  }
  /// Another secret, for one purpose: who learns it learns neither this one nor those for other purposes (HKDF-Expand).
  Secret derive(const std::string& purpose) const;

 private:
  Secret() : buffer_(kBytes) {}
  SecretBuffer buffer_;
};

/// The text of a file that only its owner may read (mode 0600 or less, owned by this user or root), such as a secret or
/// a key's password. `what` names it in errors. @throws Error{security}
SecretBuffer read_private_file(const std::string& path, const char* what);

}  // namespace shoal

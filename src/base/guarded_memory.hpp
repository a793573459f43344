// SPDX-License-Identifier: Apache-2.0
// Memory for a stack that nobody else sees.
#pragma once
#include <sys/mman.h>

#include <cstddef>

namespace shoal {

/// Private memory, and before it some that nobody may touch. Only what is used takes memory. None where there is no
/// more.
class GuardedMemory final {
 public:
  explicit GuardedMemory(std::size_t bytes) noexcept : bytes_(bytes) {
    void* const mapped =
        ::mmap(nullptr, kGuard + bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return;
    mapped_ = static_cast<char*>(mapped);
    if (::mprotect(mapped_ + kGuard, bytes_, PROT_READ | PROT_WRITE) == 0) return;
    ::munmap(mapped_, kGuard + bytes_);
    mapped_ = nullptr;
  }
  ~GuardedMemory() {
    if (mapped_ != nullptr) ::munmap(mapped_, kGuard + bytes_);
  }
  [[nodiscard]] void* data() const noexcept { return mapped_ == nullptr ? nullptr : mapped_ + kGuard; }
  /// It stays then, for good.
  [[nodiscard]] void* release() noexcept {
    void* const kept = data();
    mapped_ = nullptr;
    return kept;
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

 private:
  static constexpr std::size_t kGuard = 256 * 1024;  // a big local variable leaps over one page; pages of any size
  std::size_t bytes_;
  char* mapped_ = nullptr;
};

}  // namespace shoal

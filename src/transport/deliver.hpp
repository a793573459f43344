// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/copy.hpp"
#include "base/fence.hpp"

namespace shoal {

/// Writes data that came to words that others may poll: an aligned word is written in one access, and after all that
/// was delivered before.
inline void deliver(char* to, const char* from, std::size_t bytes) noexcept {
  const auto write = [&]<class Word>(Word word) {
    std::memcpy(&word, from, sizeof word);
    __atomic_store_n(reinterpret_cast<Word*>(to), word, __ATOMIC_RELEASE);
  };
  if (bytes == 8 && reinterpret_cast<std::uintptr_t>(to) % 8 == 0) return write(std::uint64_t{});
  if (bytes == 4 && reinterpret_cast<std::uintptr_t>(to) % 4 == 0) return write(std::uint32_t{});
  if (bytes == 2 && reinterpret_cast<std::uintptr_t>(to) % 2 == 0) return write(std::uint16_t{});
  release_fence();
  copy_shared(to, from, bytes);
}

}  // namespace shoal

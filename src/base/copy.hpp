// SPDX-License-Identifier: Apache-2.0
// Copying to and from memory that another PE may be polling: legal in OpenSHMEM, where a put may be waited for. The C
// library's copies write each aligned word whole, which ThreadSanitizer cannot know: under it, a single word is an
// atomic.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/fence.hpp"
#include "base/tuning.hpp"

namespace shoal {

#ifdef SHOAL_TSAN
template <class Word>
bool copy_word(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes != sizeof(Word) ||
      (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % sizeof(Word) != 0)
    return false;
  __atomic_store_n(static_cast<Word*>(to), __atomic_load_n(static_cast<const Word*>(from), __ATOMIC_RELAXED),
                   __ATOMIC_RELAXED);
  return true;
}
inline void copy_shared(void* to, const void* from, std::size_t bytes) noexcept {
  if (copy_word<std::uint64_t>(to, from, bytes) || copy_word<std::uint32_t>(to, from, bytes) ||
      copy_word<std::uint16_t>(to, from, bytes))
    return;
  std::memmove(to, from, bytes);
}
#else
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)  // which sees into the C library's copies only
#define SHOAL_COPY_BY_VECTORS
#endif
/// copy_shared() of tuned::kVectorCopyBytes or more, by what is fastest on this processor.
void copy_by_vectors(void* to, const void* from, std::size_t bytes) noexcept;

/// The ranges may overlap.
inline void copy_shared(void* to, const void* from, std::size_t bytes) noexcept {
#ifdef SHOAL_COPY_BY_VECTORS
  if (bytes >= tuned::kVectorCopyBytes) return copy_by_vectors(to, from, bytes);
#endif
  std::memmove(to, from, bytes);
}
#endif

/// `blocks` blocks of `bytes`, `dst` and `sst` bytes apart (from start to start). Single elements of the usual widths
/// are copied by a loop of plain accesses.
void copy_strided(char* to, const char* from, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t bytes,
                  std::size_t blocks) noexcept;

}  // namespace shoal

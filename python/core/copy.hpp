// SPDX-License-Identifier: Apache-2.0
// Copies of a few KB and more between cores. Not memcpy: from 2 KB on, that of glibc 2.36 takes "rep movsb", which on
// AMD's processors drops to a tenth of its speed for some distances between source and destination.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace shoal::python {

/// From so many bytes on, what is written won't be found in a cache again.
inline constexpr std::size_t kStreamBytes = std::size_t{4} << 20;

#if defined(__x86_64__)
template <bool kStreams>
void copy_lines(char* to, const char* from, std::size_t bytes) noexcept {
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % 16;
  std::memcpy(to, from, 16);
  to += head;
  from += head;
  bytes -= head;
  std::size_t i = 0;
  for (; i + 64 <= bytes; i += 64) {
    __m128i line[4];
    for (std::size_t k = 0; k < 4; ++k) line[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i) + k);
    for (std::size_t k = 0; k < 4; ++k) {
      if constexpr (kStreams)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + i) + k, line[k]);
      else
        _mm_store_si128(reinterpret_cast<__m128i*>(to + i) + k, line[k]);
    }
  }
  std::memcpy(to + i, from + i, bytes - i);
}

/// The ranges don't overlap.
inline void copy_block(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes < 1024)
    std::memcpy(to, from, bytes);
  else
    copy_lines<false>(static_cast<char*>(to), static_cast<const char*>(from), bytes);
}
/// The same past the caches, where `streams`. A stream_fence() must follow before anyone is told.
inline void copy_block(void* to, const void* from, std::size_t bytes, bool streams) noexcept {
  if (!streams || bytes < 1024)
    copy_block(to, from, bytes);
  else
    copy_lines<true>(static_cast<char*>(to), static_cast<const char*>(from), bytes);
}
inline void stream_fence() noexcept { _mm_sfence(); }
#else
inline void copy_block(void* to, const void* from, std::size_t bytes) noexcept { std::memcpy(to, from, bytes); }
inline void copy_block(void* to, const void* from, std::size_t bytes, bool) noexcept { std::memcpy(to, from, bytes); }
inline void stream_fence() noexcept {}
#endif

}  // namespace shoal::python

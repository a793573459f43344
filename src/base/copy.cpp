// SPDX-License-Identifier: Apache-2.0
#include "base/copy.hpp"

namespace shoal {
namespace {

template <std::size_t Width>
void copy_elements(char* to, const char* from, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t blocks) noexcept {
  for (std::size_t i = 0; i < blocks; ++i, to += dst, from += sst) std::memcpy(to, from, Width);
}

#ifdef SHOAL_COPY_BY_VECTORS
// Wide enough for every instruction set: compiled to two or four narrower ones where there are no 64-byte registers.
using Vector = long long __attribute__((vector_size(64), may_alias));
struct __attribute__((packed, may_alias)) UnalignedVector {
  Vector value;
};

const UnalignedVector& vector_at(const char* from) noexcept { return *reinterpret_cast<const UnalignedVector*>(from); }
UnalignedVector& vector_at(char* to) noexcept { return *reinterpret_cast<UnalignedVector*>(to); }

// Aligned stores between an unaligned head and tail. `bytes` is four vectors or more, the ranges don't overlap.
__attribute__((target_clones("avx512f", "avx2", "default"))) void copy_vectors(char* to, const char* from,
                                                                               std::size_t bytes) noexcept {
  char* const end = to + bytes;
  const char* const from_end = from + bytes;
  vector_at(to) = vector_at(from);
  const std::size_t head = sizeof(Vector) - reinterpret_cast<std::uintptr_t>(to) % sizeof(Vector);
  to += head, from += head;
  for (; to < end - 4 * sizeof(Vector); to += 4 * sizeof(Vector), from += 4 * sizeof(Vector)) {
    const Vector a = vector_at(from).value, b = vector_at(from + sizeof(Vector)).value,
                 c = vector_at(from + 2 * sizeof(Vector)).value, d = vector_at(from + 3 * sizeof(Vector)).value;
    auto* const line = reinterpret_cast<Vector*>(to);
    line[0] = a, line[1] = b, line[2] = c, line[3] = d;
  }
  for (std::size_t i = 4; i > 0; --i) vector_at(end - i * sizeof(Vector)) = vector_at(from_end - i * sizeof(Vector));
}

// The processor's own copy, from an aligned start of the destination: it is slower to any other.
void copy_string(char* to, const char* from, std::size_t bytes) noexcept {
  vector_at(to) = vector_at(from);
  const std::size_t head = sizeof(Vector) - reinterpret_cast<std::uintptr_t>(to) % sizeof(Vector);
  to += head, from += head, bytes -= head;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

bool is_zen_3_or_4() noexcept { return __builtin_cpu_is("amdfam19h"); }
// The only AMD processors with these instructions; the compilers of this time have no name for them.
bool is_zen_5() noexcept { return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512vp2intersect"); }
#endif

}  // namespace

#ifdef SHOAL_COPY_BY_VECTORS
void copy_by_vectors(void* to, const void* from, std::size_t bytes) noexcept {
  static_assert(tuned::kVectorCopyBytes >= 4 * sizeof(Vector));
  const auto a = reinterpret_cast<std::uintptr_t>(to), b = reinterpret_cast<std::uintptr_t>(from);
  if (a - b < bytes || b - a < bytes) {
    std::memmove(to, from, bytes);
  } else if (bytes <= tuned::kMostVectorCopyBytes || (bytes <= tuned::kSlowStringCopyBytes && is_zen_3_or_4())) {
    copy_vectors(static_cast<char*>(to), static_cast<const char*>(from), bytes);
  } else if (is_zen_5()) {
    copy_string(static_cast<char*>(to), static_cast<const char*>(from), bytes);
  } else {
    std::memmove(to, from, bytes);
  }
}
#endif

void copy_strided(char* to, const char* from, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t bytes,
                  std::size_t blocks) noexcept {
  switch (bytes) {
    case 1: return copy_elements<1>(to, from, dst, sst, blocks);
    case 2: return copy_elements<2>(to, from, dst, sst, blocks);
    case 4: return copy_elements<4>(to, from, dst, sst, blocks);
    case 8: return copy_elements<8>(to, from, dst, sst, blocks);
    case 16: return copy_elements<16>(to, from, dst, sst, blocks);
    default:
      for (std::size_t i = 0; i < blocks; ++i, to += dst, from += sst) copy_shared(to, from, bytes);
  }
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "base/copy.hpp"

namespace shoal {
namespace {

template <std::size_t Width>
void copy_elements(char* to, const char* from, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t blocks) noexcept {
  for (std::size_t i = 0; i < blocks; ++i, to += dst, from += sst) std::memcpy(to, from, Width);
}

}  // namespace

void copy_strided(char* to, const char* from, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t bytes, std::size_t blocks) noexcept {
  switch (bytes) {
    case 1: return copy_elements<1>(to, from, dst, sst, blocks);
    case 2: return copy_elements<2>(to, from, dst, sst, blocks);
    case 4: return copy_elements<4>(to, from, dst, sst, blocks);
    case 8: return copy_elements<8>(to, from, dst, sst, blocks);
    case 16: return copy_elements<16>(to, from, dst, sst, blocks);
    default:
      for (std::size_t i = 0; i < blocks; ++i, to += dst, from += sst) std::memmove(to, from, bytes);
  }
}

}  // namespace shoal

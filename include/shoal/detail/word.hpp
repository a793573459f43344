// SPDX-License-Identifier: Apache-2.0
/// \file
/// Unsigned integers that stand for other types of the same size and alignment.
#pragma once

#include <bit>

#include "../types.hpp"

namespace shoal::inline v1::detail {

template <std::size_t Bytes>
struct WordOfSize;
template <>
struct WordOfSize<1> {
  using type = std::uint8_t;
};
template <>
struct WordOfSize<2> {
  using type = std::uint16_t;
};
template <>
struct WordOfSize<4> {
  using type = std::uint32_t;
};
template <>
struct WordOfSize<8> {
  using type = std::uint64_t;
};

template <class T>
using Word = typename WordOfSize<sizeof(T)>::type;

/// One load or store moves the whole object.
template <class T>
concept WordSized = (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8) && alignof(T) == sizeof(T);

template <WordSized T>
[[nodiscard]] Word<T>* word(T* object) noexcept {
  return reinterpret_cast<Word<T>*>(object);  // only its address is used here: the library moves the bytes
}
template <WordSized T>
[[nodiscard]] const Word<T>* word(const T* object) noexcept {
  return reinterpret_cast<const Word<T>*>(object);
}

}  // namespace shoal::inline v1::detail

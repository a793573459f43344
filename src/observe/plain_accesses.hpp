// SPDX-License-Identifier: Apache-2.0
// What a program's own loads and stores touched since its last call: `shoalcc --race` has the compiler announce each.
// Between two calls nothing orders them any differently, so of each byte only the first place that read it and the
// first that wrote it is kept.
#pragma once
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "comm/context.hpp"

namespace shoal {

/// Not thread safe.
class PlainAccesses final {
 public:
  /// Bytes in a row, of symmetric memory, that one place in the program read or wrote.
  struct Range {
    int pe;                 ///< whose memory
    std::uint32_t segment;  ///< its key
    std::uint64_t offset, bytes;
    std::uintptr_t site;
    bool writes;
  };

  /// @param domain  outlives this
  explicit PlainAccesses(const Domain& domain) : domain_(domain) {}
  bool empty() const noexcept { return words_.empty(); }
  /// Does nothing for memory that is not symmetric. @param site  where in the program
  void note(std::uintptr_t address, std::size_t bytes, bool writes, std::uintptr_t site);
  /// All of them, in order of place; there are none then.
  std::vector<Range> take();

 private:
  /// Eight bytes of some PE's memory.
  struct Word {
    int pe;
    std::uint32_t segment;  // its key
    std::uint64_t index;
    auto operator<=>(const Word&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Word& word) const noexcept {
      return (word.index * 0x9E3779B97F4A7C15u) ^ (static_cast<std::size_t>(word.pe) << 40) ^
             (static_cast<std::size_t>(word.segment) << 52);
    }
  };
  /// Which of the bytes were touched, and where first.
  struct Touched {
    std::uint8_t mask[2] = {0, 0};  // by load, by store
    std::uintptr_t site[2] = {0, 0};
  };
  bool locate(std::uintptr_t address, Word& word, std::uint64_t& offset) noexcept;

  const Domain& domain_;
  std::unordered_map<Word, Touched, Hash> words_;
  // Where symmetric memory is mapped at all: most of what a program touches is elsewhere.
  std::uint64_t version_ = 0;
  std::uintptr_t low_ = 0, high_ = 0;
};

}  // namespace shoal

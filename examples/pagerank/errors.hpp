// SPDX-License-Identifier: Apache-2.0
// The two ways this program fails on purpose, and the helper that makes foreign bytes printable.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pagerank {

/// The input can't be used. The text names the source, the line where there is one, and what was expected.
/// Thrown on PE 0 only, which is the only PE that reads.
class InputError final : public std::runtime_error {
 public:
  explicit InputError(const std::string& what) : std::runtime_error(what) {}
  InputError(const std::string& source, std::size_t line, const std::string& what)
      : std::runtime_error(source + ":" + std::to_string(line) + ": " + what) {}
};

/// A failure that every PE sees alike at the same call (the symmetric heap is full): PE 0 tells, all end in order.
class AgreedError final : public std::runtime_error {
 public:
  explicit AgreedError(const std::string& what) : std::runtime_error(what) {}
};

/// `text` in quotes for a message: bytes that aren't printable become \xNN, long text is cut.
std::string quoted(std::string_view text);

}  // namespace pagerank

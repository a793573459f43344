// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace pagerank {

/// Splits a stream into numbered lines, without their end (LF or CRLF). It holds one line at a time, so pipes, endless
/// files and files larger than memory are all right; a line of more than kMaxLine bytes is an InputError.
class LineReader final {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{1} << 20;

  /// `stream` stays the caller's; `source` is what messages call it.
  LineReader(std::FILE* stream, std::string source);

  /// False at the end. `line` is valid until the next call. Throws InputError when reading fails or a line is too long.
  bool next(std::string_view& line);

  const std::string& source() const { return source_; }
  /// Number of the line that next() gave last, from 1.
  std::size_t line_number() const { return line_number_; }

 private:
  bool fill();

  std::FILE* stream_;
  std::string source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t line_number_ = 0;
};

}  // namespace pagerank

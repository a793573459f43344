// SPDX-License-Identifier: Apache-2.0
#include "line_reader.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include "errors.hpp"

namespace pagerank {

std::string quoted(std::string_view text) {
  constexpr std::size_t kMaxShown = 60;
  constexpr char kHex[] = "0123456789abcdef";
  std::string shown = "\"";
  for (const char c : text.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      shown += c;
    } else {
      shown += "\\x";
      shown += kHex[byte >> 4];
      shown += kHex[byte & 15];
    }
  }
  shown += text.size() > kMaxShown ? "...\"" : "\"";
  return shown;
}

LineReader::LineReader(std::FILE* stream, std::string source)
    : stream_(stream), source_(std::move(source)), buffer_(kMaxLine + 1) {}

bool LineReader::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const std::size_t got = std::fread(buffer_.data() + end_, 1, buffer_.size() - end_, stream_);
  if (got == 0 && std::ferror(stream_) != 0) {
    throw InputError(source_ + ": cannot be read: " + std::strerror(errno));
  }
  end_ += got;
  return got != 0;
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = 0;
  for (;;) {
    const char* start = buffer_.data() + begin_;
    const auto* newline = static_cast<const char*>(std::memchr(start + searched, '\n', end_ - begin_ - searched));
    if (newline != nullptr) {
      line = std::string_view(start, static_cast<std::size_t>(newline - start));
      begin_ += line.size() + 1;
      break;
    }
    searched = end_ - begin_;
    if (searched > kMaxLine) {
      throw InputError(source_, line_number_ + 1,
                       "line is longer than " + std::to_string(kMaxLine) + " bytes: not a text file of this format");
    }
    if (!fill()) {
      if (searched == 0) return false;
      line = std::string_view(buffer_.data() + begin_, searched);  // the last line, without a newline
      begin_ = end_;
      break;
    }
  }
  ++line_number_;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return true;
}

}  // namespace pagerank

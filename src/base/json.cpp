// SPDX-License-Identifier: Apache-2.0
#include "base/json.hpp"

#include <cstddef>
#include <cstdio>

namespace shoal {
namespace {

/// The length of the UTF-8 sequence at `at`, 0 where there is none.
std::size_t sequence(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  return length;
}

}  // namespace

std::string json_string(const std::string& text) {
  std::string json = "\"";
  char code[8];
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0)
      json += "\xEF\xBF\xBD";
    else if (byte == '"' || byte == '\\')
      json += std::string("\\") + text[at];
    else if (byte < 0x20 || byte == 0x7F)
      json.append(code, static_cast<std::size_t>(std::snprintf(code, sizeof code, "\\u%04x", byte)));
    else
      json.append(text, at, length);
    at += length == 0 ? 1 : length;
  }
  return json + "\"";
}

}  // namespace shoal

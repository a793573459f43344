// SPDX-License-Identifier: Apache-2.0
#include "edge_list.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "errors.hpp"
#include "line_reader.hpp"

namespace pagerank {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// Text files have no control characters; a compressed or otherwise binary file shows one in its first bytes.
void check_text(const LineReader& reader, std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if ((byte >= 0x20 && byte != 0x7f) || byte == '\t') continue;
    char text[160];
    const bool gzip = reader.line_number() == 1 && line.substr(0, 2) == "\x1f\x8b";
    std::snprintf(text, sizeof text,
                  "byte 0x%02x at column %zu: this is not a text file; expected lines of two names, "
                  "\"SOURCE DESTINATION\"%s",
                  byte, i + 1, gzip ? " (it is compressed: run gunzip first)" : "");
    throw InputError(reader.source(), reader.line_number(), text);
  }
}

/// The fields of a line up to its comment: as many as fit are stored, all are counted.
std::size_t split(std::string_view line, std::array<std::string_view, 2>& fields) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < line.size();) {
    if (is_blank(line[i])) {
      ++i;
      continue;
    }
    if (line[i] == '#') break;
    const std::size_t start = i;
    while (i < line.size() && !is_blank(line[i])) ++i;
    if (count < fields.size()) fields[count] = line.substr(start, i - start);
    ++count;
  }
  return count;
}

}  // namespace

Graph read_edge_list(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) throw InputError(path + ": cannot be opened: " + std::strerror(errno));

  LineReader reader(file.get(), path);
  GraphBuilder builder;
  std::string_view line;
  while (reader.next(line)) {
    if (reader.line_number() == 1 && line.substr(0, 3) == "\xef\xbb\xbf") line.remove_prefix(3);  // a byte-order mark
    check_text(reader, line);
    std::array<std::string_view, 2> fields;
    const std::size_t count = split(line, fields);
    if (count == 0) continue;
    if (count != 2) {
      throw InputError(reader.source(), reader.line_number(),
                       "expected two names separated by blanks, \"SOURCE DESTINATION\", found " +
                           std::to_string(count) + (count == 1 ? " field: " : " fields: ") + quoted(line));
    }
    const Vertex source = builder.vertex(fields[0]);
    builder.add_edge(source, builder.vertex(fields[1]));
  }
  if (builder.empty()) {
    throw InputError(path + ": no edge in " + std::to_string(reader.line_number()) +
                     " lines; expected lines of two names, \"SOURCE DESTINATION\"");
  }
  return builder.finish();
}

}  // namespace pagerank

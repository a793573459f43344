// SPDX-License-Identifier: Apache-2.0
#include "relations.hpp"

#include <cstddef>

namespace pagerank {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
         c == '.' || c == '_';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// What follows the name: groups in (), [] or <>, separated by blanks or not.
bool are_qualifiers(std::string_view text) {
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const std::size_t kind = std::string_view("([<").find(text.front());
    if (kind == std::string_view::npos) return false;
    // A version may hold '<' and '>' ("(>= 1)"), so only this group's own closing character counts.
    const std::size_t close = text.find(")]>"[kind]);
    if (close == std::string_view::npos) return false;
    text.remove_prefix(close + 1);
  }
  return true;
}

/// The name in one relation, or an empty view.
std::string_view relation_name(std::string_view relation) {
  std::size_t length = 0;
  while (length < relation.size() && is_name(relation[length])) ++length;
  const std::string_view name = relation.substr(0, length);
  std::string_view rest = relation.substr(length);
  if (!rest.empty() && rest.front() == ':') {  // the architecture, as in "python3:any"
    std::size_t end = 1;
    while (end < rest.size() && is_name(rest[end])) ++end;
    if (end == 1) return {};
    rest.remove_prefix(end);
  }
  return are_qualifiers(rest) ? name : std::string_view();
}

}  // namespace

void for_each_relation(std::string_view field, const std::function<void(std::string_view)>& name,
                       const std::function<void(std::string_view)>& bad) {
  while (!field.empty()) {
    const std::size_t end = field.find_first_of(",|");
    const std::string_view relation = trimmed(field.substr(0, end));
    const bool separated_by_bar = end != std::string_view::npos && field[end] == '|';
    field.remove_prefix(end == std::string_view::npos ? field.size() : end + 1);
    if (relation.empty() && !separated_by_bar) continue;  // "a, , b" and a last comma do no harm
    const std::string_view found = relation_name(relation);
    if (found.empty()) {
      bad(relation);
    } else {
      name(found);
    }
  }
}

}  // namespace pagerank

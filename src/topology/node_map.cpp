// SPDX-License-Identifier: Apache-2.0
#include "topology/node_map.hpp"

#include <charconv>
#include <map>

#include "base/error.hpp"

namespace shoal {
namespace {

/// A specification and what it was given as, for messages.
struct Spec {
  const std::string& text;
  const char* given_as;

  [[noreturn]] void reject(const std::string& why) const {
    throw Error(Code::invalid_option,
                strf("%s\"%s\" is not valid: expected a number of nodes such as 2 (blocks), 2:cyclic, or the node of "
                     "each PE such as 0,1,0,1, but %s",
                     given_as, text.c_str(), why.c_str()));
  }

  int parse_number(const std::string& part) const {
    int number = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc{} || end != part.data() + part.size() || number < 0)
      reject(strf("\"%s\" is no number", part.c_str()));
    return number;
  }
};

}  // namespace

std::vector<int> fake_nodes(const std::string& text, int n_pes, const char* given_as) {
  const Spec spec{text, given_as};
  std::vector<int> nodes;
  if (text.find(',') != std::string::npos) {
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t end = std::min(text.find(',', start), text.size());
      nodes.push_back(spec.parse_number(text.substr(start, end - start)));
      start = end + 1;
    }
    if (nodes.size() != static_cast<std::size_t>(n_pes))
      spec.reject(strf("it has the nodes of %zu PEs, the job has %d", nodes.size(), n_pes));
    return nodes;
  }
  const std::size_t colon = text.find(':');
  const bool cyclic = colon != std::string::npos;
  if (cyclic && text.substr(colon) != ":cyclic") spec.reject(strf("\"%s\" is unknown", text.substr(colon).c_str()));
  const int count = spec.parse_number(text.substr(0, colon));
  if (count < 1) spec.reject("there must be one node at least");
  for (int pe = 0; pe < n_pes; ++pe)
    nodes.push_back(cyclic || count >= n_pes ? pe % count
                                             : static_cast<int>(static_cast<long long>(pe) * count / n_pes));
  return nodes;
}

std::vector<int> number_nodes(const std::vector<std::pair<int, int>>& names) {
  std::map<std::pair<int, int>, int> known;
  std::vector<int> nodes;
  for (const auto& name : names) nodes.push_back(known.try_emplace(name, static_cast<int>(known.size())).first->second);
  return nodes;
}

}  // namespace shoal

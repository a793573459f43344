// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pagerank {

using Vertex = std::uint32_t;
using EdgeIndex = std::uint64_t;

/// A directed graph, stored by destination: the sources of the edges into vertex v are
/// in_sources[in_offsets[v] .. in_offsets[v + 1]), in ascending order and each once.
struct Graph {
  std::vector<std::string> names;
  std::vector<EdgeIndex> in_offsets;
  std::vector<Vertex> in_sources;
  std::vector<Vertex> out_degrees;

  Vertex vertices() const { return static_cast<Vertex>(names.size()); }
  EdgeIndex edges() const { return in_sources.size(); }
  EdgeIndex in_degree(Vertex v) const { return in_offsets[v + 1] - in_offsets[v]; }
};

/// Collects named vertices and edges in any order; the same edge given twice counts once.
class GraphBuilder final {
 public:
  /// The number of the vertex of that name, which is made where there is none yet.
  Vertex vertex(std::string_view name);
  void add_edge(Vertex source, Vertex destination) { edges_.emplace_back(source, destination); }
  bool empty() const { return edges_.empty(); }

  /// Leaves the builder empty.
  Graph finish();

 private:
  std::deque<std::string> names_;  // a deque, because the map's keys point into it
  std::unordered_map<std::string_view, Vertex> index_;
  std::vector<std::pair<Vertex, Vertex>> edges_;
};

}  // namespace pagerank

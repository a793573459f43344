// SPDX-License-Identifier: Apache-2.0
#include "graph.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "errors.hpp"

namespace pagerank {

namespace {

using Edge = std::pair<Vertex, Vertex>;

/// Stable counting sort by one end of the edges; returns where each key's run starts (one entry more than keys).
template <class Key>
std::vector<EdgeIndex> sort_by(std::vector<Edge>& edges, std::size_t keys, Key key) {
  std::vector<EdgeIndex> starts(keys + 1);
  for (const Edge& edge : edges) ++starts[key(edge) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<EdgeIndex> next(starts.begin(), starts.end() - 1);
  std::vector<Edge> sorted(edges.size());
  for (const Edge& edge : edges) sorted[next[key(edge)]++] = edge;
  edges = std::move(sorted);
  return starts;
}

}  // namespace

Vertex GraphBuilder::vertex(std::string_view name) {
  const auto found = index_.find(name);
  if (found != index_.end()) return found->second;
  if (names_.size() >= std::numeric_limits<Vertex>::max()) {
    throw InputError("the graph has more than 4294967294 vertices, which is the most this program can number");
  }
  const auto number = static_cast<Vertex>(names_.size());
  index_.emplace(names_.emplace_back(name), number);
  return number;
}

Graph GraphBuilder::finish() {
  Graph graph;
  const std::size_t count = names_.size();
  index_.clear();
  graph.names.assign(std::make_move_iterator(names_.begin()), std::make_move_iterator(names_.end()));
  names_.clear();

  // By source first and then, stably, by destination: each row's sources come out in ascending order, in linear time.
  sort_by(edges_, count, [](const Edge& edge) { return edge.first; });
  sort_by(edges_, count, [](const Edge& edge) { return edge.second; });
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());

  graph.in_offsets.assign(count + 1, 0);
  graph.out_degrees.assign(count, 0);
  graph.in_sources.reserve(edges_.size());
  for (const Edge& edge : edges_) {
    ++graph.in_offsets[edge.second + std::size_t{1}];
    ++graph.out_degrees[edge.first];
    graph.in_sources.push_back(edge.first);
  }
  std::partial_sum(graph.in_offsets.begin(), graph.in_offsets.end(), graph.in_offsets.begin());
  edges_.clear();
  edges_.shrink_to_fit();
  return graph;
}

}  // namespace pagerank

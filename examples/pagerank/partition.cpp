// SPDX-License-Identifier: Apache-2.0
#include "partition.hpp"

namespace pagerank {

std::vector<Vertex> balanced_partition(const Graph& graph, int parts) {
  const Vertex vertices = graph.vertices();
  const EdgeIndex total = graph.edges() + vertices;
  const auto count = static_cast<EdgeIndex>(parts);
  std::vector<Vertex> first(count + 1, vertices);
  first[0] = 0;
  Vertex v = 0;
  for (EdgeIndex part = 1; part < count; ++part) {
    // total * part / count, without the overflow of the product
    const EdgeIndex wanted = total / count * part + total % count * part / count;
    const auto cost_before = [&](Vertex vertex) { return graph.in_offsets[vertex] + vertex; };
    while (v < vertices && cost_before(v) < wanted) ++v;
    // One vertex may have more edges than a whole part: cut on the nearer side of it.
    if (v > first[part - 1] && cost_before(v) - wanted > wanted - cost_before(v - 1)) --v;
    first[part] = v;
  }
  return first;
}

}  // namespace pagerank

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "graph.hpp"
#include "symmetric_array.hpp"

namespace pagerank {

/// One PE's part of the graph: the vertices ("rows") [first[me], first[me + 1]) with their incoming edges.
struct Part {
  Part(std::vector<Vertex> partition, EdgeIndex all_edges, std::size_t max_rows, std::size_t max_edges);

  Vertex vertices() const { return first.back(); }
  std::size_t rows(int pe) const {
    return first[static_cast<std::size_t>(pe) + 1] - first[static_cast<std::size_t>(pe)];
  }
  EdgeIndex local_edges() const { return in_offsets[rows(me)]; }

  int me;
  int pes;
  std::vector<Vertex> first;             ///< where each PE's vertices begin; one entry more than PEs
  EdgeIndex edges;                       ///< of the whole graph
  SymmetricArray<EdgeIndex> in_offsets;  ///< of my rows, counted from my first edge
  SymmetricArray<Vertex> in_sources;     ///< of my rows; numbers in the whole graph
  SymmetricArray<Vertex> out_degrees;    ///< of my rows
};

/// Collective. PE 0 passes the graph and puts each PE's part into that PE's heap; the others pass null and wait. Where
/// PE 0, too, passes null (it couldn't read the graph), all PEs get null.
std::unique_ptr<Part> distribute(const Graph* graph);

}  // namespace pagerank

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "distribute.hpp"
#include "graph.hpp"

namespace pagerank {

/// The vertices of other PEs with an edge to one of mine ("ghosts"), and where each contribution has its place in my
/// array of them: ghosts of lower PEs, my own rows, ghosts of higher PEs; that is, in ascending order of the vertex.
struct Ghosts {
  std::vector<Vertex> ids;          ///< ascending, so each owner's are together
  std::vector<std::size_t> starts;  ///< where each PE's begin in `ids`; one entry more than PEs
  std::size_t own_begin = 0;        ///< place of my first row
  std::vector<Vertex> columns;      ///< for each of my edges: the place of its source
};

Ghosts find_ghosts(const Part& part);

}  // namespace pagerank

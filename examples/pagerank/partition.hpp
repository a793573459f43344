// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "graph.hpp"

namespace pagerank {

/// Cuts the vertices into `parts` runs, part p being [first[p], first[p + 1]): each has about the same number of
/// vertices and incoming edges together, which is what an iteration costs. Runs may be empty (more parts than
/// vertices).
std::vector<Vertex> balanced_partition(const Graph& graph, int parts);

}  // namespace pagerank

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph.hpp"

namespace pagerank {

/// `steps` steps of PageRank on the whole graph, in the plain way: each vertex hands its score out along its edges.
/// It shares no code with the distributed iteration, which it is to check.
std::vector<double> serial_scores(const Graph& graph, double damping, std::int64_t steps);

/// The `count` vertices with the highest scores, highest first. Scores that agree to 13 digits count as equal, and then
/// the name decides, so that rounding doesn't decide on the order.
std::vector<Vertex> ranking(const Graph& graph, const std::vector<double>& scores, std::size_t count);

struct Comparison {
  double max_difference = 0;
  bool same_order = true;
  /// Where the order first differs: from 1, 0 if nowhere.
  std::size_t differs_at = 0;

  static constexpr double kLimit = 1e-12;
  bool passed() const { return max_difference <= kLimit && same_order; }
};

/// Compares scores with those of the serial run. Two vertices may be in each other's places of `order` where the serial
/// scores of both agree to kLimit times the score.
Comparison compare(const Graph& graph, const std::vector<double>& scores, const std::vector<Vertex>& order,
                   const std::vector<double>& reference);

}  // namespace pagerank

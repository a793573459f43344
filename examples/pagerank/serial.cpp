// SPDX-License-Identifier: Apache-2.0
#include "serial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace pagerank {

namespace {

/// The edges by source: the targets of v's edges are targets[offsets[v] .. offsets[v + 1]).
struct OutEdges {
  std::vector<EdgeIndex> offsets;
  std::vector<Vertex> targets;

  explicit OutEdges(const Graph& graph) : offsets(graph.names.size() + 1), targets(graph.in_sources.size()) {
    for (std::size_t v = 0; v < graph.names.size(); ++v) offsets[v + 1] = offsets[v] + graph.out_degrees[v];
    std::vector<EdgeIndex> next(offsets.begin(), offsets.end() - 1);
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      for (EdgeIndex e = graph.in_offsets[v]; e < graph.in_offsets[v + std::size_t{1}]; ++e) {
        targets[next[graph.in_sources[e]]++] = v;
      }
    }
  }
};

/// The score to 43 bits (13 digits).
double rounded(double score) {
  int exponent = 0;
  const double mantissa = std::frexp(score, &exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, 43)), exponent - 43);
}

}  // namespace

std::vector<double> serial_scores(const Graph& graph, double damping, std::int64_t steps) {
  const OutEdges out(graph);
  const std::size_t count = graph.names.size();
  const auto vertices = static_cast<double>(count);
  std::vector<double> scores(count, 1.0 / vertices);
  std::vector<double> received(count);
  for (std::int64_t step = 0; step < steps; ++step) {
    std::fill(received.begin(), received.end(), 0.0);
    double dangling = 0;
    for (std::size_t v = 0; v < count; ++v) {
      if (graph.out_degrees[v] == 0) dangling += scores[v];
      const double share = scores[v] / graph.out_degrees[v];  // used only where there are edges
      for (EdgeIndex e = out.offsets[v]; e < out.offsets[v + 1]; ++e) received[out.targets[e]] += share;
    }
    for (std::size_t v = 0; v < count; ++v) {
      scores[v] = (1.0 - damping) / vertices + damping * (received[v] + dangling / vertices);
    }
  }
  return scores;
}

std::vector<Vertex> ranking(const Graph& graph, const std::vector<double>& scores, std::size_t count) {
  std::vector<Vertex> order(scores.size());
  std::iota(order.begin(), order.end(), Vertex{0});
  count = std::min(count, order.size());
  std::vector<double> keys(scores.size());
  std::transform(scores.begin(), scores.end(), keys.begin(), rounded);
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
      [&](Vertex a, Vertex b) { return keys[a] != keys[b] ? keys[a] > keys[b] : graph.names[a] < graph.names[b]; });
  order.resize(count);
  return order;
}

Comparison compare(const Graph& graph, const std::vector<double>& scores, const std::vector<Vertex>& order,
                   const std::vector<double>& reference) {
  Comparison result;
  for (std::size_t v = 0; v < scores.size(); ++v) {
    const double difference = std::abs(scores[v] - reference[v]);
    result.max_difference =
        std::max(result.max_difference, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
  }
  const std::vector<Vertex> expected = ranking(graph, reference, order.size());
  for (std::size_t i = 0; i < order.size() && result.same_order; ++i) {
    const double wanted = reference[expected[i]];
    result.same_order = std::abs(reference[order[i]] - wanted) <= Comparison::kLimit * wanted;
    if (!result.same_order) result.differs_at = i + 1;
  }
  return result;
}

}  // namespace pagerank

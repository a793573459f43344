// SPDX-License-Identifier: Apache-2.0
// The parts of the PageRank example that need no job: above all, that its check against the serial run can fail.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "graph.hpp"
#include "partition.hpp"
#include "relations.hpp"
#include "serial.hpp"

namespace pagerank {
namespace {

Graph star(int leaves) {
  GraphBuilder builder;
  const Vertex hub = builder.vertex("hub");
  for (int i = 0; i < leaves; ++i) builder.add_edge(builder.vertex("leaf" + std::to_string(i)), hub);
  return builder.finish();
}

/// a -> b -> c -> a, d -> a: four different scores but for none.
Graph small_graph() {
  GraphBuilder builder;
  const std::vector<std::pair<const char*, const char*>> edges = {{"a", "b"}, {"b", "c"}, {"c", "a"}, {"d", "a"}};
  for (const auto& [source, destination] : edges) {
    const Vertex from = builder.vertex(source);
    builder.add_edge(from, builder.vertex(destination));
  }
  return builder.finish();
}

class Check : public ::testing::Test {
 protected:
  Comparison compare_with(const std::vector<double>& scores) const {
    return compare(graph_, scores, ranking(graph_, scores, 4), reference_);
  }

  const Graph graph_ = small_graph();
  const std::vector<double> reference_ = serial_scores(graph_, 0.85, 100);
};

TEST_F(Check, PassesForTheSameScores) {
  EXPECT_TRUE(compare_with(reference_).passed());
  EXPECT_EQ(compare_with(reference_).max_difference, 0);
}

TEST_F(Check, FailsForOneScoreThatDiffers) {
  std::vector<double> scores = reference_;
  scores[1] += 1e-11;
  EXPECT_FALSE(compare_with(scores).passed());
  EXPECT_NEAR(compare_with(scores).max_difference, 1e-11, 1e-15);
}

TEST_F(Check, FailsForAScoreThatIsNotANumberWhereverItIs) {
  for (std::size_t v = 0; v < reference_.size(); ++v) {
    std::vector<double> scores = reference_;
    scores[v] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(compare(graph_, scores, ranking(graph_, reference_, 4), reference_).passed()) << v;
  }
}

TEST_F(Check, FailsForAnotherOrderAndSaysWhere) {
  std::vector<Vertex> order = ranking(graph_, reference_, 4);
  std::swap(order[1], order[2]);
  const Comparison comparison = compare(graph_, reference_, order, reference_);
  EXPECT_FALSE(comparison.passed());
  EXPECT_EQ(comparison.differs_at, 2u);
}

TEST(Ranking, EqualScoresAreInTheOrderOfTheirNames) {
  const Graph graph = star(3);
  std::vector<double> scores = serial_scores(graph, 0.85, 50);
  scores[3] *= 1 + 1e-15;  // rounding must not decide
  const std::vector<Vertex> order = ranking(graph, scores, 10);
  ASSERT_EQ(order.size(), 4u);
  EXPECT_EQ(graph.names[order[0]], "hub");
  EXPECT_EQ(graph.names[order[1]], "leaf0");
  EXPECT_EQ(graph.names[order[3]], "leaf2");
}

TEST(Builder, KeepsEachEdgeOnceAndSourcesInOrder) {
  GraphBuilder builder;
  const Vertex a = builder.vertex("a"), b = builder.vertex("b"), c = builder.vertex("c");
  for (const auto& [from, to] : std::vector<std::pair<Vertex, Vertex>>{{c, a}, {b, a}, {c, a}, {a, a}, {a, c}}) {
    builder.add_edge(from, to);
  }
  const Graph graph = builder.finish();
  EXPECT_EQ(graph.in_offsets, (std::vector<EdgeIndex>{0, 3, 3, 4}));
  EXPECT_EQ(graph.in_sources, (std::vector<Vertex>{a, b, c, a}));
  EXPECT_EQ(graph.out_degrees, (std::vector<Vertex>{2, 1, 1}));
}

TEST(Partition, CoversAllVerticesInOrderWithAnyNumberOfParts) {
  for (const int leaves : {0, 1, 2, 10, 1000}) {
    const Graph graph = leaves == 0 ? [] { GraphBuilder b; b.vertex("alone"); return b.finish(); }() : star(leaves);
    for (int parts = 1; parts <= 20; ++parts) {
      const std::vector<Vertex> first = balanced_partition(graph, parts);
      ASSERT_EQ(first.size(), static_cast<std::size_t>(parts) + 1);
      EXPECT_EQ(first.front(), 0u);
      EXPECT_EQ(first.back(), graph.vertices());
      for (std::size_t p = 0; p + 1 < first.size(); ++p) EXPECT_LE(first[p], first[p + 1]);
    }
  }
}

TEST(Partition, BalancesVerticesAndEdgesTogether) {
  GraphBuilder builder;  // 1000 vertices; the edges into the first 100 are as many as all other work
  for (int v = 0; v < 1000; ++v) builder.vertex(std::to_string(v));
  for (Vertex v = 0; v < 100; ++v) {
    for (Vertex k = 0; k < 20; ++k) builder.add_edge((v * 37 + k * 11 + 1) % 1000, v);
  }
  const Graph graph = builder.finish();
  const std::vector<Vertex> first = balanced_partition(graph, 4);
  for (std::size_t p = 0; p < 4; ++p) {
    const EdgeIndex cost = graph.in_offsets[first[p + 1]] - graph.in_offsets[first[p]] + first[p + 1] - first[p];
    EXPECT_NEAR(static_cast<double>(cost), 750.0, 25.0) << "part " << p;
  }
}

TEST(Relations, NamesAreFoundAndTheRestIsReported) {
  std::vector<std::string> names, bad;
  for_each_relation(
      "a, b:any (>= 1) [amd64 i386] <!x> <y> | c(= 2),\n d | , , ${e}, f g, h (",
      [&](std::string_view name) { names.emplace_back(name); },
      [&](std::string_view relation) { bad.emplace_back(relation); });
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(bad, (std::vector<std::string>{"${e}", "f g", "h ("}));
}

}  // namespace
}  // namespace pagerank

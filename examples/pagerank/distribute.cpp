// SPDX-License-Identifier: Apache-2.0
#include "distribute.hpp"

#include <shmem.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "partition.hpp"

namespace pagerank {

namespace {

/// What PE 0 tells the others before they can make room for their parts; the partition follows it.
enum HeaderWord : std::size_t { kHaveGraph, kEdges, kMaxRows, kMaxEdges, kHeaderWords };

void fill_header(const Graph& graph, int pes, SymmetricArray<std::uint64_t>& header) {
  const std::vector<Vertex> first = balanced_partition(graph, pes);
  header[kHaveGraph] = 1;
  header[kEdges] = graph.edges();
  for (std::size_t pe = 0; pe + 1 < first.size(); ++pe) {
    header[kMaxRows] = std::max<std::uint64_t>(header[kMaxRows], first[pe + 1] - first[pe]);
    header[kMaxEdges] = std::max(header[kMaxEdges], graph.in_offsets[first[pe + 1]] - graph.in_offsets[first[pe]]);
  }
  std::copy(first.begin(), first.end(), header.data() + kHeaderWords);
}

void put_part(const Graph& graph, Part& part, std::uint64_t* arrived, int pe) {
  const Vertex begin = part.first[static_cast<std::size_t>(pe)];
  const std::size_t rows = part.rows(pe);
  const EdgeIndex first_edge = graph.in_offsets[begin];
  const EdgeIndex edges = graph.in_offsets[begin + rows] - first_edge;
  std::vector<EdgeIndex> offsets(rows + 1);
  for (std::size_t row = 0; row <= rows; ++row) offsets[row] = graph.in_offsets[begin + row] - first_edge;

  shmem_uint32_put(part.in_sources.data(), graph.in_sources.data() + first_edge, edges, pe);
  shmem_uint32_put(part.out_degrees.data(), graph.out_degrees.data() + begin, rows, pe);
  shmem_fence();  // a signal follows its own data only; the fence puts the two arrays above before it, too
  shmem_uint64_put_signal(part.in_offsets.data(), offsets.data(), rows + 1, arrived, 1, SHMEM_SIGNAL_SET, pe);
}

}  // namespace

Part::Part(std::vector<Vertex> partition, EdgeIndex all_edges, std::size_t max_rows, std::size_t max_edges)
    : me(shmem_my_pe()),
      pes(shmem_n_pes()),
      first(std::move(partition)),
      edges(all_edges),
      in_offsets(max_rows + 1),
      in_sources(max_edges),
      out_degrees(max_rows) {}

std::unique_ptr<Part> distribute(const Graph* graph) {
  const int me = shmem_my_pe();
  const int pes = shmem_n_pes();
  SymmetricArray<std::uint64_t> header(kHeaderWords + static_cast<std::size_t>(pes) + 1);
  SymmetricArray<std::uint64_t> arrived(2);  // the signals: of the header, of the part

  if (me == 0) {
    if (graph != nullptr) fill_header(*graph, pes, header);
    for (int pe = 1; pe < pes; ++pe) {
      shmem_uint64_put_signal(header.data(), header.data(), header.size(), &arrived[0], 1, SHMEM_SIGNAL_SET, pe);
    }
  } else {
    shmem_signal_wait_until(&arrived[0], SHMEM_CMP_EQ, 1);
  }
  if (header[kHaveGraph] == 0) return nullptr;

  std::vector<Vertex> first(static_cast<std::size_t>(pes) + 1);
  std::transform(header.data() + kHeaderWords, header.data() + header.size(), first.begin(),
                 [](std::uint64_t vertex) { return static_cast<Vertex>(vertex); });
  auto part = std::make_unique<Part>(std::move(first), header[kEdges], header[kMaxRows], header[kMaxEdges]);
  if (me == 0) {
    for (int pe = 0; pe < pes; ++pe) put_part(*graph, *part, &arrived[1], pe);
  }
  shmem_signal_wait_until(&arrived[1], SHMEM_CMP_EQ, 1);
  return part;
}

}  // namespace pagerank

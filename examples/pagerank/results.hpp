// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "distribute.hpp"
#include "exchange.hpp"
#include "iterate.hpp"

namespace pagerank {

/// What one PE had to do and how long it took.
struct PeSummary {
  std::uint64_t rows;
  std::uint64_t edges;
  std::uint64_t ghosts;
  std::uint64_t destinations;
  Times times;
};

struct Results {
  std::vector<double> scores;        ///< of all vertices
  std::vector<PeSummary> summaries;  ///< of all PEs
};

/// Collective: every PE puts its scores and its summary into PE 0's heap. The others get an empty result.
Results gather(const Part& part, const Exchange& exchange, const Iteration& iteration);

}  // namespace pagerank

// SPDX-License-Identifier: Apache-2.0
#include "results.hpp"

#include <shmem.h>

#include "symmetric_array.hpp"

namespace pagerank {

Results gather(const Part& part, const Exchange& exchange, const Iteration& iteration) {
  const auto me = static_cast<std::size_t>(part.me);
  SymmetricArray<double> scores(part.vertices());
  SymmetricArray<PeSummary> summaries(static_cast<std::size_t>(part.pes));

  const PeSummary mine{part.rows(part.me), part.local_edges(), exchange.ghosts().ids.size(), exchange.destinations(),
                       iteration.times};
  shmem_double_put(scores.data() + part.first[me], iteration.scores.data(), iteration.scores.size(), 0);
  shmem_putmem(&summaries[me], &mine, sizeof mine, 0);
  shmem_barrier_all();

  if (part.me != 0) return {};
  return {std::vector<double>(scores.data(), scores.data() + scores.size()),
          std::vector<PeSummary>(summaries.data(), summaries.data() + summaries.size())};
}

}  // namespace pagerank

// SPDX-License-Identifier: Apache-2.0
#include "ghosts.hpp"

#include <algorithm>
#include <iterator>

namespace pagerank {

Ghosts find_ghosts(const Part& part) {
  const auto me = static_cast<std::size_t>(part.me);
  const Vertex begin = part.first[me];
  const Vertex end = part.first[me + 1];
  const Vertex* sources = part.in_sources.data();
  const Vertex* sources_end = sources + part.local_edges();
  const auto is_own = [&](Vertex v) { return v >= begin && v < end; };

  Ghosts ghosts;
  std::copy_if(sources, sources_end, std::back_inserter(ghosts.ids), [&](Vertex v) { return !is_own(v); });
  std::sort(ghosts.ids.begin(), ghosts.ids.end());
  ghosts.ids.erase(std::unique(ghosts.ids.begin(), ghosts.ids.end()), ghosts.ids.end());

  const auto place_of = [&](Vertex v) {
    return static_cast<std::size_t>(std::lower_bound(ghosts.ids.begin(), ghosts.ids.end(), v) - ghosts.ids.begin());
  };
  for (const Vertex first : part.first) ghosts.starts.push_back(place_of(first));
  ghosts.own_begin = ghosts.starts[me];

  ghosts.columns.reserve(part.local_edges());
  const std::size_t rows = part.rows(part.me);
  std::transform(sources, sources_end, std::back_inserter(ghosts.columns), [&](Vertex v) {
    if (is_own(v)) return static_cast<Vertex>(ghosts.own_begin + (v - begin));
    return static_cast<Vertex>(place_of(v) + (v >= end ? rows : 0));
  });
  return ghosts;
}

}  // namespace pagerank

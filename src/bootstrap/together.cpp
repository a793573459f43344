// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/together.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace shoal {

Gathered Together::exchange(Mark mark, std::span<const std::byte> mine) {
  std::vector<std::byte> marked{static_cast<std::byte>(mark)};
  marked.insert(marked.end(), mine.begin(), mine.end());
  reaches_ = false;
  Gathered all = inner_->allgather(marked);
  reaches_ = true;
  return all;
}

Gathered Together::allgather(std::span<const std::byte> mine) {
  Gathered all = exchange(Mark::goes_on, mine);
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    if (!all[pe].empty() && all[pe][0] == static_cast<std::byte>(Mark::goes_on)) continue;
    if (all[pe].empty() || all[pe][0] != static_cast<std::byte>(Mark::failed))
      throw Error(Code::peer, strf("PE %zu runs another version of Shoal: use one installation for the whole job", pe));
    heard_ = true;
    throw Error(Code::peer, strf("PE %zu failed: %s", pe, std::string(all.text(pe).substr(1)).c_str()));
  }
  all.drop_first();
  return all;
}

/// An allgather, since all must ask for the same thing and one of them may have failed.
void Together::barrier() { allgather({}); }

bool Together::fail(const std::string& why) {
  if (started_ || !reaches_) return false;
  if (!heard_) exchange(Mark::failed, std::as_bytes(std::span(why)));
  inner_->leave();
  return true;
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <shmem.h>

#include <algorithm>

namespace pagerank {

namespace {

std::size_t maximum_over_pes(std::size_t value) {
  SymmetricArray<std::uint64_t> words(2);
  words[0] = value;
  shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, &words[1], &words[0], 1);
  return words[1];
}

}  // namespace

Exchange::Exchange(const Part& part)
    : me_(part.me),
      rows_(part.rows(part.me)),
      ghosts_(find_ghosts(part)),
      stride_(maximum_over_pes(rows_ + ghosts_.ids.size())),
      values_(2 * stride_),
      arrived_(static_cast<std::size_t>(part.pes)) {
  for (int pe = 0; pe < part.pes; ++pe) {
    const auto p = static_cast<std::size_t>(pe);
    sends_nothing_.push_back(ghosts_.starts[p] == ghosts_.starts[p + 1]);
  }
  find_destinations(part);
}

void Exchange::find_destinations(const Part& part) {
  // Each PE lays out what it needs; the owners come and get their part of it.
  SymmetricArray<std::uint64_t> starts(ghosts_.starts.size());
  SymmetricArray<Vertex> ids(maximum_over_pes(ghosts_.ids.size()));
  std::copy(ghosts_.starts.begin(), ghosts_.starts.end(), starts.data());
  std::copy(ghosts_.ids.begin(), ghosts_.ids.end(), ids.data());
  shmem_barrier_all();

  // Each PE begins with its neighbour, so that not all of them read from PE 0 at once.
  std::vector<std::uint64_t> wanted_at;
  for (int i = 1; i < part.pes; ++i) {
    const int pe = (me_ + i) % part.pes;
    std::uint64_t range[2];
    shmem_uint64_get(range, &starts[static_cast<std::size_t>(me_)], 2, pe);
    if (range[0] == range[1]) continue;
    const std::size_t count = range[1] - range[0];
    const std::size_t place =
        range[0] + (me_ > pe ? part.rows(pe) : 0);  // its own rows lie before ghosts of higher PEs
    destinations_.push_back({pe, send_rows_.size(), count, place});
    wanted_at.push_back(range[0]);
    send_rows_.resize(send_rows_.size() + count);
  }
  for (std::size_t i = 0; i < destinations_.size(); ++i) {
    const Destination& to = destinations_[i];
    shmem_uint32_get_nbi(send_rows_.data() + to.begin, &ids[wanted_at[i]], to.count, to.pe);
  }
  shmem_quiet();
  for (Vertex& row : send_rows_) row -= part.first[static_cast<std::size_t>(me_)];
  send_buffer_.resize(send_rows_.size());
}

void Exchange::send(std::uint64_t step) {
  shmem_quiet();  // the last step's blocks have left the buffer
  const double* own_values = own(step);
  double* remote_values = values_.data() + (step & 1) * stride_;
  for (const Destination& to : destinations_) {
    double* block = send_buffer_.data() + to.begin;
    const Vertex* rows = send_rows_.data() + to.begin;
    for (std::size_t i = 0; i < to.count; ++i) block[i] = own_values[rows[i]];
    shmem_double_put_signal_nbi(remote_values + to.place, block, to.count, &arrived_[static_cast<std::size_t>(me_)],
                                step + 1, SHMEM_SIGNAL_SET, to.pe);
  }
}

void Exchange::wait(std::uint64_t step) {
  shmem_uint64_wait_until_all(arrived_.data(), arrived_.size(), sends_nothing_.data(), SHMEM_CMP_GE, step + 1);
}

}  // namespace pagerank

// SPDX-License-Identifier: Apache-2.0
#include "iterate.hpp"

#include <shmem.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <utility>

namespace pagerank {

namespace {

using Clock = std::chrono::steady_clock;

/// Sums over all vertices are made of integers, in units of 2^-60: an integer sum is the same in any order. So each PE
/// gets the same sums and decides alike when to end, and the scores have the same bits on any number of PEs. Scores add
/// up to 1 and changes to 2 at most, which leaves the sign and one bit more.
std::int64_t to_fixed(double value) { return static_cast<std::int64_t>(value * 0x1p60 + 0.5); }
double from_fixed(std::int64_t value) { return static_cast<double>(value) * 0x1p-60; }

/// Adds the time between two calls of lap() to what is named.
class Stopwatch final {
 public:
  void lap(double& seconds) {
    const Clock::time_point now = Clock::now();
    seconds += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  Clock::time_point last_ = Clock::now();
};

class Iterator final {
 public:
  Iterator(const Part& part, Exchange& exchange, double damping)
      : offsets_(part.in_offsets.data()),
        columns_(exchange.ghosts().columns.data()),
        exchange_(exchange),
        damping_(damping),
        vertices_(part.vertices()),
        scores_(part.rows(part.me), 1.0 / vertices_),
        sums_(kSums),
        totals_(kSums) {
    for (std::size_t row = 0; row < scores_.size(); ++row) {
      share_.push_back(part.out_degrees[row] == 0 ? 0.0 : 1.0 / part.out_degrees[row]);
      const bool needs_ghosts = std::any_of(columns_ + offsets_[row], columns_ + offsets_[row + 1],
                                            [&](Vertex column) { return exchange.is_ghost(column); });
      (needs_ghosts ? boundary_ : interior_).push_back(static_cast<Vertex>(row));
    }
  }

  /// The contributions of the scores to begin with.
  void begin() {
    double* contributions = exchange_.own(0);
    for (std::size_t row = 0; row < scores_.size(); ++row) {
      contributions[row] = scores_[row] * share_[row];
      if (share_[row] == 0.0) sums_[kDangling] += to_fixed(scores_[row]);
    }
  }

  /// Computes step + 1 from the contributions of `step`: first the rows that need nobody else's, while those travel.
  void step(std::uint64_t step, Stopwatch& watch, Times& times) {
    const double spread = damping_ * from_fixed(totals_[kDangling]);
    base_ = (1.0 - damping_ + spread) / vertices_;
    sums_[kResidual] = 0;
    sums_[kDangling] = 0;
    update(step, interior_);
    watch.lap(times.compute);
    exchange_.wait(step);
    watch.lap(times.wait);
    update(step, boundary_);
    watch.lap(times.compute);
  }

  /// Collective: the residual of the last step. It also makes known what vertices without an edge out have to spread.
  double reduce() {
    shmem_int64_sum_reduce(SHMEM_TEAM_WORLD, totals_.data(), sums_.data(), kSums);
    return from_fixed(totals_[kResidual]);
  }

  std::vector<double> take_scores() { return std::move(scores_); }

 private:
  enum Sum : std::size_t { kResidual, kDangling, kSums };

  void update(std::uint64_t step, const std::vector<Vertex>& rows) {
    const double* values = exchange_.values(step);
    double* contributions = exchange_.own(step + 1);
    std::int64_t residual = 0;
    std::int64_t dangling = 0;
    for (const Vertex row : rows) {
      double sum = 0;
      for (EdgeIndex edge = offsets_[row]; edge < offsets_[row + std::size_t{1}]; ++edge) sum += values[columns_[edge]];
      const double score = base_ + damping_ * sum;
      residual += to_fixed(std::abs(score - scores_[row]));
      scores_[row] = score;
      contributions[row] = score * share_[row];
      if (share_[row] == 0.0) dangling += to_fixed(score);
    }
    sums_[kResidual] += residual;
    sums_[kDangling] += dangling;
  }

  const EdgeIndex* offsets_;
  const Vertex* columns_;
  Exchange& exchange_;
  double damping_;
  double vertices_;
  double base_ = 0;
  std::vector<double> scores_;
  std::vector<double> share_;  // 1 / number of edges out; 0 where there are none
  std::vector<Vertex> interior_;
  std::vector<Vertex> boundary_;
  SymmetricArray<std::int64_t> sums_;
  SymmetricArray<std::int64_t> totals_;
};

}  // namespace

Iteration iterate(const Part& part, Exchange& exchange, const Options& options,
                  const std::function<void(const Progress&)>& report) {
  Iteration result;
  Iterator iterator(part, exchange, options.damping);
  shmem_barrier_all();  // so that the times below don't count who set up more slowly
  const Clock::time_point start = Clock::now();
  Stopwatch watch;

  iterator.begin();
  watch.lap(result.times.compute);
  exchange.send(0);
  watch.lap(result.times.send);
  iterator.reduce();
  watch.lap(result.times.reduce);

  while (!result.converged && result.steps < options.iterations) {
    const auto step = static_cast<std::uint64_t>(result.steps);
    iterator.step(step, watch, result.times);
    ++result.steps;
    // Sent before it is known whether there is a next step: the blocks travel during the reduction.
    if (result.steps < options.iterations) exchange.send(step + 1);
    watch.lap(result.times.send);
    result.residual = iterator.reduce();
    watch.lap(result.times.reduce);
    result.converged = result.residual <= options.tolerance;
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    report({result.steps, result.residual, result.seconds});
  }
  shmem_barrier_all();  // the last blocks have arrived: their room may be freed
  result.scores = iterator.take_scores();
  return result;
}

}  // namespace pagerank

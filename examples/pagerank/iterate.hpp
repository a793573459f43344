// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "distribute.hpp"
#include "exchange.hpp"
#include "options.hpp"

namespace pagerank {

/// Seconds that one PE spent in the iteration, by what it did.
struct Times {
  double compute = 0;
  double send = 0;    ///< packing blocks and starting their puts
  double wait = 0;    ///< for the ghosts of others
  double reduce = 0;  ///< sums over all PEs, and the wait for the slowest of them

  double communication() const { return send + wait + reduce; }
};

struct Progress {
  std::int64_t step;
  double residual;
  double seconds;  ///< since the iteration began
};

struct Iteration {
  std::vector<double> scores;  ///< of my rows; over all vertices they add up to 1
  std::int64_t steps = 0;
  double residual = 0;  ///< of the last step: the sum of all scores' changes
  bool converged = false;
  double seconds = 0;
  Times times;
};

/// Collective. Iterates until the residual is at most options.tolerance or options.iterations steps are done; calls
/// `report` after each step. All PEs take the same number of steps, and their number doesn't change the result.
Iteration iterate(const Part& part, Exchange& exchange, const Options& options,
                  const std::function<void(const Progress&)>& report);

}  // namespace pagerank

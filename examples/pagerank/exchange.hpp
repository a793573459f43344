// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "distribute.hpp"
#include "ghosts.hpp"
#include "graph.hpp"
#include "symmetric_array.hpp"

namespace pagerank {

/// Carries the vertices' contributions between PEs: for each pair of PEs and step, one block by one put-with-signal.
///
/// The contributions that a PE needs lie in one array, in the places that Ghosts gives them: what comes from one PE is
/// one block of it, and each row is summed in the same order as in a serial run. There are two such arrays; even and
/// odd steps take turns, so step k + 1 travels while others still compute with step k. Step k + 2 may be sent only when
/// all PEs are done with step k: the caller has a reduction in every step, which sees to that.
class Exchange final {
 public:
  /// Collective: tells the ghosts' owners who needs what, by gets.
  explicit Exchange(const Part& part);

  const Ghosts& ghosts() const { return ghosts_; }
  bool is_ghost(Vertex column) const { return column < ghosts_.own_begin || column >= ghosts_.own_begin + rows_; }
  /// Contributions that I send in one step, and the PEs that I send to.
  std::size_t sent() const { return send_rows_.size(); }
  std::size_t destinations() const { return destinations_.size(); }

  const double* values(std::uint64_t step) const { return values_.data() + (step & 1) * stride_; }
  /// My own rows' places in values(step).
  double* own(std::uint64_t step) { return values_.data() + (step & 1) * stride_ + ghosts_.own_begin; }

  /// Starts to send own(step) to everyone who needs some of it.
  void send(std::uint64_t step);
  /// Returns when all ghosts of the step are in values(step).
  void wait(std::uint64_t step);

 private:
  /// A PE that needs rows of mine: send_rows_[begin .. begin + count), at `place` of its values.
  struct Destination {
    int pe;
    std::size_t begin;
    std::size_t count;
    std::size_t place;
  };

  void find_destinations(const Part& part);

  int me_;
  std::size_t rows_;
  Ghosts ghosts_;
  std::size_t stride_;
  SymmetricArray<double> values_;
  SymmetricArray<std::uint64_t> arrived_;  // one signal a PE: step + 1 when its block of that step is here
  std::vector<int> sends_nothing_;         // PEs that the wait leaves out: its status mask
  std::vector<Destination> destinations_;
  std::vector<Vertex> send_rows_;
  std::vector<double> send_buffer_;
};

}  // namespace pagerank

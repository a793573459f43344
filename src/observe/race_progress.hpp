// SPDX-License-Identifier: Apache-2.0
// How far the search for races has come, now and then, where it takes long: else a job would hang in finalize without a
// word.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace shoal {

class RaceProgress final {
 public:
  static constexpr std::uint64_t kFirstNs = 2'000'000'000;  ///< at most, to the first line

  /// @param now_ns    when the search begins
  /// @param pause_ns  from line to line
  RaceProgress(std::uint64_t now_ns, std::uint64_t pause_ns)
      : began_(now_ns), pause_(pause_ns), next_(now_ns + std::min(kFirstNs, pause_ns)) {}

  /// A line, when it is time for one; empty else.
  std::string line(const char* what, std::uint64_t done, std::uint64_t total, std::uint64_t now_ns) {
    if (now_ns < next_ || total == 0) return {};
    next_ = now_ns + pause_;
    return strf("race: %s: %d %% done after %d s", what,
                static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(total)),
                static_cast<int>((now_ns - began_) / 1'000'000'000));
  }

 private:
  const std::uint64_t began_, pause_;
  std::uint64_t next_;
};

}  // namespace shoal

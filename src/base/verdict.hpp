// SPDX-License-Identifier: Apache-2.0
// Why a job stands still, in words: what follows from what each PE says that it waits for.
#pragma once
#include <string>
#include <vector>

#include "base/status_page.hpp"

namespace shoal {

/// What PeState::ended says where only the process's parent knows how; behind "it" in a sentence.
inline constexpr const char* kHasEnded = "has ended";

/// One PE, as far as it is known.
struct PeState {
  Status status;
  std::string ended = {};    ///< "exited with status 0", for a PE whose process has ended; else empty
  std::string stopped = {};  ///< "stopped by signal 19 (Stopped)", for one that does not run now; else empty
  bool known = true;         ///< false: it is on another machine, and nothing is known of it here
};

/// One sentence a finding, at most kMostVerdicts; none when nothing can be told. It judges one look at the job: calls
/// that are not older than `least_age_ns` may be passing and count as computing.
std::vector<std::string> explain(const std::vector<PeState>& pes, std::uint64_t now,
                                 std::uint64_t least_age_ns = 50'000'000);
inline constexpr std::size_t kMostVerdicts = 8;

/// Whether nothing will ever change again, whatever the PEs that compute do: PEs that wait for each other in a circle,
/// a meeting that a PE which has finished can no longer enter, or a lock that such a one holds. Empty when it cannot be
/// told; else the sentences that say why.
std::vector<std::string> find_deadlock(const std::vector<PeState>& pes, std::uint64_t now, std::uint64_t least_age_ns);
/// The same, and values that no PE is left to write. Who ends a job by it sees to it that nothing else writes: what is
/// on its way between nodes.
std::vector<std::string> find_standstill(const std::vector<PeState>& pes, std::uint64_t now,
                                         std::uint64_t least_age_ns);

/// Looks again and again whether a job can go on. A PE counts as waiting only if it has itself looked in vain since the
/// look before, so none does that is stopped or has had no processor. Not thread safe.
class StandstillWatch final {
 public:
  /// @param values  also what find_standstill finds. @return the reasons why nothing will go on, from the second look
  /// on
  std::vector<std::string> look(std::vector<PeState> pes, std::uint64_t now, std::uint64_t least_age_ns, bool values);

 private:
  struct Seen {
    std::uint64_t since_ns = UINT64_MAX, polls = 0;  // since never
    bool ended = false;
  };
  std::vector<Seen> seen_;  // by PE
};

/// "PE 3", "PEs 0 and 2", "PEs 0 to 3 and 7".
std::string list_pes(const std::vector<int>& pes);

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// SHOAL_CHECK=1: what costs too much to be checked always. Every mistake ends the job with a line that names the PEs,
// the call, both values and the line of the program.
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status_page.hpp"
#include "base/verdict.hpp"
#include "comm/context.hpp"
#include "comm/observer.hpp"

namespace shoal {

/// Thread safe.
class Checker final : public Observer {
 public:
  /// @param domain        outlives this; its segments tell what is allocated
  /// @param records       every PE's, as far as they are on this machine; null where there are none
  /// @param thread_level  as requested at init
  /// @param shortcuts     learn what was found good; may be null
  Checker(const Domain& domain, StatusRecord* records, int thread_level, Shortcuts* shortcuts);

  void begin(const Call& call) noexcept override;
  void end(const Call& call) noexcept override;
  void learned(const Call& call) noexcept override { check_collective(call); }
  void misaligned(const char* call, const char* what, const void* address, std::size_t alignment) noexcept override;
  /// Ends the job when it can never go on.
  void waiting(const char* call) noexcept override;

 private:
  /// Enough of a group to tell it from others.
  struct Members {
    int size, first, last;  // world PEs
    bool operator==(const Members&) const = default;
  };
  /// A pSync array that members of `set` may still use.
  struct PsyncUse {
    Members set;
    std::optional<Members> met_since = {};  ///< another group of this PE's
  };

  bool one_thread_calls(const Call& call) const noexcept;
  void enter_thread(const Call& call) noexcept;
  void check_guards(const Call& call, const void* always) const noexcept;
  void check_operands(const Call& call) const noexcept;
  void check_range(const Call& call, const char* what, const void* address, std::size_t bytes) const noexcept;
  void check_collective(const Call& call) const noexcept;
  void check_psync(const Call& call) noexcept;
  static Members members_of(const Group& group);
  void met(const Group& group) noexcept;
  void forget_psyncs() noexcept;
  /// All members show what they call; whoever sees another call than its own ends the job.
  void agree(const Call& call) noexcept;
  void disagree(const Call& call, const std::vector<std::uint64_t>& signatures) noexcept;
  std::string describe(const Call& call) const;
  std::string place(const void* address) const;
  /// Ends the job.
  [[noreturn]] void fatal(const char* call, const std::string& what) const noexcept;

  const Domain& domain_;
  StatusRecord* const records_;
  const int thread_level_;
  Shortcuts* const shortcuts_;
  const void* const first_thread_;  // the one that called init
  std::atomic<int> inside_{0};      // threads in calls, where only one may be
  std::atomic<const void*> inside_thread_{nullptr};
  std::mutex psync_mutex_;
  std::map<const long*, PsyncUse> psyncs_;
  std::mutex stuck_mutex_;
  StandstillWatch standstill_;
};

}  // namespace shoal

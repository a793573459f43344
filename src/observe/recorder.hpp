// SPDX-License-Identifier: Apache-2.0
// SHOAL_PROFILE and SHOAL_TRACE: counts, times and, on request, each call by itself.
//
// Reading the clock twice costs as much as a small put; so a profile without a trace times one in CallCounts::kSampled
// of the puts, gets, atomics and signals that move less than CallCounts::kTimedBytes, and takes it for all of them. The
// others go by a shortcut that counts them; with a trace, puts and gets go by one that writes them there, too.
//
// What a call is made of is no call: it counts only as bytes that went to or came from a PE.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status_page.hpp"
#include "comm/context.hpp"
#include "comm/observer.hpp"
#include "observe/profile.hpp"
#include "observe/trace_writer.hpp"

namespace shoal {

/// Thread safe: each thread has counts of its own.
class Recorder final : public Observer {
 public:
  /// @param counters  shows operations and bytes to shoal-top; may be null
  /// @param trace     null: none is wanted
  /// @param shortcuts counts what is not told; may be null
  Recorder(const Domain& domain, Counters* counters, std::unique_ptr<TraceWriter> trace, Shortcuts* shortcuts);
  ~Recorder() override;

  void begin(const Call& call) noexcept override;
  void end(const Call& call) noexcept override;
  void waited(std::uint64_t began) noexcept override;
  /// Of all threads until now; they are in no call.
  Profile profile() const;
  TraceWriter* trace() const noexcept { return trace_.get(); }

 private:
  struct Thread;
  Thread& here() noexcept;
  CallCount& note(Thread& thread, const Call& call) noexcept;
  void show(CallCount& row) noexcept;
  /// Null: there is no room.
  TraceEvent* next_event(Thread& thread) noexcept;

  const Domain& domain_;
  Counters* const counters_;
  const std::unique_ptr<TraceWriter> trace_;
  Shortcuts* const shortcuts_;
  const std::uint64_t id_;  // tells recorders apart, also those that come to lie at the same address
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace shoal

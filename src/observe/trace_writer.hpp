// SPDX-License-Identifier: Apache-2.0
// One PE's piece of a trace (base/trace_file.hpp): events go straight into the mapped file.
#pragma once
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "base/trace_file.hpp"
#include "base/unique_fd.hpp"

namespace shoal {

/// Thread safe.
class TraceWriter final {
 public:
  static constexpr std::uint64_t kRoom = 1u << 24;  ///< events, at most

  /// @param machine  the same text on PEs that share a clock. PE 0 is to make its own before
  /// the others: it removes what an earlier job left. @throws Error when the piece cannot be made, or is another job's
  TraceWriter(const std::string& file, int pe, int n_pes, const std::string& machine);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// All PEs meet about now.
  void met() noexcept;
  /// The number of a routine's name.
  std::uint16_t name(const char* text) noexcept;
  /// Room for the next events of one thread, which nobody else writes; empty when there is none.
  std::span<TraceEvent> take() noexcept {
    const std::uint64_t index = header_->events.fetch_add(kTaken, std::memory_order_relaxed);
    if (index % kStep == kStep / 2) prepare_more();
    if (index + kTaken > room_.load(std::memory_order_relaxed) && !reserve(index + kTaken - 1)) return {};
    return {events_ + index, kTaken};
  }
  /// Nothing more is written: brings the clocks' relation up to date and gives unused room back.
  void finish() noexcept;

 private:
  /// Events for which room is reserved at once: a fault a page would cost more.
  static constexpr std::uint64_t kStep = 4096;
  /// Events that a thread takes at once: an atomic operation each would wait for the stores of the calls to be done.
  static constexpr std::uint64_t kTaken = 128;
  /// Gives the piece of `file` its length, and maps it. @throws Error
  void map(const std::string& file);
  /// Brings the clocks' relation up to date. To be called with mutex_ held, as soon as there is a helper.
  void mark() noexcept;
  /// Has the next step made ready by the helper, in time.
  void prepare_more() noexcept;
  void help() noexcept;
  void stop_helper() noexcept;
  /// One step more. To be called with mutex_ held.
  void extend() noexcept;
  /// Once a step: sees to it that event `index` has memory and room on the disk, without which a store to it would kill
  /// the process, and brings the clocks' relation up to date. @return false when there is none
  bool reserve(std::uint64_t index) noexcept;
  std::string path_;
  UniqueFd fd_;  // locked while it is written
  TraceHeader* header_ = nullptr;
  char* names_ = nullptr;
  TraceEvent* events_ = nullptr;
  std::size_t length_ = 0;
  std::atomic<std::uint64_t> room_{kStep};  // 0 once finished: the file is shorter then
  std::mutex mutex_;                        // of names and of what follows
  bool full_ = false, finished_ = false;
  // Pages of a file take microseconds each: a thread of its own gets them, so that no call waits, and marks the time,
  // so that the trace of a killed PE is right. Where it cannot be started, or is late, who needs room does it itself.
  std::thread helper_;
  std::atomic<std::uint32_t> asked_{0};  // steps; a futex
  std::atomic<bool> stopped_{false};
  std::uint16_t named_ = 0;
};

}  // namespace shoal

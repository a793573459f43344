// SPDX-License-Identifier: Apache-2.0
// What check mode knows of a heap's blocks: which are alive, which were freed, and whether the bytes before and behind
// each are untouched.
//
// Thread safety: all functions.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>

#include "comm/segment_table.hpp"

namespace shoal {

class HeapGuard final : public Blocks {
 public:
  static constexpr std::size_t kBytes = 64;  ///< guarded behind each block, and before it

  /// @param segments  is told when blocks come or go; outlives this
  explicit HeapGuard(SegmentTable& segments) : segments_(segments) {}
  /// The block at `start` was handed out; kBytes behind it and before it are in no block, but may guard two.
  void allocated(char* start, std::size_t bytes) noexcept;
  void freed(char* start) noexcept;
  /// The memory goes away: who still has this sees no block any more, and nobody looks at one when this returns.
  void close() noexcept;
  static constexpr std::size_t kLooked =
      1024;  ///< blocks that damage(false, ...) looks at, going round where there are more

  Block around(std::uintptr_t address) const noexcept override;
  std::string explain(std::uintptr_t address, std::size_t bytes) const override;
  std::optional<std::string> damage(bool all, const void* always) const override;

 private:
  using Live = std::map<std::uintptr_t, std::size_t>;
  struct Freed {
    std::uintptr_t start;
    std::size_t bytes;
  };
  bool shares_guard(Live::const_iterator block, Live::const_iterator next) const;
  std::string past_end(Live::const_iterator block, std::uintptr_t first, std::uintptr_t last) const;
  std::string before_start(Live::const_iterator block, std::uintptr_t first, std::uintptr_t last) const;
  std::optional<std::string> damage_between(Live::const_iterator block, Live::const_iterator next) const;
  std::optional<std::string> damage_of(Live::const_iterator block) const;
  std::string at(std::uintptr_t address) const { return segments_.place(address); }
  /// The block that starts at or before `address`, or end().
  Live::const_iterator before(std::uintptr_t address) const noexcept;

  SegmentTable& segments_;
  mutable std::shared_mutex mutex_;
  Live live_;
  std::deque<Freed> freed_;                      // the last ones
  mutable std::atomic<std::uintptr_t> next_{0};  // where the next look begins
};

}  // namespace shoal

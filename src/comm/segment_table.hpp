// SPDX-License-Identifier: Apache-2.0
// Which address ranges of this PE are symmetric, and where the same ranges of its peers are mapped here.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace shoal {

/// One symmetric segment as this PE sees it. Immutable once added.
struct Segment {
  std::string name;          ///< for messages: "heap", "static data", "heap of a team of 4 PEs"
  std::uintptr_t base = 0;   ///< this PE's own range
  std::size_t bytes = 0;
  std::vector<char*> peers;  ///< by world PE: its range here; null where this PE may not reach it
};

/// All segments of a job. Thread safe; lookup takes no lock.
class SegmentTable final {
 public:
  static constexpr int kMost = 256;
  ~SegmentTable();
  /// @return its index. @throws Error{out_of_memory} when the table is full
  int add(std::unique_ptr<Segment> segment);
  void remove(int index);
  /// The segment that holds [address, address + bytes), or null.
  const Segment* find(std::uintptr_t address, std::size_t bytes) const noexcept;
  /// "heap [0x..., 0x...), static data [0x..., 0x...)"
  std::string describe() const;

 private:
  std::array<std::atomic<Segment*>, kMost> segments_{};
  std::atomic<int> used_{0};  // all indices at and past it are empty
  std::mutex changing_;
  std::vector<std::unique_ptr<Segment>> removed_;  // kept to the end: a lookup on another thread may still read one
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// Which address ranges of this PE are symmetric, and where the same ranges of its peers are mapped here.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shoal {

/// What of a segment has been allocated. Thread safe.
class Blocks {
 public:
  virtual ~Blocks() = default;
  struct Block {
    std::uintptr_t start = 0;
    std::size_t bytes = 0;
  };
  /// The block that is alive and holds `address`; of no bytes where there is none.
  virtual Block around(std::uintptr_t address) const noexcept = 0;
  /// Why the range does not lie in one, in words.
  virtual std::string explain(std::uintptr_t address, std::size_t bytes) const = 0;
  /// What is wrong with the bytes around one of them, in words, or nothing. May look at some each time.
  /// @param always  where a block starts that is to be looked at in any case; null: none
  virtual std::optional<std::string> damage(bool all, const void* always) const = 0;
};

/// One symmetric segment as this PE sees it. Immutable once added.
struct Segment {
  std::string name;         ///< for messages: "heap", "static data", "heap of a team of 4 PEs"
  std::uintptr_t base = 0;  ///< this PE's own range
  std::size_t bytes = 0;
  std::vector<char*> peers;   ///< by world PE: its range here; null where it is not mapped
  std::vector<bool> members;  ///< by world PE: has it such a range? What is not mapped the transport reaches
  std::uint32_t key = 0;      ///< what a transport calls it: the same at all members
  /// In check mode, of a heap. Shared: it lives as long as this, which is longer than the heap.
  std::shared_ptr<const Blocks> blocks;
};

/// Keys: the library's own words at the head of each part, the heap, the parts of the static data; from kFirstFreeKey
/// on those of further heaps, each used once.
inline constexpr std::uint32_t kControlKey = 0, kHeapKey = 1, kStaticKey = 2, kFirstFreeKey = 256;

/// All segments of a job. Thread safe; lookup takes no lock.
class SegmentTable final {
 public:
  static constexpr int kMost = 256;
  ~SegmentTable();
  /// @return its index. @throws Error{out_of_memory} when the table is full
  int add(std::unique_ptr<Segment> segment);
  void remove(int index);
  /// The segment that holds [address, address + bytes), or null.
  /// @param index  if not null, gets its index
  const Segment* find(std::uintptr_t address, std::size_t bytes, int* index = nullptr) const noexcept;
  /// The largest range around `address` of which it can be said that all of it may be used: a block, where blocks are
  /// known; else a segment; else, with no segment, what lies between two. Of no bytes between blocks.
  struct Range {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    const Segment* segment = nullptr;
  };
  Range around(std::uintptr_t address) const noexcept;
  /// Where `address` belongs to a peer's memory as it is mapped here; null: it does not.
  const Segment* find_at_peer(std::uintptr_t address, int& pe, std::uint64_t& offset) const noexcept;
  /// From the lowest to the highest address of symmetric memory, this PE's and that of its peers.
  std::pair<std::uintptr_t, std::uintptr_t> span() const noexcept;
  /// What around() found is true as long as this stays the same; no two tables of a process ever have the same.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  /// Blocks have come or gone.
  void changed() noexcept { version_.store(unique(), std::memory_order_release); }
  /// A number that this process has not had before.
  static std::uint64_t unique() noexcept;
  const Segment* find_key(std::uint32_t key) const noexcept;
  /// What is wrong with the bytes around some block, where blocks are known; or nothing.
  std::optional<std::string> damage(bool all, const void* always = nullptr) const;
  /// How many further segments this PE has seen at most. Of its members' counts a new one takes the largest, as part of
  /// its key, and all count on from there: no key is used twice where somebody might still know it.
  std::uint32_t generation() const noexcept { return generation_.load(std::memory_order_relaxed); }
  void next_generation(std::uint32_t used) noexcept {
    std::uint32_t seen = generation();
    while (seen <= used && !generation_.compare_exchange_weak(seen, used + 1, std::memory_order_relaxed)) {
    }
  }
  /// "heap + 0x440", "static data + 0x48 (counter)": the same on all PEs; of what is not symmetric the bare address.
  /// Static data is counted from the first page that has any.
  std::string place(const void* address) const;
  std::string place(std::uintptr_t address) const { return place(reinterpret_cast<const void*>(address)); }
  /// The same by a segment's key, which is that of a team's heap where it has been destroyed since.
  std::string place(std::uint32_t key, std::uint64_t offset) const;
  /// "heap [0x..., 0x...), static data [0x..., 0x...)"
  std::string describe() const;

 private:
  std::array<std::atomic<Segment*>, kMost> segments_{};
  std::atomic<int> used_{0};  // all indices at and past it are empty
  std::atomic<std::uint32_t> generation_{0};
  std::atomic<std::uint64_t> version_{unique()};
  std::mutex changing_;
  std::vector<std::unique_ptr<Segment>> removed_;  // kept to the end: a lookup on another thread may still read one
};

}  // namespace shoal

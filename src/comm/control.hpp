// SPDX-License-Identifier: Apache-2.0
// The library's own words inside the heap segment: the head of each PE's part, before the user's heap. The user's
// allocator never hands them out and the address check of puts and gets never accepts them.
//
//   offset                    what
//        0                    Doorbell of this PE
//      256                    NodeWords (only those of a node's first PE are used, by all PEs of the node)
//      512                    pair words: one 64-bit counter per PE, for meetings of two (shmemx_sync_pe)
//   512 + 8n, to a page       team slots: kTeamSlots of kTeamSlotBytes each (layout in team/slot.hpp)
//   ... to 2 MiB              nobody's, 64 bytes at least: check mode guards the heap's first block by them; then the
//                             user's heap begins (14 MiB on; only pages that are used take memory)
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace shoal {

/// What one PE sleeps on, and who sleeps. Waiters: announce yourself, full fence, look again, sleep. Writers: store,
/// full fence, look for sleepers. One of the two always sees the other.
struct Doorbell {
  alignas(64) std::atomic<std::uint32_t> word;           ///< the futex; every ring adds one
  alignas(64) std::atomic<std::uint32_t> sync_sleepers;  ///< threads asleep on the library's words (barriers, locks)
  std::atomic<std::uint32_t> user_sleepers;              ///< threads asleep on the user's words (wait_until, signals)
};
static_assert(sizeof(Doorbell) == 128);

struct NodeWords {
  /// Threads of any PE asleep on a user's word: what quiet looks at before it looks at each doorbell.
  alignas(64) std::atomic<std::uint32_t> user_sleepers;
};
static_assert(sizeof(NodeWords) == 64);

inline constexpr int kTeamSlots = 1088;  ///< the world, the shared team and at least 1,024 of the user's
inline constexpr std::size_t kTeamSlotBytes = 3 * 4096;

/// Where things are in the head of a PE's part, for a job of `n_pes`.
struct ControlLayout {
  static constexpr std::size_t kDoorbell = 0, kNode = 256, kPairs = 512, kBeforeHeap = 64;
  std::size_t slots, bytes;
  explicit constexpr ControlLayout(int n_pes)
      : slots((kPairs + static_cast<std::size_t>(n_pes) * 8 + 4095) / 4096 * 4096),
        bytes((slots + kTeamSlots * kTeamSlotBytes + kBeforeHeap + (std::size_t{2} << 20) - 1) >> 21 << 21) {}
  // Where other nodes write: offsets into the segment kControlKey.
  static constexpr std::size_t pair(int pe) { return kPairs + static_cast<std::size_t>(pe) * 8; }
  constexpr std::size_t slot(int index) const { return slots + static_cast<std::size_t>(index) * kTeamSlotBytes; }
};

/// Typed access to the head of one PE's part; none for a PE of another node.
class Control final {
 public:
  Control() = default;
  Control(char* part, int n_pes) : part_(part), slots_(ControlLayout(n_pes).slots) {}
  bool here() const { return part_ != nullptr; }
  char* part() const { return part_; }
  Doorbell& doorbell() const { return *reinterpret_cast<Doorbell*>(part_ + ControlLayout::kDoorbell); }
  NodeWords& node() const { return *reinterpret_cast<NodeWords*>(part_ + ControlLayout::kNode); }
  std::atomic<std::uint64_t>& pair(int pe) const {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(part_ + ControlLayout::kPairs)[pe];
  }
  char* slot(int index) const { return part_ + slots_ + static_cast<std::size_t>(index) * kTeamSlotBytes; }

 private:
  char* part_ = nullptr;
  std::size_t slots_ = 0;
};

}  // namespace shoal

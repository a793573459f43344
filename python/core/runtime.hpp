// SPDX-License-Identifier: Apache-2.0
// The library's state as this process sees it: whether it runs, what lives on the symmetric heap, and the memory that
// groups and point-to-point messages work in. Thread safe; whoever calls what is collective doesn't hold the
// interpreter's lock.
#pragma once
#include <shmem.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace shoal::python {

class Block;
class Group;
class Channels;

/// Where, in the symmetric heap, groups and channels have their inboxes. The same layout on all PEs.
///
/// A slot is one group's at a time. It is free again once the group is gone on all its members: this one's, and each of
/// the others says so by adding to the slot's `left` here. Until then somebody may still write into it: a member that
/// this one gave up waiting for.
struct Pool {
  static constexpr int kSlots = 64;  ///< groups that a PE can be in at a time
  static constexpr std::size_t kMostSlotBytes = std::size_t{2} << 20;

  char* base = nullptr;  ///< also the anchor that other heap addresses are told relative to
  std::size_t slot_bytes = 0;
  std::size_t channel_bytes = 0;  ///< before the lines of `left`, which the slots follow

  static constexpr std::size_t kLeftBytes = 64;  ///< a cache line each
  std::uint64_t* left(int i) const noexcept {
    return reinterpret_cast<std::uint64_t*>(base + channel_bytes + static_cast<std::size_t>(i) * kLeftBytes);
  }
  char* slot(int i) const noexcept {
    return base + channel_bytes + kSlots * kLeftBytes + static_cast<std::size_t>(i) * slot_bytes;
  }
  std::size_t bytes() const noexcept { return channel_bytes + kSlots * (kLeftBytes + slot_bytes); }

  /// All are free: nobody else knows of any yet.
  void clear() noexcept;
  /// @return -1 when this PE is in too many groups
  int take() noexcept;
  /// Of a slot that nobody writes into: its group was not made.
  void give_back(int slot) noexcept;
  /// The group in `slot` is gone here, and so it will be on `others` more members.
  void retire(int slot, int others) noexcept;

 private:
  static constexpr int kFree = -2, kTaken = -1;
  std::mutex mutex_;
  int states_[kSlots] = {};  ///< kFree, kTaken, or how many must have left before it is free
};

/// One symmetric allocation.
struct Live {
  std::uintptr_t base;
  std::size_t bytes;
  int id;
  Block* owner;  ///< null once nothing in this process refers to it
};

class Runtime final {
 public:
  /// The only one; never destroyed, since exit handlers may still ask it.
  static Runtime& instance();

  bool running() const noexcept { return epoch() % 2 == 1; }
  /// Odd while the library runs; a new number each time.
  std::uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }  // with publish()
  int me() const noexcept { return me_; }
  int n_pes() const noexcept { return n_pes_; }
  /// Whether PEs of this machine outnumber its processors.
  bool crowded() const noexcept { return crowded_; }
  /// Whether this PE loads and stores that one's memory: a transfer then waits for nobody.
  bool mapped(int pe) const noexcept { return mapped_[static_cast<std::size_t>(pe)]; }
  Pool& pool() noexcept { return pool_; }
  /// @throws std::runtime_error between finalize and init
  std::shared_ptr<Group> world(const char* call) const;
  std::shared_ptr<Channels> channels(const char* call) const;
  /// The same; null between finalize and init.
  std::shared_ptr<Channels> channels() const noexcept;

  /// What waits for other PEs on the heap does so between these: finalize ends the wait, and goes on when all have
  /// left.
  /// @throws std::runtime_error where the job of this epoch has ended
  void enter(const std::string& who, std::uint64_t epoch);
  void leave() noexcept;

  /// Collective. @throws std::runtime_error
  void init(int thread_level);
  void finalize();

  /// @throws std::runtime_error between finalize and init
  void require(const char* call) const;
  /// @throws std::out_of_range for a PE that isn't one of `n`
  static void check_pe(const char* call, int pe, int n);

  /// Whether an allocation holds `address`.
  bool holds(const void* address) const noexcept;
  /// Collective: equal arguments on all PEs, or a std::invalid_argument that names who differs; memory that all PEs
  /// have dropped is given back first. @throws std::bad_alloc on all PEs alike
  Block* allocate(std::size_t bytes, std::size_t alignment, int type, const std::vector<std::int64_t>& shape);
  /// Collective. @throws std::invalid_argument when PEs free different arrays
  void free(Block& block);
  /// What remains of a block's life when Python drops it.
  void dropped(const Block& block) noexcept;

 private:
  void make_pool();
  void publish(std::shared_ptr<Group> world, std::shared_ptr<Channels> channels) noexcept;
  std::vector<std::uint64_t> dropped_here() const;
  void reclaim(const std::vector<std::uint64_t>& dropped_everywhere);
  void erase(int id) noexcept;
  Block* remember(void* data, std::size_t bytes);

  std::mutex life_;              // held by init and finalize
  std::atomic<int> inside_ = 0;  // between enter() and leave()
  std::atomic<std::uint64_t> epoch_ = 0;
  int me_ = -1, n_pes_ = 0, inits_ = 0;
  bool crowded_ = false;
  std::vector<bool> mapped_;
  Pool pool_;
  mutable std::mutex mutex_;  // of the rest; nobody waits, or asks for the interpreter's lock, while holding it
  std::shared_ptr<Group> world_;
  std::shared_ptr<Channels> channels_;
  std::vector<Live> live_;  // by address
  std::vector<bool> ids_;   // in use
};

/// From enter() to leave().
class Stay final {
 public:
  Stay(const std::string& who, std::uint64_t epoch) { Runtime::instance().enter(who, epoch); }
  ~Stay() { Runtime::instance().leave(); }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
};

/// The memory of one symmetric array, as a Python object that shows it by the buffer protocol. Dropping it only notes
/// that this PE needs it no more: giving memory back is collective.
class Block final {
 public:
  Block(void* data, std::size_t bytes, int id, std::uint64_t epoch) noexcept
      : data_(data), bytes_(bytes), id_(id), epoch_(epoch) {}
  ~Block() { Runtime::instance().dropped(*this); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  int id() const noexcept { return id_; }
  std::uint64_t epoch() const noexcept { return epoch_; }

 private:
  void* data_;
  std::size_t bytes_;
  int id_;
  std::uint64_t epoch_;
};

}  // namespace shoal::python

// SPDX-License-Identifier: Apache-2.0
// Context: one domain of ordering and completion. Every put, get, atomic and signal goes through one. On the load/store
// path (all PEs that this PE can map) an operation is a bounds check, one addition and the access itself.
//
// Thread safety: all operations may run on several threads at once (the load/store path keeps no state).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/bytes.hpp"
#include "base/copy.hpp"
#include "base/fence.hpp"
#include "comm/control.hpp"
#include "comm/segment_table.hpp"
#include "comm/waiter.hpp"

namespace shoal {

/// Ends the job because a call cannot be served and has no way to say so.
class Fatal {
 public:
  virtual ~Fatal() = default;
  /// `call` is the public name of the routine, `what` says what was wrong and what to do.
  [[noreturn]] virtual void fatal(const char* call, const std::string& what) const noexcept = 0;
};

/// What all contexts of a job share.
struct Domain {
  int n_pes = 0;  ///< of the world
  int me = 0;
  const SegmentTable* segments = nullptr;
  Waiter* waiter = nullptr;
  std::vector<Control> controls;  ///< by world PE
  const Fatal* fatal = nullptr;
};

/// No heap is smaller.
inline constexpr std::size_t kLeastHeapBytes = 64;

/// How much a signal operation does: SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD.
enum class SignalOp { set, add };

class Context final {
 public:
  /// The PEs that a context numbers: the world, or a team's members in order.
  struct Members {
    int n = 0;
    const int* world = nullptr;        ///< world PE of each; null: the same number
    char* const* heap_peers = nullptr; ///< the default heap of each, as mapped here
  };

  /// @param heap  the default heap: the segment that the fast path knows
  Context(const Domain& domain, const Segment& heap, Members members)
      : heap_base_(heap.base), heap_bytes_(heap.bytes), heap_peers_(members.heap_peers), n_pes_(members.n),
        world_(members.world), domain_(&domain) {}
  /// A context on which every operation fails: what stands in place of the default context before init.
  explicit constexpr Context(const Domain& none) : domain_(&none) {}

  int n_pes() const noexcept { return n_pes_; }
  const Domain& domain() const noexcept { return *domain_; }
  int world_pe(int pe) const noexcept { return world_ == nullptr ? pe : world_[pe]; }

  /// Where [address, address + bytes) of `pe` is mapped here. Null when there is nothing to access (bytes == 0). Ends the
  /// job when `pe` is no member or the range is not symmetric memory.
  [[gnu::always_inline]] char* at(const void* address, std::size_t bytes, int pe, const char* call) const noexcept {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - heap_base_;
    if (static_cast<unsigned>(pe) < static_cast<unsigned>(n_pes_) && inside_heap(offset, bytes)) [[likely]]
      return heap_peers_[pe] + offset;
    return at_slow(address, bytes, pe, call);
  }

  void put(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
    char* to = at(dest, bytes, pe, call);
    if (bytes != 0) copy_shared(to, source, bytes);
  }
  void get(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept {
    const char* from = at(source, bytes, pe, call);
    if (bytes != 0) copy_shared(dest, from, bytes);
  }

  /// One element, in one access when the processor has one of that width.
  template <class T>
  void p(T* dest, T value, int pe, const char* call) const noexcept {
    char* to = at(dest, sizeof(T), pe, call);
    if constexpr (kSingleAccess<T>)
      __atomic_store(reinterpret_cast<T*>(to), &value, __ATOMIC_RELAXED);
    else
      std::memcpy(to, &value, sizeof(T));
  }
  template <class T>
  T g(const T* source, int pe, const char* call) const noexcept {
    const char* from = at(source, sizeof(T), pe, call);
    T value;
    if constexpr (kSingleAccess<T>)
      __atomic_load(reinterpret_cast<const T*>(from), &value, __ATOMIC_RELAXED);
    else
      std::memcpy(&value, from, sizeof(T));
    return value;
  }

  /// Blocks of `block` elements of `width` bytes; `dst` and `sst` are the distances between starts of blocks, in elements.
  /// iput and iget are the case block == 1.
  void put_strided(void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block,
                   std::size_t blocks, std::size_t width, int pe, const char* call) const noexcept;
  void get_strided(void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block,
                   std::size_t blocks, std::size_t width, int pe, const char* call) const noexcept;

  /// The data are visible at `pe` before the signal is.
  void put_signal(void* dest, const void* source, std::size_t bytes, std::uint64_t* signal, std::uint64_t value,
                  int op, int pe, const char* call) const noexcept {
    put(dest, source, bytes, pe, call);
    this->signal(signal, value, op, pe, call);
  }
  void signal(std::uint64_t* signal, std::uint64_t value, int op, int pe, const char* call) const noexcept;

  /// The word of an atomic operation: at() plus the alignment check.
  template <class T>
  [[gnu::always_inline]] T* word(const T* address, int pe, const char* call) const noexcept {
    if (reinterpret_cast<std::uintptr_t>(address) % sizeof(T) != 0) [[unlikely]]
      misaligned(address, sizeof(T), call);
    return reinterpret_cast<T*>(at(address, sizeof(T), pe, call));
  }
  /// After an atomic update at `pe`, which was a full fence: wakes it if it sleeps on a word of the user's.
  void ring(int pe, Bell bell = Bell::user) const noexcept {
    shoal::ring(domain_->controls[static_cast<std::size_t>(world_pe(pe))].doorbell(), bell);
  }

  void fence() const noexcept { release_fence(); }
  void quiet() const noexcept {
    full_fence();
    if (domain_->controls[0].node().user_sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
      ring_sleepers();
  }

  /// A range of this PE's own memory that a wait, test or lock works on: ends the job unless it is symmetric and aligned.
  template <class T>
  T* own(T* address, std::size_t count, const char* call) const noexcept {
    if (reinterpret_cast<std::uintptr_t>(address) % sizeof(T) != 0) [[unlikely]]
      misaligned(address, sizeof(T), call);
    const std::size_t bytes = bytes_of(count, sizeof(T));
    if (inside_heap(reinterpret_cast<std::uintptr_t>(address) - heap_base_, bytes) && heap_bytes_ != 0) [[likely]]
      return address;
    if (bytes != 0 && domain_->segments->find(reinterpret_cast<std::uintptr_t>(address), bytes) == nullptr) [[unlikely]]
      not_symmetric(address, bytes, call);
    return address;
  }

  /// Checks that operations may be made at all: ends the job before init and after finalize.
  void require(const char* call) const noexcept {
    if (n_pes_ == 0) [[unlikely]]
      at_slow(this, 1, 0, call);
  }
  [[noreturn]] void fatal(const char* call, const std::string& what) const noexcept {
    domain_->fatal->fatal(call, what);
    __builtin_unreachable();
  }

 private:
  template <class T>
  static constexpr bool kSingleAccess = sizeof(T) <= 8 && (sizeof(T) & (sizeof(T) - 1)) == 0;

  [[gnu::always_inline]] bool inside_heap(std::uintptr_t offset, std::size_t bytes) const noexcept {
    // Every heap is larger than any single element, so for one of those a single comparison does.
    if (__builtin_constant_p(bytes) && bytes != 0 && bytes <= kLeastHeapBytes) return offset <= heap_bytes_ - bytes;
    return offset < heap_bytes_ && bytes <= heap_bytes_ - offset;
  }

  char* at_slow(const void* address, std::size_t bytes, int pe, const char* call) const noexcept;
  void check_strides(std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block, std::size_t blocks, const char* call) const noexcept;
  [[noreturn]] void not_symmetric(const void* address, std::size_t bytes, const char* call) const noexcept;
  [[noreturn]] void misaligned(const void* address, std::size_t size, const char* call) const noexcept;
  void ring_sleepers() const noexcept;

  // Everything the fast path reads is in one cache line.
  std::uintptr_t heap_base_ = 0;
  std::size_t heap_bytes_ = 0;
  char* const* heap_peers_ = nullptr;
  int n_pes_ = 0;
  const int* world_ = nullptr;
  const Domain* domain_;
};
static_assert(sizeof(Context) <= 64);

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// Context: one domain of ordering and completion. Every put, get, atomic and signal goes through one. On the load/store
// path (all PEs that this PE can map) an operation is a bounds check, one addition and the access itself. What is
// `far`, at a PE of another node, takes the path of whatever the first check does not settle, out of line, to the
// transport.
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
#include "comm/chaos.hpp"
#include "comm/control.hpp"
#include "comm/observer.hpp"
#include "comm/segment_table.hpp"
#include "comm/shortcut.hpp"
#include "comm/waiter.hpp"
#include "transport/transport.hpp"

namespace shoal {

/// Ends the job because a call cannot be served and has no way to say so.
class Fatal {
 public:
  virtual ~Fatal() = default;
  /// `call` is the public name of the routine, `what` says what was wrong and what to do.
  [[noreturn]] virtual void fatal(const char* call, const std::string& what) const noexcept = 0;
  /// The same where `what` says by itself at which lines of the program.
  [[noreturn]] virtual void fatal_at(const char* call, const std::string& what) const noexcept = 0;
};

/// What the contexts that stand in for a job look at.
inline constexpr std::atomic<std::uint32_t> kNobodySleeps{0};

/// What all contexts of a job share.
struct Domain {
  int n_pes = 0;  ///< of the world
  int me = 0;
  const SegmentTable* segments = nullptr;
  Waiter* waiter = nullptr;
  std::vector<Control> controls;  ///< by world PE
  const Fatal* fatal = nullptr;
  /// Nonzero: fence and quiet have more to do than a fence of the processor's. The node's sleepers; always, where there
  /// is a transport.
  const std::atomic<std::uint32_t>* attention = &kNobodySleeps;
  NodeWords* node = nullptr;       ///< what all PEs of this node share
  std::vector<int> node_of{};      ///< by world PE: the number of its node
  Transport* transport = nullptr;  ///< to other nodes; null: there are none
  Tally* unwaited = nullptr;       ///< answers that only quiet waits for
  Chaos* chaos = nullptr;          ///< delays what may be delayed; null: everything is done at once
  Observer* observer = nullptr;    ///< is told of every call; null: nobody
  Shortcuts* shortcuts = nullptr;  ///< let calls pass of which there is nothing to tell; null: none

  bool spans_nodes() const noexcept { return transport != nullptr; }
  /// Sets a word of the library's at a PE of another node, to be seen by its waiters. @param offset  as ControlLayout
  /// has it
  void raise_far(int pe, std::size_t offset, std::uint64_t value) const noexcept {
    transport->raise({pe, kControlKey, offset}, value);
  }
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
    const int* world = nullptr;         ///< world PE of each; null: the same number
    char* const* heap_peers = nullptr;  ///< the default heap of each, as mapped here
  };

  /// @param heap  the default heap: the segment that the fast path knows
  Context(const Domain& domain, const Segment& heap, Members members)
      : heap_base_(heap.base),
        heap_bytes_(heap.bytes),
        heap_peers_(members.heap_peers),
        fast_pes_(domain.observer == nullptr && domain.chaos == nullptr ? members.n : 0),
        n_pes_(members.n),
        world_(members.world),
        attention_(domain.attention),
        domain_(&domain) {}
  /// A context on which every operation fails: what stands in place of the default context before init.
  explicit constexpr Context(const Domain& none) : domain_(&none) {}

  std::uintptr_t heap_base() const noexcept { return heap_base_; }
  int n_pes() const noexcept { return n_pes_; }
  const Domain& domain() const noexcept { return *domain_; }
  /// Whether there is a job, and nobody who wants to be told of calls.
  bool plain() const noexcept { return fast_pes_ != 0; }
  /// A call as the observer sees it; `pe` is this context's number.
  Call call_of(const char* name, CallKind kind, int pe, const void* remote, const void* local,
               std::size_t bytes) const noexcept {
    Call call{name, kind, pe >= 0 && pe < n_pes_ ? world_pe(pe) : -1, remote, local, bytes};
    call.context = this;
    return call;
  }
  int world_pe(int pe) const noexcept { return world_ == nullptr ? pe : world_[pe]; }

  /// Where [address, address + bytes) of `pe` is mapped here. Null when there is nothing to access (bytes == 0), or
  /// when it is far. Ends the job when `pe` is no member or the range is not symmetric memory.
  [[gnu::always_inline]] char* at(const void* address, std::size_t bytes, int pe, const char* call) const noexcept {
    if (char* const there = in_heap(address, bytes, pe)) [[likely]]
      return there;
    return at_slow(address, bytes, pe, call);
  }

  /// Where a watched call finds its memory if there is nothing to tell of it; null: it must be told, or nobody watches.
  /// @param local  where an atomic operation puts its result, or null
  [[gnu::always_inline]] char* shortcut(const void* remote, const void* local, std::size_t bytes, int pe,
                                        const char* call, bool signal) const noexcept {
    Shortcut* const mine = own_shortcut(pe);
    return mine == nullptr || mine->traces() ? nullptr : mine->pass(remote, local, bytes, world_pe(pe), call, signal);
  }
  /// The same for a put or get, in the most frequent case only.
  [[gnu::always_inline]] char* quick(const void* remote, const void* local, std::size_t bytes, int pe) const noexcept {
    const Shortcut* const mine = own_shortcut(pe);
    return mine == nullptr ? nullptr : mine->pass_at_once(remote, local, bytes, world_pe(pe));
  }
  /// The same for a strided call.
  char* quick_strided(const void* remote, std::size_t remote_bytes, const void* local, std::size_t local_bytes,
                      int pe) const noexcept {
    const Shortcut* const mine = own_shortcut(pe);
    return mine == nullptr ? nullptr : mine->pass_spans_at_once(remote, remote_bytes, local, local_bytes, world_pe(pe));
  }
  /// The same in all cases; the call lasts as long as what is given back. @param local  its other side
  [[gnu::always_inline]] Passing passing(const void* remote, const void* local, std::size_t bytes, int pe,
                                         const char* call) const noexcept {
    Shortcut* const mine = own_shortcut(pe);
    if (mine == nullptr) return {nullptr, nullptr};
    if (mine->traces()) [[unlikely]]
      return mine->pass_traced(remote, local, bytes, world_pe(pe), call);
    return {mine->pass(remote, local, bytes, world_pe(pe), call, false), nullptr};
  }
  /// The same for the word of an atomic operation.
  template <class T>
  [[gnu::always_inline]] T* word_by_shortcut(const T* address, int pe, const char* call, bool signal = false,
                                             const T* local = nullptr) const noexcept {
    if (reinterpret_cast<std::uintptr_t>(address) % sizeof(T) != 0) [[unlikely]]
      return nullptr;
    return reinterpret_cast<T*>(shortcut(address, local, sizeof(T), pe, call, signal));
  }
  /// Whether a call on this PE's own memory, or on none, need not be told.
  bool has_shortcut(const Call& call) const noexcept {
    Shortcut* const mine = domain_->shortcuts == nullptr ? nullptr : domain_->shortcuts->find();
    return mine != nullptr && mine->pass_own(call.local, call.bytes);
  }

  // Each operation asks in_heap() and leaves all else to a cold function of the same arguments: called last, it costs
  // the fast path neither a stack frame nor a saved register.
  // Pointers of a type are to be aligned for it, which is told where calls are watched; those to void need not.
  template <class T>
  void put(T* dest, const std::type_identity_t<T>* source, std::size_t bytes, int pe, const char* call) const noexcept {
    if (char* const to = in_heap(dest, bytes, pe)) [[likely]]
      return copy_shared(to, source, bytes);
    aligned_slow<kAlignment<T>, &Context::put_slow>(dest, source, bytes, pe, call);
  }
  template <class T>
  void get(T* dest, const std::type_identity_t<T>* source, std::size_t bytes, int pe, const char* call) const noexcept {
    if (const char* const from = in_heap(source, bytes, pe)) [[likely]]
      return fetch(dest, from, bytes);
    aligned_slow<kAlignment<T>, &Context::get_slow>(dest, source, bytes, pe, call);
  }
  /// The same, complete after quiet.
  template <class T>
  void get_nbi(T* dest, const std::type_identity_t<T>* source, std::size_t bytes, int pe,
               const char* call) const noexcept {
    if (const char* const from = in_heap(source, bytes, pe)) [[likely]]
      return copy_shared(dest, from, bytes);
    aligned_slow<kAlignment<T>, &Context::get_nbi_slow>(dest, source, bytes, pe, call);
  }

  /// One element, in one access when the processor has one of that width.
  template <class T>
  void p(T* dest, T value, int pe, const char* call) const noexcept {
    if (char* const to = in_heap(dest, sizeof(T), pe)) [[likely]]
      return store(to, value);
    p_slow(dest, value, pe, call);
  }
  template <class T>
  T g(const T* source, int pe, const char* call) const noexcept {
    if (const char* const from = in_heap(source, sizeof(T), pe)) [[likely]]
      return load<T>(from);
    return g_slow(source, pe, call);
  }

  /// Blocks of `block` elements of `width` bytes; `dst` and `sst` are the distances between starts of blocks, in
  /// elements. iput and iget are the case block == 1.
  void put_strided(void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block,
                   std::size_t blocks, std::size_t width, int pe, const char* call) const noexcept;
  void get_strided(void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block,
                   std::size_t blocks, std::size_t width, int pe, const char* call) const noexcept;

  /// The data are visible at `pe` before the signal is.
  template <class T>
  void put_signal(T* dest, const std::type_identity_t<T>* source, std::size_t bytes, std::uint64_t* signal,
                  std::uint64_t value, int op, int pe, const char* call) const noexcept {
    put(dest, source, bytes, pe, call);
    this->signal(signal, value, op, pe, call);
  }
  void signal(std::uint64_t* signal, std::uint64_t value, int op, int pe, const char* call) const noexcept;

  /// The word of an atomic operation where it is in the default heap and aligned, null otherwise: what in_heap() is to
  /// at().
  template <class T>
  [[gnu::always_inline]] T* word_in_heap(const T* address, int pe) const noexcept {
    if (reinterpret_cast<std::uintptr_t>(address) % sizeof(T) != 0) [[unlikely]]
      return nullptr;
    return reinterpret_cast<T*>(in_heap(address, sizeof(T), pe));
  }
  /// The word of an atomic operation: at() plus the alignment check. Null when it is far.
  template <class T>
  [[gnu::always_inline]] T* word(const T* address, int pe, const char* call) const noexcept {
    if (reinterpret_cast<std::uintptr_t>(address) % sizeof(T) != 0) [[unlikely]]
      misaligned(address, sizeof(T), call);
    return reinterpret_cast<T*>(at(address, sizeof(T), pe, call));
  }
  /// The same once word_in_heap() gave null.
  template <class T>
  T* word_outside(const T* address, int pe, const char* call) const noexcept {
    if (reinterpret_cast<std::uintptr_t>(address) % sizeof(T) != 0) [[unlikely]]
      misaligned(address, sizeof(T), call);
    return reinterpret_cast<T*>(at_slow(address, sizeof(T), pe, call));
  }
  /// After an atomic update at `pe`, which was a full fence: wakes it if it sleeps on a word of the user's.
  [[gnu::always_inline]] void ring(int pe) const noexcept {
    if (attention_->load(std::memory_order_relaxed) != 0) [[unlikely]]
      ring_sleeper(pe);
  }
  /// After a store to a word of the library's at `pe` and a full fence.
  void ring_sync(int pe) const noexcept {
    shoal::ring(domain_->controls[static_cast<std::size_t>(world_pe(pe))].doorbell(), Bell::sync);
  }

  void fence() const noexcept {
    release_fence();
    if (attention_->load(std::memory_order_relaxed) != 0) [[unlikely]]
      fence_slow();
  }
  void quiet() const noexcept {
    full_fence();
    if (attention_->load(std::memory_order_relaxed) != 0) [[unlikely]]
      quiet_slow();
  }
  /// `address` of `pe` as chaos knows it. @param there  what at() gave for it
  Chaos::Place place_of(const void* address, void* there, int pe) const noexcept {
    return {far(address, pe), static_cast<char*>(there)};
  }
  // To the transport at once, whatever chaos does: what the library itself needs, and what chaos has had its way with.
  // at() or word() gave null for `address` or `dest`.
  void put_far(void* dest, const void* source, std::size_t bytes, int pe) const noexcept;
  /// An atomic operation. @return the value before
  std::uint64_t fetch_far(const void* address, const AtomicCall& atomic, int pe, const char* call) const noexcept;
  /// The same; `old` (atomic.width bytes) is written by the time quiet returns.
  void fetch_far_nbi(const void* address, const AtomicCall& atomic, void* old, int pe) const noexcept;
  /// The same, where nobody wants to know the value before.
  void update_far(const void* address, const AtomicCall& atomic, int pe) const noexcept;
  /// Gets, counted by a tally of the caller's where the PE is far; and waits for that.
  void get_counted(void* dest, const void* source, std::size_t bytes, int pe, Tally& tally,
                   const char* call) const noexcept;
  void await_counted(const Tally& tally, const char* call) const noexcept;
  /// Waits until what only quiet waits for, and all else, is done at all other nodes.
  void quiet_far() const noexcept;

  /// A range of this PE's own memory that a wait, test or lock works on: ends the job unless it is symmetric and
  /// aligned.
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

  template <class T>
  static bool aligned(const T* dest, const T* source) noexcept {
    return !misaligned_for<kAlignment<T>>(dest, source);
  }
  /// Where somebody watches, he is told of addresses that are not aligned for T.
  template <class T>
  void expect_aligned(const T* dest, const T* source, const char* call) const noexcept {
    if (!aligned(dest, source)) [[unlikely]]
      tell_misaligned(dest, source, kAlignment<T>, call);
  }

  /// Checks that operations may be made at all: ends the job before init and after finalize.
  /// Where calls are watched, it goes on.
  void require(const char* call) const noexcept {
    if (fast_pes_ == 0) [[unlikely]]
      require_slow(call);
  }
  [[noreturn]] void fatal(const char* call, const std::string& what) const noexcept {
    domain_->fatal->fatal(call, what);
    __builtin_unreachable();
  }

 private:
  /// This thread's, for a call to `pe`; null: it goes the long way.
  [[gnu::always_inline]] Shortcut* own_shortcut(int pe) const noexcept {
    if (domain_->shortcuts == nullptr || static_cast<unsigned>(pe) >= static_cast<unsigned>(n_pes_)) return nullptr;
    return domain_->shortcuts->find();
  }
  template <class T>
  static constexpr std::size_t kAlignment = alignof(std::conditional_t<std::is_void_v<T>, char, T>);
  template <std::size_t alignment>
  static bool misaligned_for(const void* dest, const void* source) noexcept {
    return (reinterpret_cast<std::uintptr_t>(dest) | reinterpret_cast<std::uintptr_t>(source)) % alignment != 0;
  }
  /// `slow` of a call on data of this alignment. What is told is told in a function of its own: called last, it costs
  /// this one no saved register.
  template <std::size_t alignment,
            void (Context::*slow)(void*, const void*, std::size_t, int, const char*) const noexcept>
  [[gnu::cold, gnu::noinline]] void aligned_slow(void* dest, const void* source, std::size_t bytes, int pe,
                                                 const char* call) const noexcept {
    if (misaligned_for<alignment>(dest, source)) [[unlikely]]
      return misaligned_slow<alignment, slow>(dest, source, bytes, pe, call);
    (this->*slow)(dest, source, bytes, pe, call);
  }
  template <std::size_t alignment,
            void (Context::*slow)(void*, const void*, std::size_t, int, const char*) const noexcept>
  [[gnu::cold, gnu::noinline]] void misaligned_slow(void* dest, const void* source, std::size_t bytes, int pe,
                                                    const char* call) const noexcept {
    if (bytes != 0) tell_misaligned(dest, source, alignment, call);
    (this->*slow)(dest, source, bytes, pe, call);
  }
  template <class T>
  static constexpr bool kSingleAccess = sizeof(T) <= 8 && (sizeof(T) & (sizeof(T) - 1)) == 0;

  [[gnu::always_inline]] bool inside_heap(std::uintptr_t offset, std::size_t bytes) const noexcept {
    // Every heap is larger than any single element, so for one of those a single comparison does.
    if (__builtin_constant_p(bytes) && bytes != 0 && bytes <= kLeastHeapBytes) return offset <= heap_bytes_ - bytes;
    return offset < heap_bytes_ && bytes - 1 < heap_bytes_ - offset;  // no bytes: not inside, whatever the address
  }

  /// at() where the default heap is all it takes, null otherwise.
  [[gnu::always_inline]] char* in_heap(const void* address, std::size_t bytes, int pe) const noexcept {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - heap_base_;
    if (static_cast<unsigned>(pe) < static_cast<unsigned>(fast_pes_) && inside_heap(offset, bytes)) [[likely]]
      if (char* const base = heap_peers_[pe]) [[likely]]
        return base + offset;
    return nullptr;
  }
  template <class T>
  static void store(char* to, T value) noexcept {
    if constexpr (kSingleAccess<T>)
      __atomic_store(reinterpret_cast<T*>(to), &value, __ATOMIC_RELAXED);
    else
      std::memcpy(to, &value, sizeof(T));
  }
  /// A blocking get has its data before anything that comes after it.
  template <class T>
  static T load(const char* from) noexcept {
    T value;
    if constexpr (kSingleAccess<T>) {
      __atomic_load(reinterpret_cast<const T*>(from), &value, __ATOMIC_ACQUIRE);
    } else {
      std::memcpy(&value, from, sizeof(T));
      order_after_reads();
    }
    return value;
  }
  static void fetch(void* to, const void* from, std::size_t bytes) noexcept {
    copy_shared(to, from, bytes);
    order_after_reads();
  }
  static void order_after_reads() noexcept {
#if !defined(__x86_64__)  // where every load is ordered so
    acquire_fence();
#endif
  }

  [[gnu::cold]] char* at_slow(const void* address, std::size_t bytes, int pe, const char* call) const noexcept;
  // What the fast path does not serve. Where somebody watches, it goes by a shortcut or is told.
  [[gnu::cold]] void put_slow(void* dest, const void* source, std::size_t bytes, int pe,
                              const char* call) const noexcept;
  [[gnu::cold]] void get_slow(void* dest, const void* source, std::size_t bytes, int pe,
                              const char* call) const noexcept;
  [[gnu::cold]] void get_nbi_slow(void* dest, const void* source, std::size_t bytes, int pe,
                                  const char* call) const noexcept;
  void put_watched(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept;
  void get_watched(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept;
  void get_nbi_watched(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept;
  [[gnu::noinline]] void put_passing(void* dest, const void* source, std::size_t bytes, int pe,
                                     const char* call) const noexcept;
  [[gnu::noinline]] void get_passing(void* dest, const void* source, std::size_t bytes, int pe,
                                     const char* call) const noexcept;
  [[gnu::noinline]] void get_nbi_passing(void* dest, const void* source, std::size_t bytes, int pe,
                                         const char* call) const noexcept;
  [[gnu::cold, gnu::noinline]] void put_told(void* dest, const void* source, std::size_t bytes, int pe,
                                             const char* call) const noexcept;
  [[gnu::cold, gnu::noinline]] void get_told(void* dest, const void* source, std::size_t bytes, int pe,
                                             const char* call) const noexcept;
  [[gnu::cold, gnu::noinline]] void get_nbi_told(void* dest, const void* source, std::size_t bytes, int pe,
                                                 const char* call) const noexcept;
  Far far(const void* address, int pe) const noexcept;
  void put_there(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept;
  void get_there(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept;
  void get_nbi_there(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept;
  void get_far(void* dest, const void* source, std::size_t bytes, int pe, const char* call) const noexcept;
  void get_far_nbi(void* dest, const void* source, std::size_t bytes, int pe) const noexcept;
  void signal_far(const std::uint64_t* signal, std::uint64_t value, int op, int pe, const char* call) const noexcept;
  template <class T>
  [[gnu::cold, gnu::noinline]] void p_slow(T* dest, T value, int pe, const char* call) const noexcept {
    if (!aligned<T>(dest, nullptr)) [[unlikely]]
      return p_misaligned(dest, value, pe, call);
    p_elsewhere(dest, value, pe, call);
  }
  template <class T>
  [[gnu::cold, gnu::noinline]] void p_misaligned(T* dest, T value, int pe, const char* call) const noexcept {
    expect_aligned<T>(dest, nullptr, call);
    p_elsewhere(dest, value, pe, call);
  }
  template <class T>
  [[gnu::always_inline]] void p_elsewhere(T* dest, T value, int pe, const char* call) const noexcept {
    if (!plain()) return p_watched(dest, value, pe, call);  // or delayed
    p_there(dest, value, pe, call);
  }
  template <class T>
  [[gnu::always_inline]] void p_there(T* dest, T value, int pe, const char* call) const noexcept {
    if (char* const to = at_slow(dest, sizeof(T), pe, call)) return store(to, value);
    put_far(dest, &value, sizeof value, pe);
  }
  template <class T>
  [[gnu::noinline]] void p_watched(T* dest, T value, int pe, const char* call) const noexcept {
    if (char* const to = quick(dest, nullptr, sizeof(T), pe)) [[likely]]
      return store(to, value);
    p_passing(dest, value, pe, call);
  }
  template <class T>
  [[gnu::noinline]] void p_passing(T* dest, T value, int pe, const char* call) const noexcept {
    if (const Passing one = passing(dest, nullptr, sizeof(T), pe, call); one.there != nullptr)
      return store(one.there, value);
    put_told(dest, &value, sizeof value, pe, call);
  }
  template <class T>
  [[gnu::cold, gnu::noinline]] T g_slow(const T* source, int pe, const char* call) const noexcept {
    if (!aligned<T>(nullptr, source)) [[unlikely]]
      return g_misaligned(source, pe, call);
    return g_elsewhere(source, pe, call);
  }
  template <class T>
  [[gnu::cold, gnu::noinline]] T g_misaligned(const T* source, int pe, const char* call) const noexcept {
    expect_aligned<T>(nullptr, source, call);
    return g_elsewhere(source, pe, call);
  }
  template <class T>
  [[gnu::always_inline]] T g_elsewhere(const T* source, int pe, const char* call) const noexcept {
    if (!plain()) return g_watched(source, pe, call);  // or delayed
    return g_there(source, pe, call);
  }
  template <class T>
  [[gnu::always_inline]] T g_there(const T* source, int pe, const char* call) const noexcept {
    if (const char* const from = at_slow(source, sizeof(T), pe, call)) return load<T>(from);
    T value;
    get_far(&value, source, sizeof value, pe, call);
    return value;
  }
  template <class T>
  [[gnu::noinline]] T g_watched(const T* source, int pe, const char* call) const noexcept {
    if (const char* const from = quick(source, nullptr, sizeof(T), pe)) [[likely]]
      return load<T>(from);
    return g_passing(source, pe, call);
  }
  template <class T>
  [[gnu::noinline]] T g_passing(const T* source, int pe, const char* call) const noexcept {
    if (const Passing one = passing(source, nullptr, sizeof(T), pe, call); one.there != nullptr)
      return load<T>(one.there);
    T value;
    get_told(&value, source, sizeof value, pe, call);
    return value;
  }
  void check_strides(std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block, std::size_t blocks,
                     const char* call) const noexcept;
  [[noreturn]] void not_symmetric(const void* address, std::size_t bytes, const char* call) const noexcept;
  [[gnu::cold, gnu::noinline]] void tell_misaligned(const void* dest, const void* source, std::size_t alignment,
                                                    const char* call) const noexcept;
  [[noreturn]] void misaligned(const void* address, std::size_t size, const char* call) const noexcept;
  [[gnu::cold]] void fence_slow() const noexcept;
  /// Leaves a put to chaos.
  [[gnu::cold]] void put_late(const Chaos::Place& to, const void* source, std::size_t bytes,
                              const char* call) const noexcept;
  [[gnu::cold]] void require_slow(const char* call) const noexcept;
  [[gnu::cold]] void signal_slow(std::uint64_t* signal, std::uint64_t value, int op, int pe,
                                 const char* call) const noexcept;
  [[gnu::noinline]] void signal_watched(std::uint64_t* signal, std::uint64_t value, int op, int pe,
                                        const char* call) const noexcept;
  void signal_word(std::uint64_t* word, std::uint64_t value, int op, int pe, const char* call) const noexcept;
  [[gnu::cold]] void ring_sleeper(int pe) const noexcept;
  [[gnu::cold]] void quiet_slow() const noexcept;

  // Everything the fast path reads is in one cache line.
  std::uintptr_t heap_base_ = 0;
  std::size_t heap_bytes_ = 0;
  char* const* heap_peers_ = nullptr;
  int fast_pes_ = 0;  ///< PEs that the fast path serves: all, or none where there is no job or calls are watched
  int n_pes_ = 0;
  const int* world_ = nullptr;
  const std::atomic<std::uint32_t>* attention_ = &kNobodySleeps;  ///< Domain's
  const Domain* domain_;
};
static_assert(sizeof(Context) <= 64);

template <class Describe, class Body>
[[gnu::noinline]] auto watched_slow(const Context& context, Describe& describe, const char* call, Body& body) noexcept {
  if (context.has_shortcut(describe())) return body();
  context.require(call);
  const Observed observed(context.domain().observer, describe);
  return body();
}
/// Runs `body` as the call `call`. The observer, if there is one, is told of `describe()`; ends the job where there is
/// none.
template <class Describe, class Body>
[[gnu::always_inline]] inline auto watched(const Context& context, Describe&& describe, const char* call,
                                           Body&& body) noexcept {
  if (context.plain()) [[likely]]
    return body();
  return watched_slow(context, describe, call, body);
}
/// The same for a call without operands.
template <class Body>
[[gnu::always_inline]] inline auto watched(const Context& context, CallKind kind, const char* call,
                                           Body&& body) noexcept {
  return watched(
      context, [&] { return context.call_of(call, kind, -1, nullptr, nullptr, 0); }, call, body);
}

}  // namespace shoal

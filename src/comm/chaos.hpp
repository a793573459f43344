// SPDX-License-Identifier: Apache-2.0
// SHOAL_CHAOS=seed: every delay and reordering that the memory model allows really happens. Programs that forget a
// fence, a quiet or a barrier then fail in seconds; correct ones never do.
//
// What is given to it is a queue of operations, delivered late, out of order, by this PE's calls or by a thread of its
// own. Delivered means: done where the memory is mapped, else handed to the transport, for whose part quiet_far waits.
//   put, p, atomic without result   copied, delivered up to kLatestNs later, in any order until a fence (to one PE) or
//                                   a quiet
//   put without blocking            its source is read when it is delivered
//   get without blocking            its destination is written when it is delivered
//   atomic without blocking         the same: with a result, it is done as late as one without
//   signal, put with signal         as early as is legal: before everything given before it, unless a fence stands
//                                   between
//   get                             at once: it may overtake puts of this PE
//   atomic with result              at once: it may overtake puts of this PE, unless a fence stands between
// Operations on the same bytes are no exception: without a fence the later put may arrive first, and without a quiet
// a get may bring what was there before.
// Whether and for how long an operation is delayed is decided by the seed, the PE and the operation's number.
//
// Thread safety: all functions.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "transport/transport.hpp"

namespace shoal {

struct Domain;

class Chaos final {
 public:
  static constexpr std::uint64_t kLatestNs = 45'000'000;  ///< all arrives within 50 ms, if nothing is called as well
  static constexpr std::size_t kMostQueued = 24;          ///< then something is delivered before more is taken

  /// Where in symmetric memory something begins.
  struct Place {
    Far far;
    char* here;  ///< as mapped here; null: at a PE of another node
  };

  Chaos(const Domain& domain, std::uint64_t seed);
  ~Chaos();
  Chaos(const Chaos&) = delete;
  Chaos& operator=(const Chaos&) = delete;

  // `context` is whose order and completion the operation belongs to.
  void put(const void* context, const Place& to, const void* from, std::size_t bytes, bool blocking);
  void get_nbi(const void* context, void* to, const Place& from, std::size_t bytes);
  /// @param result  where the value before goes; null: nobody wants it
  void update(const void* context, const Place& word, const AtomicCall& call, void* result);
  /// The two halves of a put with signal: done at once, after what a fence orders before them.
  void put_early(const void* context, const Place& to, const void* from, std::size_t bytes);
  void signal(const void* context, const Place& word, const AtomicCall& call);
  /// To be called before a read of `bytes` at `from`.
  void before_read(const void* context, const Place& from, std::size_t bytes);
  /// The same before an atomic operation that has a result.
  void before_atomic(const void* context, const Place& word, std::size_t width);
  void fence(const void* context);
  /// Everything of `context` is delivered when it returns.
  void quiet(const void* context);
  /// Everything of all contexts.
  void drain();

 private:
  enum class Kind { put, get, update };
  struct Operation {
    Kind kind;
    const void* context;
    Place place;
    std::size_t bytes;
    const void* source = nullptr;  // of a put; read at delivery, unless `data` holds it
    void* dest = nullptr;          // of a get, or of an update's result; null: nobody wants that
    AtomicCall call{};             // of an update
    std::vector<char> data{};
    std::uint64_t epoch = 0;  // fences of the context before it
    std::uint64_t due_ns = 0;
  };
  using Queue = std::list<Operation>;

  std::uint64_t roll() noexcept;
  /// Of so many in the order in which they were given: mostly the last, so that a mistake shows in its first round.
  std::size_t one_of(std::size_t count) noexcept;
  void add(Operation operation);
  /// Delivers what the last fence of `context` orders before anything to come at `pe`.
  void settle(const void* context, int pe) noexcept;
  /// Where something is under way to these bytes, delivers all that is to their PE.
  void settle_range(const void* context, const Place& place, std::size_t bytes) noexcept;
  template <class Chosen>
  void deliver_all(Chosen&& chosen, bool slowly = false) noexcept;
  /// Whether nothing of the same context and target is still to come that a fence put before it.
  bool may_go(const Operation& operation) const noexcept;
  void carry_out(const Operation& operation) noexcept;
  void carry_out_far(const Operation& operation) noexcept;
  void deliver(Queue::iterator operation) noexcept;
  void deliver_any() noexcept;
  void run();

  const Domain& domain_;
  const std::uint64_t seed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::uint64_t rolls_ = 0;
  Queue queue_;
  std::map<const void*, std::uint64_t> epochs_;
  std::thread thread_;
};

}  // namespace shoal

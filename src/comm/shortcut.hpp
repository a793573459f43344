// SPDX-License-Identifier: Apache-2.0
// The short way for calls that are watched. Contexts have no fast path where somebody watches, and to tell an observer
// of a call costs many times what a small put does. But most calls have nothing to tell: they touch memory that has
// just been found good, and a profile only counts them. So each thread remembers ranges that are good, and has its
// counts at hand. What these do not settle goes the long way, to the observers, which let the thread remember more.
//
// Thread safety: a Shortcut belongs to its thread; Shortcuts to all.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/ticks.hpp"
#include "base/trace_file.hpp"
#include "comm/observer.hpp"
#include "comm/segment_table.hpp"

namespace shoal {

/// What one thread counts of one routine. Of the calls that move little some are timed, and stand for the others; each
/// other call is timed for itself, and so is the first: it may open a connection, or find memory cold.
struct CallCount {
  /// How one call's time counts.
  enum class Timing : std::uint8_t { none, for_all, for_itself };

  const char* name = nullptr;  ///< by address: each routine has one text
  std::uint64_t small = 0;     ///< calls of which some are timed for all
  std::uint64_t next_timed = 0;
  std::uint64_t bytes = 0;                   ///< of all calls
  std::uint64_t timed = 0, timed_ticks = 0;  ///< of the small ones
  std::uint64_t others = 0, others_ticks = 0;
  std::uint64_t waiting_ticks = 0;  ///< of these: of a routine that does more than wait, and moves nothing by itself
  std::uint64_t shown_count = 0, shown_bytes = 0;  ///< of all, what shoal-top has been told
  bool moves = false, waits = false;
  bool signals = false;  ///< a put with signal: the signal is a part of it
  std::uint16_t trace_name = 0;

  std::uint64_t count() const noexcept { return small + others; }
  Timing timing_of_small() const noexcept { return small == next_timed ? Timing::for_all : Timing::none; }
  void add(Timing timing, std::size_t moved, std::uint64_t ticks) noexcept;
  /// Of all calls, as far as can be told.
  double ticks() const noexcept;
};

/// What one thread moved to and from one PE.
struct LinkCount {
  std::uint64_t count = 0, bytes = 0;
};

/// The counts of one thread.
struct CallCounts {
  /// One small call of so many is timed. A prime: what programs do in turns they do in rounds of other numbers.
  static constexpr std::uint64_t kSampled = 61;
  static constexpr std::size_t kTimedBytes = 64 * 1024;  ///< moves of so much are not small
  static constexpr unsigned kFirstBits = 7;              ///< of the number of rows

  CallCounts(int n_pes, std::uint16_t thread_) : thread(thread_), links(static_cast<std::size_t>(n_pes)) {}
  /// The row of a routine, or the empty one where it belongs.
  [[gnu::always_inline]] CallCount& row(const char* name) noexcept {
    std::size_t i = (reinterpret_cast<std::uintptr_t>(name) * 0x9E3779B97F4A7C15u) >> shift;
    const std::uint64_t mask = ~std::uint64_t{0} >> shift;
    while (rows[i].name != name && rows[i].name != nullptr) i = (i + 1) & mask;
    return rows[i];
  }
  /// A row for one more routine. Others may have moved.
  CallCount& add_row(const char* name);
  LinkCount& link(int pe) noexcept { return links[static_cast<std::size_t>(pe)]; }
  /// Counts a move, unless it is to be timed. @param signal  it sets a signal, perhaps that of a put with signal
  /// @return its routine's row; null: it is to be timed
  [[gnu::always_inline]] CallCount* count(const char* name, int pe, std::size_t bytes, bool signal) noexcept {
    CallCount& found = row(name);
    if (found.small == found.next_timed || bytes >= kTimedBytes) return nullptr;  // an empty row's are equal
    LinkCount& to = link(pe);
    to.bytes += bytes;
    if (signal && found.signals) return &found;
    ++to.count;
    ++found.small;
    found.bytes += bytes;
    return &found;
  }

  const std::uint16_t thread;    ///< its number
  std::span<TraceEvent> events;  ///< room for the next ones of a trace
  unsigned shift = 64 - kFirstBits;
  std::vector<CallCount> rows = std::vector<CallCount>(1u << kFirstBits);
  std::size_t used = 0;          // at most an eighth of them: a call seldom finds another one's first
  std::vector<LinkCount> links;  // by world PE
};

/// What shortcuts look after: each may be wanted without the others.
struct Watching {
  bool checks = false;  ///< this PE's side of puts and gets counts, too
  bool traces = false;  ///< every put and get leaves an event, and all else goes the long way
};

/// A put or get that went by a shortcut, for as long as this lives.
class Passing final {
 public:
  [[gnu::always_inline]] Passing(char* there_, TraceEvent* event) noexcept : there(there_), event_(event) {}
  [[gnu::always_inline]] ~Passing() {
    if (event_ != nullptr) event_->end = ticks();
  }
  Passing(const Passing&) = delete;
  Passing& operator=(const Passing&) = delete;
  char* const there;  ///< where the symmetric side is mapped here; null: it must go the long way

 private:
  TraceEvent* const event_;
};

/// One thread's.
class Shortcut final {
 public:
  /// @param segments  outlives this
  Shortcut(const SegmentTable& segments, int me, Watching watching)
      : segments_(segments), me_(me), watching_(watching), only_checks_(!watching.traces) {}
  bool traces() const noexcept { return watching_.traces; }

  /// Where `remote` at `world_pe` is mapped here, if nobody counts or traces, and both sides are where they were in the
  /// call before; that is most calls, and this makes none itself. Null: try pass().
  [[gnu::always_inline]] char* pass_at_once(const void* remote, const void* local, std::size_t bytes,
                                            int world_pe) const noexcept {
    return pass_spans_at_once(remote, bytes, local, bytes, world_pe);
  }
  /// The same for a strided call, whose sides span different numbers of bytes.
  [[gnu::always_inline]] char* pass_spans_at_once(const void* remote, std::size_t remote_bytes, const void* local,
                                                  std::size_t local_bytes, int world_pe) const noexcept {
    if (!only_checks_ || version_ != segments_.version() || !remote_.last->covers(address(remote), remote_bytes))
      return nullptr;
    char* const base = remote_.last->peers[world_pe];
    if (base == nullptr) return nullptr;
    if (local != nullptr && (!local_.last->covers(address(local), local_bytes) ||
                             meets_itself(remote, remote_bytes, local, local_bytes, world_pe)))
      return nullptr;
    return base + (address(remote) - remote_.last->base);
  }
  /// Where `remote` at `world_pe` is mapped here, if the call needs not be told to anybody; it is counted then. Null:
  /// go the long way.
  /// @param local  the other side of a put or get; null: there is none
  [[gnu::always_inline]] char* pass(const void* remote, const void* local, std::size_t bytes, int world_pe,
                                    const char* call, bool signal) noexcept {
    char* const there = good(remote, local, bytes, world_pe);
    if (there == nullptr || (counts_ != nullptr && counts_->count(call, world_pe, bytes, signal) == nullptr))
      return nullptr;
    return there;
  }
  /// The same for a put or get where they are traced.
  Passing pass_traced(const void* remote, const void* local, std::size_t bytes, int world_pe,
                      const char* call) noexcept {
    char* const there = good(remote, local, bytes, world_pe);
    if (there == nullptr || counts_ == nullptr || counts_->events.empty()) return {nullptr, nullptr};
    const CallCount* const row = counts_->count(call, world_pe, bytes, false);
    if (row == nullptr) return {nullptr, nullptr};
    TraceEvent* const event = counts_->events.data();
    counts_->events = counts_->events.subspan(1);
    __builtin_prefetch(event + 4, 1);  // another core has made the page ready
    *event = {ticks(), 0, bytes, world_pe, row->trace_name, counts_->thread};
    return {there, event};
  }
  /// Whether a call on this PE's own memory needs not be told.
  bool pass_own(const void* local, std::size_t bytes) noexcept {
    return counts_ == nullptr &&
           (bytes == 0 || (version_ == segments_.version() && find(local_, local, bytes) != nullptr));
  }

  /// The observers have seen `call`, and nothing is wrong with it.
  void remember(const Call& call) noexcept;
  /// Nothing is known to be good any more, so the next call is to be told, whichever it is. Those that follow are told
  /// where they touch other memory than it did.
  void forget() noexcept { remembered_ = version_ = kNoVersion; }
  /// From now on until open() every call goes the long way: it is a part of one that has been told.
  void close() noexcept {
    closed_ = true;
    version_ = kNoVersion;
  }
  void open() noexcept {
    closed_ = false;
    version_ = remembered_;
  }
  /// From now on calls are counted there.
  void count_in(CallCounts* counts) noexcept {
    counts_ = counts;
    only_checks_ = false;
  }

 private:
  /// Where `remote` is mapped here, if both sides have been found good.
  [[gnu::always_inline]] char* good(const void* remote, const void* local, std::size_t bytes, int world_pe) noexcept {
    if (version_ != segments_.version()) [[unlikely]]
      return nullptr;
    const Good* const there = find(remote_, remote, bytes);
    if (there == nullptr) return nullptr;
    char* const base = there->peers[world_pe];
    if (base == nullptr) return nullptr;
    if (watching_.checks && local != nullptr) {
      if (find(local_, local, bytes) == nullptr || meets_itself(remote, bytes, local, bytes, world_pe)) return nullptr;
    }
    return base + (address(remote) - there->base);
  }
  bool meets_itself(const void* remote, std::size_t remote_bytes, const void* local, std::size_t local_bytes,
                    int world_pe) const noexcept {
    return world_pe == me_ &&
           (address(local) - address(remote) < remote_bytes || address(remote) - address(local) < local_bytes);
  }
  /// A range that may be used, all of it.
  struct Good {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    std::uintptr_t base = 0;       // of its segment here
    char* const* peers = nullptr;  // that segment by world PE; null: it is none
    bool covers(std::uintptr_t where, std::size_t wanted) const noexcept {
      const std::uintptr_t offset = where - begin;
      return offset < bytes && wanted - 1 < bytes - offset;  // not if nothing is wanted
    }
  };
  static constexpr std::size_t kSets = 32, kPage = 4096;
  struct Table {
    std::array<std::array<Good, 2>, kSets> sets{};
    const Good* last = &sets[0][0];  // the one that was found before: most calls need no search
    std::array<Good, 2>& set_of(std::uintptr_t where) noexcept { return sets[where / kPage % kSets]; }
  };

  static std::uintptr_t address(const void* pointer) noexcept { return reinterpret_cast<std::uintptr_t>(pointer); }
  [[gnu::always_inline]] static const Good* find(Table& table, const void* pointer, std::size_t bytes) noexcept {
    if (table.last->covers(address(pointer), bytes)) [[likely]]
      return table.last;
    return search(table, address(pointer), bytes);
  }
  static const Good* search(Table& table, std::uintptr_t where, std::size_t bytes) noexcept;
  void remember_in(Table& table, const void* pointer, std::size_t bytes) noexcept;

  const SegmentTable& segments_;
  const int me_;
  const Watching watching_;
  bool only_checks_;              // neither counts nor traces
  CallCounts* counts_ = nullptr;  // null: nobody counts
  static constexpr std::uint64_t kNoVersion = 0;
  std::uint64_t remembered_ = kNoVersion;  // the version of the segments for which the tables hold
  std::uint64_t version_ = kNoVersion;     // the same while this is open
  bool closed_ = false;
  Table remote_, local_;
};

/// Those of all threads of a PE.
class Shortcuts final {
 public:
  Shortcuts(const SegmentTable& segments, int me, Watching watching);
  /// This thread's; null before it was needed.
  [[gnu::always_inline]] Shortcut* find() const noexcept { return mine_.owner == id_ ? mine_.shortcut : nullptr; }
  Shortcut& here() noexcept;

 private:
  struct Mine {
    std::uint64_t owner = 0;
    Shortcut* shortcut = nullptr;
  };
  static thread_local constinit Mine mine_ __attribute__((tls_model("initial-exec")));

  const SegmentTable& segments_;
  const int me_;
  const Watching watching_;
  const std::uint64_t id_;  // tells jobs of one process apart, also those that come to lie at the same address
  std::mutex mutex_;
  std::vector<std::unique_ptr<Shortcut>> shortcuts_;
};

}  // namespace shoal

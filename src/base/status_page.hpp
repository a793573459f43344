// SPDX-License-Identifier: Apache-2.0
// What each PE is doing, readable by the launcher (and by tools) even after the PE died.
//
// One memory file of n records, made by the launcher and inherited by the PEs. A PE writes only its own record; the
// launcher only reads. A record is a seqlock: the writer makes `sequence` odd, writes the fields, makes it even; a
// reader that sees an odd or a changed value looks again (a PE killed in between leaves it odd for ever: the reader
// then takes what is there).
//
//   offset  size  field
//        0     4  sequence
//        8   424  fields (StatusFields), under the sequence:
//        8     8    since_ns   CLOCK_MONOTONIC when the phase or call began
//       16     4    phase      (Phase)
//       20     4    pid        the process that called init (may be a grandchild of the launcher); before that, the one
//                              that the launcher started; 0: a PE of another machine
//       24    44    call       NUL-terminated name of the blocking call, "" when in none
//       68   188    detail     NUL-terminated text: the call's arguments
//      256    48    wait       what the call waits for, for those who look for the reason (Wait)
//      304   128    members    bit i: world PE i is one of those who meet
//      432   104  counters     each by itself, not under the sequence (Counters)
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace shoal {

/// leaving: in shmem_finalize; closing: there, and all PEs have called it; left: after it.
enum class Phase : std::uint32_t { starting = 0, running = 1, waiting = 2, leaving = 3, left = 4, closing = 5 };

/// meeting: for all members of a team, or active set; value: for words of its own; lock: for the PE before it in the
/// queue; successor: for the PE behind it to say so; pair, semaphore: for one PE.
enum class WaitKind : std::uint32_t { none, meeting, value, lock, successor, pair, semaphore };

/// What a blocked call waits for. Fields that the kind has no use for are 0, `peer` -1.
struct Wait {
  WaitKind kind = WaitKind::none;
  std::int32_t peer = -1;     ///< the PE that it waits for
  std::uint64_t group = 0;    ///< meeting: which team or active set; with the members it is unique at any time
  std::uint64_t meeting = 0;  ///< meeting: its number in this team
  std::uint64_t address = 0;  ///< value, lock, semaphore: of the (first) word, in the waiting PE
  std::uint64_t offset = 0;   ///< lock, meeting of an active set: where its words are, the same on all PEs
  std::uint32_t width = 0;    ///< value: bytes of the word, if it is one alone; its value now is then Counters::seen
  std::uint32_t is_signed = 0;
};
static_assert(sizeof(Wait) == 48);

/// The PEs that a meeting is for; of a larger job, only the first are told.
inline constexpr int kMostMembers = 1024;
struct Members {
  std::uint64_t bits[kMostMembers / 64] = {};
  void add(int pe) noexcept {
    if (pe < kMostMembers) bits[pe / 64] |= std::uint64_t{1} << (pe % 64);
  }
  bool has(int pe) const noexcept { return pe < kMostMembers && (bits[pe / 64] >> (pe % 64) & 1) != 0; }
  bool operator==(const Members&) const = default;
};

/// What further threads of a PE may do while one waits in a call: none; act: any call (thread level multiple, kernels);
/// store: a value, but make no call (levels funneled and serialized).
enum class Others : std::uint32_t { none = 0, act = 1, store = 2 };

/// Single numbers that a PE keeps up to date, at no cost worth mentioning.
struct Counters {
  std::atomic<std::uint64_t> seen;        ///< of the word that is waited for, as bits
  std::atomic<std::uint64_t> waits;       ///< calls that left their spin phase
  std::atomic<std::uint64_t> waited_ns;   ///< in those that have ended
  std::atomic<std::uint64_t> heap_bytes;  ///< of the symmetric heap
  std::atomic<std::uint64_t> heap_used;
  std::atomic<std::uint64_t> operations;  ///< puts, gets, atomics and signals; counted when calls are watched
  std::atomic<std::uint64_t> bytes;       ///< that they moved
  std::atomic<std::uint64_t> watched;     ///< 1: the two before are counted
  std::atomic<std::uint64_t> others;      ///< (Others)
  std::atomic<std::uint64_t> polls;       ///< how often it has looked in vain for what it waits for
  std::atomic<std::uint64_t> traces;      ///< the number of the last session of which this PE has begun a trace
  std::atomic<std::uint64_t> joined;      ///< of PE 0: of so many sessions, from the first on, it has joined the traces
  std::atomic<std::uint64_t> n_pes;  ///< of record 0: how many records there are, in a file with room for more; else 0
};
static_assert(sizeof(Counters) == 104);

/// What a record says about its PE at one time.
struct StatusFields {
  std::uint64_t since_ns;
  Phase phase;
  std::int32_t pid;
  char call[44];
  char detail[188];
  Wait wait;
  Members members;
};

struct alignas(64) StatusRecord {
  std::atomic<std::uint32_t> sequence;
  StatusFields fields;
  Counters counters;
  void tell_others(Others others) noexcept {
    counters.others.store(static_cast<std::uint64_t>(others), std::memory_order_relaxed);
  }
};
static_assert(sizeof(StatusRecord) == 576 && offsetof(StatusRecord, counters) == 432);

/// What a wait says about itself when it is published.
struct WaitText {
  char detail[sizeof StatusFields::detail] = {};
  Wait wait;
  Members members;
};

/// What this process says from now on. `call` is cut to fit.
StatusFields status_fields(Phase phase, const char* call, const WaitText& text) noexcept;

/// Writes one record, its own PE's. Thread safe; a PE without a launcher writes into memory of its own.
class StatusWriter final {
 public:
  explicit StatusWriter(StatusRecord* record) : record_(record) {}
  /// `call` and `detail` are cut to fit.
  void set(Phase phase, const char* call, const char* detail) noexcept;
  /// Writes `fields` if `fits(now)` for what the record says now, in one step; keeps that in `*before`, unless null.
  template <class Fits>
  bool replace_if(Fits&& fits, const StatusFields& fields, StatusFields* before) noexcept {
    const std::uint32_t sequence = begin();
    const StatusFields now = load();
    const bool changes = fits(now);
    if (changes && before != nullptr) *before = now;
    end(sequence, changes ? fields : now);
    return changes;
  }

 private:
  /// Makes the sequence odd. @return what it was
  std::uint32_t begin() noexcept;
  StatusFields load() const noexcept;
  void end(std::uint32_t sequence, const StatusFields& fields) noexcept;
  StatusRecord* record_;
};

/// A consistent copy of a record, for printing.
struct Status {
  Phase phase = Phase::starting;
  std::uint64_t since_ns = 0;
  int pid = 0;
  std::string call = {}, detail = {};
  Wait wait = {};
  Members members = {};
  std::uint64_t seen = 0;
  Others others = Others::none;
  std::uint64_t polls = 0;
};
Status read_status(const StatusRecord& record);
/// Says, for the launcher, that this PE is one of this machine's, started as `pid`; the PE itself may have said more.
void expect_here(StatusRecord& record, int pid) noexcept;
/// "in shmem_wait_until(...) for 3.2 s", "computing", "starting (shmem_init not called yet)", ...
std::string describe(const Status& status, std::uint64_t now);
/// The same, but not for how long.
std::string describe(const Status& status);
/// "shmem_wait_until(...), now 3": the call of a PE that waits.
std::string describe_call(const Status& status);

}  // namespace shoal

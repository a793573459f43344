// SPDX-License-Identifier: Apache-2.0
// What each PE is doing, readable by the launcher (and by tools) even after the PE died.
//
// One memory file of n records, made by the launcher and inherited by the PEs. A PE writes only its own record; the
// launcher only reads. A record is a seqlock: the writer makes `sequence` odd, writes, makes it even; a reader that sees an
// odd or a changed value looks again (a PE killed in between leaves it odd for ever: the reader then takes what is there).
//
//   offset  size  field
//        0     4  sequence
//        4     4  phase        (Phase)
//        8     8  since_ns     CLOCK_MONOTONIC when the phase or call began
//       16     4  pid          the process that called init (may be a grandchild of the launcher)
//       20    44  call         NUL-terminated name of the blocking call, "" when in none
//       64   192  detail       NUL-terminated text: the call's arguments
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace shoal {

enum class Phase : std::uint32_t { starting = 0, running = 1, waiting = 2, leaving = 3, left = 4 };

struct alignas(64) StatusRecord {
  std::atomic<std::uint32_t> sequence;
  Phase phase;
  std::uint64_t since_ns;
  std::int32_t pid;
  char call[44];
  char detail[192];
};
static_assert(sizeof(StatusRecord) == 256);

/// Writes one record. Used by one thread at a time; a PE without a launcher writes into memory of its own.
class StatusWriter final {
 public:
  explicit StatusWriter(StatusRecord* record) : record_(record) {}
  /// `call` and `detail` are cut to fit.
  void set(Phase phase, const char* call, const char* detail) noexcept;

 private:
  StatusRecord* record_;
};

/// A consistent copy of a record, for printing.
struct Status {
  Phase phase = Phase::starting;
  std::uint64_t since_ns = 0;
  int pid = 0;
  std::string call, detail;
};
Status read_status(const StatusRecord& record);
/// "in shmem_wait_until(...) for 3.2 s", "computing", "starting (shmem_init not called yet)", ...
std::string describe(const Status& status, std::uint64_t now);

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// SHOAL_TRACE: what each PE writes while it runs, and how the pieces become one file in the Chrome trace format.
//
// A piece, FILE.pe-3, is a file that the PE maps, so that it is whole however the PE ends. It is sparse past the events
// that have room:
//
//   offset   size  what
//        0   4096  TraceHeader
//     4096  65536  names: 1,024 of 64 bytes each, NUL-terminated
//    69632         events, 32 bytes each
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace shoal {

struct TraceHeader {
  std::uint64_t magic, size;  ///< size: of an event, so that another version is told
  std::int32_t pe, n_pes;
  // Two moments, in ticks and in nanoseconds of this machine's CLOCK_MONOTONIC; the second is brought up to date now
  // and then.
  std::uint64_t first_ticks, first_ns, last_ticks, last_ns;
  std::uint64_t met_ns;               ///< when all PEs met at init: aligns the clocks of different machines
  char machine[64];                   ///< its boot id: where it is the same, so is the clock
  std::atomic<std::uint64_t> events;  ///< given to threads, some at a time; those that were not used are zeros
  std::uint64_t room;                 ///< events that have theirs on the disk; grows
  std::atomic<std::uint64_t> lost;    ///< calls for which there was none
  std::int32_t error;                 ///< why; 0: these are as many as a trace takes
};
static_assert(sizeof(TraceHeader) <= 4096);

struct TraceEvent {
  std::uint64_t begin, end;  ///< ticks; end 0: not finished
  std::uint64_t bytes;
  std::int32_t pe;  ///< the target, or -1
  std::uint16_t name, thread;
};
static_assert(sizeof(TraceEvent) == 32);

inline constexpr std::uint64_t kTraceMagic = 0x33'45'43'41'52'54'48'53;  // "SHTRACE3" in memory
inline constexpr std::size_t kTraceNames = 1024, kTraceNameBytes = 64, kTraceNamesAt = 4096;
inline constexpr std::size_t kTraceEventsAt = kTraceNamesAt + kTraceNames * kTraceNameBytes;

/// The file that SHOAL_TRACE names; "": none. @throws Error {invalid_option}
std::string trace_wanted(const std::string& option);
/// What `file` is called in a program's job number `session`: "t.json" in the first, then "t-2.json".
std::string session_file(const std::string& file, int session);
std::string trace_piece(const std::string& file, int pe);
/// One more than the last PE of which there is a piece; 0: none is there.
int trace_pieces(const std::string& file);
/// @throws Error {invalid_option} where a job that runs writes one of the pieces, or somebody joins it
void check_unused(const std::string& file);
/// Removes the piece of a PE of an earlier job, which was killed; those of all PEs but one. @throws Error as before
void remove_piece(const std::string& file, int pe);
void remove_other_pieces(const std::string& file, int kept);
/// "trace of 3 PEs written to FILE"
std::string trace_told(const std::string& file, int n_pes);
/// Whether there is a PE that still writes its piece.
bool is_written(const std::string& file, int n_pes);
/// Whether there may still be such: then each of these has written all that counts.
enum class TraceWriters : bool { none, done };
/// Joins the pieces of `n_pes` PEs that exist into `file` and removes them.
/// @return how many there were; 0: nothing was written
/// @throws Error when `file` cannot be written, or the pieces are another's to join, or to write
int merge_trace(const std::string& file, int n_pes, TraceWriters writers = TraceWriters::none);

}  // namespace shoal

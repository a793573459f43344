// SPDX-License-Identifier: Apache-2.0
// What a PE and its launcher say to each other over the inherited Unix stream socket, and what the members of a job,
// which are launchers with their PEs or single PEs, say to the server where they meet (docs/bootstrap.md tells the
// story).
//
// Numbers are little-endian, as on every machine that Shoal runs on. Each frame is a header and a payload:
//
//   offset  size  field
//        0     4  type     (Type)
//        4     4  length   of the payload, at most kMaxRequest from a PE, kMaxReply from the launcher
//        8     …  payload
//
//   PE → launcher                        answer
//   hello      HelloPayload              welcome: u32 version; or error
//   allgather  the PE's bytes            gathered, when all PEs have asked: Parts of all PEs
//   barrier    nothing                   released, when all PEs have asked
//   leave      nothing                   goodbye, when all PEs have asked; the session is over, a new hello may follow
//   abort      i32 status, text          none: the launcher ends the job
//   exiting    i32 status                none: the process is about to exit without leave
// (error: i32 Code, text. The request was refused.)
//
//   member → server                      answer
//   join       JoinPayload, text         start, when all have joined: StartPayload, text; or error
//   allgather  Parts of its PEs          gathered, as above, when all members have asked; so for barrier and leave
//   abort      i32 status, text          none: the server ends the job
//   exiting    i32 status                none: a single PE is about to exit without leave
//   done       i32 status                finished, when all are done: i32 the largest status
//   inquiry    nothing                   a report from each other launcher: inquired, report on its way back:
//                                        u32 who asks, then what base/state_report.hpp packs
// server → member, at any time: end, i32 status, u32 whether to print, text: the job ends
//
// Parts, in the order of the PEs: u32 number of runs, a Run for each, then the bytes of each. A run is neighbours who
// say the same: so what the PEs of a node have in common is there once a node, and what all have in common, once.
//
// A PE has at most one unanswered request; abort or exiting may follow it. All PEs must ask for the same thing at the
// same time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shoal::store {

inline constexpr std::uint32_t kMagic = 0x4c'4f'48'53;  // "SHOL" in memory
inline constexpr std::uint32_t kVersion = 4;
inline constexpr std::uint32_t kMaxRequest = 16u << 20;
inline constexpr std::uint32_t kMaxReply = 256u << 20;
inline constexpr std::uint32_t kMaxReason = 64u << 10;

enum class Type : std::uint32_t {
  hello = 1,
  allgather,
  barrier,
  leave,
  abort,
  exiting,
  join,
  done,
  inquiry,
  report,
  welcome = 17,
  gathered,
  released,
  goodbye,
  error,
  start,
  finished,
  end,
  inquired,
  reported,
};
const char* name_of(Type type);
/// To what all ask together: allgather, barrier or leave.
Type answer_to(Type request);

struct Header {
  std::uint32_t type, length;
};
static_assert(sizeof(Header) == 8);

struct HelloPayload {
  std::uint32_t magic, version, rank, size;
};
static_assert(sizeof(HelloPayload) == 16);

/// Then text: the host's name, newline, the job's tag (members that differ in it are of different jobs).
struct JoinPayload {
  std::uint32_t magic, version;
  std::uint32_t members, member;  ///< how many there are, and which one this is
  std::uint32_t pes;              ///< PEs that it brings
  std::uint32_t total;            ///< PEs of the job; 0: the sum
};
static_assert(sizeof(JoinPayload) == 24);

/// Then text: a line for each member: its first PE, its number of PEs, its host's name and address.
struct StartPayload {
  std::uint32_t total, first;  ///< PEs of the job, and the first that this member brings
  std::uint8_t nonce[16];      ///< new for each job: what its own secret is derived with
};
static_assert(sizeof(StartPayload) == 24);

struct Run {
  std::uint32_t bytes;  ///< of each of these parts
  std::uint32_t parts;  ///< how many of them
};
static_assert(sizeof(Run) == 8);

using Bytes = std::vector<std::byte>;
struct Frame {
  Type type;
  Bytes payload;
};

/// The payload that has these parts. @throws Error{invalid_argument} when it is longer than `limit`
Bytes join_parts(const std::vector<std::span<const std::byte>>& parts, std::uint32_t limit);
/// The reverse, for exactly `count` parts; equal neighbours may share their bytes. @throws Error{launcher}
std::vector<std::span<const std::byte>> split_parts(std::span<const std::byte> payload, size_t count);
/// A fixed part and text after it.
template <typename Fixed>
Bytes with_text(const Fixed& fixed, const std::string& text) {
  Bytes payload(sizeof fixed + text.size());
  std::memcpy(payload.data(), &fixed, sizeof fixed);
  std::memcpy(payload.data() + sizeof fixed, text.data(), text.size());
  return payload;
}
/// Takes a fixed part off. @throws Error{launcher} when there is less
void take_fixed(const Frame& frame, void* fixed, size_t bytes);
template <typename Fixed>
Fixed take_fixed(const Frame& frame, std::string& text) {
  Fixed fixed;
  take_fixed(frame, &fixed, sizeof fixed);
  text.assign(reinterpret_cast<const char*>(frame.payload.data()) + sizeof fixed, frame.payload.size() - sizeof fixed);
  return fixed;
}
/// A whole frame, ready to be sent. @throws Error{invalid_argument} when the payload is longer than `limit`
Bytes make_frame(Type type, std::span<const std::byte> payload, std::uint32_t limit);
/// The frames `abort`, `exiting` and `error`: a number, then text (cut at kMaxReason).
Bytes make_text_frame(Type type, std::int32_t number, const std::string& text);
struct NumberedText {
  std::int32_t number;
  std::string text;
};
/// @throws Error{launcher} when the payload is too short
NumberedText read_text(std::span<const std::byte> payload);

/// Cuts a byte stream into frames. Who feeds it only while it is not ready() keeps it to one frame of `limit` bytes,
/// and what it is fed at once.
class FrameReader final {
 public:
  explicit FrameReader(std::uint32_t limit) : limit_(limit) {}
  void feed(std::span<const std::byte> bytes);
  /// From now on payloads may be so long.
  void set_limit(std::uint32_t limit) { limit_ = limit; }
  /// The type in the next header, as it stands there; 0 when it is not there yet.
  std::uint32_t peek_type() const;
  /// Whether next() gives a frame, or throws.
  bool ready() const;
  /// The next whole frame, if there is one. @throws Error{launcher} when the header cannot be one
  std::optional<Frame> next();

 private:
  std::uint32_t limit_;
  Bytes buffer_;
  size_t start_ = 0;  // bytes of buffer_ before it are used up
};

}  // namespace shoal::store

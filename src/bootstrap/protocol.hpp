// SPDX-License-Identifier: Apache-2.0
// What a PE and its launcher say to each other over the inherited Unix stream socket (docs/bootstrap.md tells the story).
//
// Both run on one machine, so numbers are in its own byte order. Each frame is a header and a payload:
//
//   offset  size  field
//        0     4  type     (Type)
//        4     4  length   of the payload, at most kMaxRequest from a PE, kMaxReply from the launcher
//        8     …  payload
//
//   PE → launcher                        answer
//   hello      HelloPayload              welcome: u32 version; or error
//   allgather  the PE's bytes            gathered, when all PEs have asked: u32 length per PE, then the bytes in rank order
//   barrier    nothing                   released, when all PEs have asked
//   leave      nothing                   goodbye, when all PEs have asked; the session is over, a new hello may follow
//   abort      i32 status, text          none: the launcher ends the job
//   exiting    i32 status                none: the process is about to exit without leave
//   (error: i32 Code, text. The request was refused.)
//
// A PE has at most one unanswered request; abort or exiting may follow it. All PEs must ask for the same thing at the same time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shoal::store {

inline constexpr std::uint32_t kMagic = 0x4c'4f'48'53;  // "SHOL" in memory
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kMaxRequest = 16u << 20;
inline constexpr std::uint32_t kMaxReply = 256u << 20;
inline constexpr std::uint32_t kMaxReason = 64u << 10;

enum class Type : std::uint32_t {
  hello = 1, allgather, barrier, leave, abort, exiting,
  welcome = 17, gathered, released, goodbye, error,
};
const char* name_of(Type type);

struct Header {
  std::uint32_t type, length;
};
static_assert(sizeof(Header) == 8);

struct HelloPayload {
  std::uint32_t magic, version, rank, size;
};
static_assert(sizeof(HelloPayload) == 16);

using Bytes = std::vector<std::byte>;

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

struct Frame {
  Type type;
  Bytes payload;
};

/// Cuts a byte stream into frames. Holds at most one payload of `limit` bytes more than it was fed at once.
class FrameReader final {
 public:
  explicit FrameReader(std::uint32_t limit) : limit_(limit) {}
  void feed(std::span<const std::byte> bytes);
  /// The next whole frame, if there is one. @throws Error{launcher} when the header cannot be one
  std::optional<Frame> next();

 private:
  std::uint32_t limit_;
  Bytes buffer_;
  size_t start_ = 0;  // bytes of buffer_ before it are used up
};

}  // namespace shoal::store

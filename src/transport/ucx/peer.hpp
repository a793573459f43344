// SPDX-License-Identifier: Apache-2.0
// What this PE knows of one other that it speaks to by UCX. Everything here is its worker's owner's.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/frames.hpp"
#include "transport/transport.hpp"
#include "transport/ucx/library.hpp"

namespace shoal {

/// How a message begins: frames follow, all of them whole.
struct MessageHead {
  static constexpr std::uint32_t kMagic = 0x58554853;  // "SHUX"
  std::uint32_t magic, from;
};
static_assert(sizeof(MessageHead) == 8);

/// Frames on their way, at most as many as UCX moves in one piece (its segments of 8 KiB): then messages arrive in
/// their order without being put together first.
struct Message {
  static constexpr std::size_t kBytes = 8000;
  std::size_t used = 0;
  alignas(8) std::array<std::byte, kBytes> bytes;
  bool has_room(std::size_t more) const noexcept { return used + more <= kBytes; }
};

/// The most data of one frame.
inline constexpr std::uint64_t kPiece =
    Message::kBytes - sizeof(MessageHead) - sizeof(wire::Frame) - sizeof(wire::KeyedRange);

/// The way into one segment of a peer's.
struct RemoteKey {
  std::uint32_t key;
  bool answered = false;      // it has come, or there is none
  ucp_rkey_h rkey = nullptr;  // null: messages must do
  std::uint64_t base = 0, bytes = 0;
};

struct UcxPeer {
  struct Awaited {
    void* to;
    std::uint64_t bytes;
    Tally* tally;
  };

  explicit UcxPeer(int pe_) : pe(pe_) {}
  /// Whether messages of this PE may not be done there yet.
  bool unconfirmed() const noexcept { return unanswered || !awaited.empty(); }
  /// Whether native puts may not have arrived.
  bool unflushed() const noexcept { return puts != flushed; }

  const int pe;
  ucp_ep_h ep = nullptr;
  std::deque<std::unique_ptr<Message>> queue;  // not sent yet; the last may have room
  int in_flight = 0;                           // messages that UCX has not done with
  bool dirty = false;                          // in the list of those with a queue
  std::deque<Awaited> awaited;                 // answers, in the order of their requests
  std::uint64_t awaited_bytes = 0;
  std::optional<wire::Frame> refusal;  // of a put or update of its, which the next answer tells
  bool unanswered = false;             // something was given that no answer outstanding will confirm
  // Native puts so far; up to which they have arrived; up to which UCX was asked whether they have.
  std::uint64_t puts = 0, flushed = 0, flushing = 0;
  int gets_in_flight = 0;  // native
  // How many fences there had been at the oldest message that is not confirmed, and at the oldest put that has not
  // arrived.
  std::uint64_t message_fence = 0, put_fence = 0;
  std::vector<RemoteKey> keys;
  bool broken = false;
  std::string why;
};

}  // namespace shoal

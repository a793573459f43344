// SPDX-License-Identifier: Apache-2.0
// What travels by messages: frames are gathered, sent, handled.
#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "transport/deliver.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace shoal {

using wire::Frame;
using wire::Operands;
using wire::Type;

namespace {

constexpr std::size_t kMostQueued = 8;  // messages; then who asks for more waits
constexpr int kMostInFlight = 32;
constexpr std::size_t kMostSpare = 256;

}  // namespace

// Sending

std::unique_ptr<Message> UcxTransport::fresh_message() {
  std::unique_ptr<Message> message;
  if (spare_.empty()) {
    message = std::make_unique<Message>();
  } else {
    message = std::move(spare_.back());
    spare_.pop_back();
  }
  const MessageHead head{MessageHead::kMagic, static_cast<std::uint32_t>(me_)};
  std::memcpy(message->bytes.data(), &head, sizeof head);
  message->used = sizeof head;
  return message;
}

/// A frame, and one or two pieces that belong to it.
void UcxTransport::append(UcxPeer& peer, const Frame& frame, const void* data, std::size_t bytes, const void* more,
                          std::size_t more_bytes) noexcept {
  if (peer.queue.empty() || !peer.queue.back()->has_room(sizeof frame + bytes + more_bytes))
    peer.queue.push_back(fresh_message());
  Message& message = *peer.queue.back();
  std::byte* to = message.bytes.data() + message.used;
  std::memcpy(to, &frame, sizeof frame);
  if (bytes != 0) copy_shared(to + sizeof frame, data, bytes);
  if (more_bytes != 0) std::memcpy(to + sizeof frame + bytes, more, more_bytes);
  message.used += sizeof frame + bytes + more_bytes;
  if (peer.dirty) return;
  peer.dirty = true;
  dirty_.push_back(&peer);
}

/// A frame that flush asks about.
void UcxTransport::request(UcxPeer& peer, const Frame& frame, const void* data, std::size_t bytes) noexcept {
  if (peer.queue.size() > kMostQueued) wait_until(peer, [&] { return peer.queue.size() <= kMostQueued; });
  if (!peer.unconfirmed()) peer.message_fence = fences_.load(std::memory_order_relaxed);
  append(peer, frame, data, bytes);
  peer.unanswered = frame.type == Type::put || frame.type == Type::update;  // an answer confirms what went before
}

/// The answer of the next request goes to `to`. Counts `tally` up.
void UcxTransport::await(UcxPeer& peer, void* to, std::uint64_t bytes, Tally& tally) noexcept {
  const auto may = [&] {
    return peer.awaited.size() < wire::kMostPending &&
           (peer.awaited_bytes == 0 || peer.awaited_bytes + bytes <= wire::kMostPendingBytes);
  };
  if (!may()) wait_until(peer, may);
  if (peer.queue.size() > kMostQueued) wait_until(peer, [&] { return peer.queue.size() <= kMostQueued; });
  if (!peer.unconfirmed()) peer.message_fence = fences_.load(std::memory_order_relaxed);
  peer.awaited.push_back({to, bytes, &tally});
  peer.awaited_bytes += bytes;
  tally.left.fetch_add(1, std::memory_order_relaxed);
}

/// Sends what was appended; or, where others may follow, only what is full, and sees to it that the rest leaves even if
/// this PE never calls again.
void UcxTransport::leave(UcxPeer& peer, bool gather) noexcept {
  send(peer, !gather);
  if (!peer.queue.empty() || peer.in_flight != 0) thread_.given();
}

void UcxTransport::put_message(UcxPeer& peer, Far to, const char* from, std::size_t bytes) noexcept {
  while (bytes != 0) {
    const std::uint64_t piece = std::min<std::uint64_t>(bytes, kPiece - to.offset % 8);  // cut between words
    request(peer, {Type::put, 0, 0, 0, to.key, to.offset, piece}, from, piece);
    leave(peer, true);
    from += piece;
    to.offset += piece;
    bytes -= piece;
  }
}

void UcxTransport::get_message(UcxPeer& peer, Far from, char* to, std::size_t bytes, Tally& tally,
                               bool gather) noexcept {
  while (bytes != 0) {
    const std::uint64_t piece = bytes < kPiece ? bytes : kPiece;
    await(peer, to, piece, tally);
    request(peer, {Type::get, 0, 0, 0, from.key, from.offset, piece}, nullptr, 0);
    to += piece;
    from.offset += piece;
    bytes -= piece;
  }
  leave(peer, gather);
}

/// Sends what may be sent now, the last message of the queue only if `all`. @return whether anything was
bool UcxTransport::send(UcxPeer& peer, bool all) noexcept {
  bool any = false;
  while (peer.queue.size() > (all ? 0u : 1u) && peer.in_flight < kMostInFlight && !peer.broken) {
    if (peer.unflushed()) {
      flush_puts(peer, nullptr);
      if (peer.unflushed()) break;
    }
    connect(peer);
    std::unique_ptr<Message> message = std::move(peer.queue.front());
    peer.queue.pop_front();
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    param.user_data = this;
    param.cb.send = [](void* request, ucs_status_t, void* self) {  // a failure is told by the endpoint
      auto& transport = *static_cast<UcxTransport*>(self);
      const Note& note = note_of(request);
      --note.peer->in_flight;
      std::unique_ptr<Message> done(note.message);
      if (transport.spare_.size() < kMostSpare) transport.spare_.push_back(std::move(done));
      transport.ucp_.ucp_request_free(request);
    };
    const ucs_status_ptr_t sent =
        ucp_.ucp_am_send_nbx(peer.ep, kMessageId, nullptr, 0, message->bytes.data(), message->used, &param);
    any = true;
    if (UCS_PTR_IS_PTR(sent)) {
      note_of(sent) = {&peer, nullptr, 0, message.release()};
      ++peer.in_flight;
    } else if (UCS_PTR_IS_ERR(sent)) {
      broke(peer, UCS_PTR_STATUS(sent));
    } else if (spare_.size() < kMostSpare) {
      spare_.push_back(std::move(message));
    }
  }
  return any;
}

bool UcxTransport::send_dirty() noexcept {
  bool any = false;
  std::size_t left = 0;
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    UcxPeer& peer = *dirty_[i];
    any |= send(peer, true);
    peer.dirty = !peer.queue.empty() && !peer.broken;
    if (peer.dirty) dirty_[left++] = &peer;
  }
  dirty_.resize(left);
  return any;
}

// Handling

void UcxTransport::on_message(const char* data, std::size_t bytes) noexcept {
  MessageHead head{};
  if (bytes >= sizeof head) std::memcpy(&head, data, sizeof head);
  if (head.magic != MessageHead::kMagic || head.from >= static_cast<std::uint32_t>(n_pes_))
    return target_.refused("a stranger", "its message is none of this job's");
  UcxPeer& from = peer(static_cast<int>(head.from));
  if (on_frames(from, data + sizeof head, data + bytes)) return;
  broke(from, "it sent what no PE of this version sends");
}

/// @return false for nonsense
bool UcxTransport::on_frames(UcxPeer& peer, const char* at, const char* end) noexcept {
  while (at != end) {
    const auto left = static_cast<std::size_t>(end - at);
    Frame frame;
    if (left < sizeof frame) return false;
    std::memcpy(&frame, at, sizeof frame);
    at += sizeof frame;
    const std::uint64_t available = left - sizeof frame;
    std::uint64_t follows = 0;
    switch (frame.type) {
      case Type::put:
      case Type::reply: follows = frame.bytes; break;
      case Type::update:
      case Type::fetch: follows = sizeof(Operands); break;
      case Type::key: follows = frame.bytes > kPiece ? ~0ull : sizeof(wire::KeyedRange) + frame.bytes; break;
      case Type::get:
      case Type::ask_key:
      case Type::refused: break;
      default: return false;
    }
    if (follows > available) return false;
    bool sense = true;
    switch (frame.type) {
      case Type::put:
        sense = frame.bytes != 0;
        if (!sense) break;
        if (char* to = target_.admit(peer.pe, frame.key, frame.offset, frame.bytes, Access::write))
          deliver(to, at, frame.bytes);
        else
          refuse(peer, frame);
        break;
      case Type::update:
      case Type::fetch: sense = on_atomic(peer, frame, at); break;
      case Type::get: sense = on_get(peer, frame); break;
      case Type::reply:
      case Type::refused: sense = on_reply(peer, frame, at); break;
      case Type::ask_key: asked_.emplace_back(peer.pe, frame.key); break;
      case Type::key: on_key(peer, frame, at); break;
    }
    if (!sense) return false;
    at += follows;
  }
  return true;
}

void UcxTransport::answer(UcxPeer& peer, const void* data, std::uint64_t bytes) noexcept {
  if (peer.refusal) return append(peer, *peer.refusal, nullptr, 0);
  append(peer, {Type::reply, 0, 0, 0, 0, 0, bytes}, data, bytes);
}

void UcxTransport::refuse(UcxPeer& peer, const Frame& request) noexcept {
  const Frame refusal = wire::refusal_of(request);
  if (request.type == Type::get || request.type == Type::fetch)
    append(peer, refusal, nullptr, 0);
  else if (!peer.refusal)
    peer.refusal = refusal;
}

bool UcxTransport::on_get(UcxPeer& peer, const Frame& frame) noexcept {
  if (frame.bytes > kPiece) return false;
  if (frame.bytes == 0) return answer(peer, nullptr, 0), true;
  const char* from = target_.admit(peer.pe, frame.key, frame.offset, frame.bytes, Access::read);
  if (from != nullptr)
    answer(peer, from, frame.bytes);
  else
    refuse(peer, frame);
  return true;
}

bool UcxTransport::on_atomic(UcxPeer& peer, const Frame& frame, const char* behind) noexcept {
  if ((frame.width != 4 && frame.width != 8) || frame.op > static_cast<std::uint8_t>(AtomicOp::add_float)) return false;
  Operands operands;
  std::memcpy(&operands, behind, sizeof operands);
  char* word = target_.admit(peer.pe, frame.key, frame.offset, frame.width, Access::atomic);
  if (word == nullptr) return refuse(peer, frame), true;
  const std::uint64_t old =
      apply({static_cast<AtomicOp>(frame.op), frame.width, operands.operand, operands.compare}, word);
  if (frame.type == Type::fetch) answer(peer, &old, frame.width);
  return true;
}

bool UcxTransport::on_reply(UcxPeer& peer, const Frame& frame, const char* behind) noexcept {
  if (peer.awaited.empty()) return false;
  if (frame.type == Type::refused) target_.fail(wire::refusal_text(peer.pe, frame));
  const UcxPeer::Awaited done = peer.awaited.front();
  if (done.bytes != frame.bytes) return false;
  peer.awaited.pop_front();
  peer.awaited_bytes -= done.bytes;
  if (done.bytes != 0) deliver(static_cast<char*>(done.to), behind, done.bytes);
  done.tally->left.fetch_sub(1, std::memory_order_release);
  return true;
}

}  // namespace shoal

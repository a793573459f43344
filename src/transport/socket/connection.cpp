// SPDX-License-Identifier: Apache-2.0
#include "transport/socket/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "base/fence.hpp"
#include "bootstrap/address.hpp"
#include "transport/deliver.hpp"
#include "transport/socket/endpoint.hpp"

namespace shoal {

using wire::Frame;
using wire::Operands;
using wire::Type;

namespace {

constexpr int kReadsAtOnce = 64;       // then others get their turn
constexpr std::uint64_t kInline = 64;  // a put this short is handled when all of it is there

// Whoever waits for a word sees it old or new. So a body that is coming is written up to the end of a word, and its
// last word comes through the buffer, after all the others: a program may wait for that. In the midst of a long body
// the kernel writes over plain TCP, and may cut a word where a segment ends.
constexpr std::size_t kWord = 8;

/// The part of `bytes` at `to` that does not end inside a word.
std::uint64_t up_to_word(const char* to, std::uint64_t bytes) noexcept {
  const std::uint64_t over = (reinterpret_cast<std::uintptr_t>(to) + bytes) % kWord;
  return over < bytes ? bytes - over : 0;
}

}  // namespace

Connection::Connection(int pe, std::unique_ptr<Stream> stream, Target& target)
    : pe_(pe),
      stream_(std::move(stream)),
      address_(SocketAddress::peer_of(stream_->fd()).text()),
      target_(target),
      out_(new std::byte[kBuffer]),
      in_(new std::byte[kBuffer]) {}

void Connection::fail(const std::string& why) noexcept {
  if (broken()) return;
  const int silent_s = silent_s_.load(std::memory_order_relaxed);
  why_ = silent_s == 0 ? why : strf("nothing has been heard from its machine for %d s", silent_s);
  broken_.store(true, std::memory_order_release);
}

void Connection::check_silence(int seconds) noexcept {
  if (broken() || !is_silent(fd(), seconds)) return;
  silent_s_.store(seconds, std::memory_order_relaxed);
  ::shutdown(fd(), SHUT_RDWR);  // its owner, who may be waiting for it, finds it at its end
}

// Sending

void Connection::append(const Frame& frame, const void* data, std::size_t bytes) noexcept {
  append_unconfirmed(frame, data, bytes);
  if (frame.type >= Type::reply) return;
  unconfirmed_ = frame.type == Type::put || frame.type == Type::update;  // an answer confirms what went before
  busy_.store(true, std::memory_order_release);
}

void Connection::append_unconfirmed(const Frame& frame, const void* data, std::size_t bytes) noexcept {
  std::memcpy(out_.get() + out_end_, &frame, sizeof frame);
  if (bytes != 0) std::memcpy(out_.get() + out_end_ + sizeof frame, data, bytes);
  out_end_ += sizeof frame + bytes;
  dirty_.store(true, std::memory_order_seq_cst);  // before the look whether the thread sleeps
}

void Connection::append_body(const Frame& frame, const void* data, std::size_t bytes) noexcept {
  append(frame, nullptr, 0);
  body_ = {static_cast<char*>(const_cast<void*>(data)), bytes};
  body_is_answer_ = false;
}

void Connection::await(void* to, std::uint64_t bytes, Tally& tally) {
  awaited_.push_back({static_cast<char*>(to), bytes, &tally});
  awaited_bytes_ += bytes;
}

/// @return whether anything could be written
bool Connection::write_some() noexcept {
  const std::size_t head = out_end_ - out_begin_;
  ssize_t n;
  if (head != 0 && body_.left != 0)
    n = stream_->write_both(out_.get() + out_begin_, head, body_.at, body_.left);
  else if (head != 0)
    n = stream_->write(out_.get() + out_begin_, head);
  else
    n = stream_->write(body_.at, body_.left);
  if (n == Stream::kEnded) fail(stream_->why());
  if (n <= 0) return false;
  auto written = static_cast<std::uint64_t>(n);
  const std::uint64_t of_head = std::min<std::uint64_t>(written, head);
  out_begin_ += of_head;
  written -= of_head;
  if (out_begin_ == out_end_) out_begin_ = out_end_ = 0;
  if (written == 0) return true;
  body_.at += written;
  body_.left -= written;
  if (body_.left == 0 && !body_is_answer_) ++sent_bodies_;
  return true;
}

/// Moves an answer that waits to where it is written from.
void Connection::next_answer() noexcept {
  const Answer answer = answers_.front();
  const std::uint64_t bytes = answer.frame.bytes;
  const bool gathered = answer.data == nullptr || bytes <= kCopied;
  if (!has_room(gathered ? bytes : 0)) return;
  answers_.pop_front();
  if (gathered)
    return append(answer.frame, answer.data != nullptr ? answer.data : reinterpret_cast<const char*>(&answer.value),
                  bytes);
  append(answer.frame, nullptr, 0);
  body_ = {const_cast<char*>(answer.data), bytes};
  body_is_answer_ = true;
}

bool Connection::flush() noexcept {
  for (;;) {
    while (!answers_.empty() && body_.left == 0 && has_room(kCopied)) next_answer();
    if (out_begin_ == out_end_ && body_.left == 0) break;
    if (broken() || !write_some()) return false;
  }
  dirty_.store(false, std::memory_order_relaxed);
  return true;
}

// Receiving

bool Connection::receive() noexcept {
  bool any = false;
  for (int i = 0; i < kReadsAtOnce && !broken(); ++i) {
    const std::uint64_t direct = direct_bytes(), asked = direct != 0 ? before_last_word() : buffered_bytes();
    const ssize_t n = direct != 0 ? receive_body(direct) : receive_frames(asked);
    if (n == Stream::kEnded) fail(stream_->why());
    if (n <= 0) break;
    any = true;
    // All there was: to ask again would cost as much as to be asked again.
    if (static_cast<std::uint64_t>(n) < asked && !stream_->holds_input()) break;
  }
  if (touched_) {
    touched_ = false;
    target_.wake();
  }
  return any;
}

/// How much of a body that is coming lies before its last word.
std::uint64_t Connection::before_last_word() const noexcept {
  if (incoming_ == Incoming::nothing) return body_in_.left;
  return body_in_.left - 1 - (reinterpret_cast<std::uintptr_t>(body_in_.at) + body_in_.left - 1) % kWord;
}

/// How much of a long body is there to be read to where it belongs, up to the end of a word; 0: the buffer comes first.
std::uint64_t Connection::direct_bytes() const noexcept {
  if (in_begin_ != in_end_ || body_in_.left <= kCopied) return 0;
  if (incoming_ == Incoming::nothing) return std::min<std::uint64_t>(kBuffer, body_in_.left);
  const std::uint64_t bytes = stream_->available(), most = before_last_word();
  return bytes < most ? up_to_word(body_in_.at, bytes) : most;
}

ssize_t Connection::receive_body(std::uint64_t bytes) noexcept {
  const bool kept = incoming_ != Incoming::nothing;
  const ssize_t n = stream_->read(kept ? body_in_.at : reinterpret_cast<char*>(in_.get()), bytes);
  if (n <= 0) return n;
  if (kept) body_in_.at += n;
  body_in_.left -= static_cast<std::uint64_t>(n);
  if (body_in_.left <= kWord) bulk_ = true;
  if (body_in_.left == 0) body_done();
  return n;
}

/// How much to read into the buffer: no more of a long body than the rest of a word.
std::size_t Connection::buffered_bytes() const noexcept {
  const std::size_t held = in_end_ - in_begin_;
  if (body_in_.left > kCopied) return kWord - (reinterpret_cast<std::uintptr_t>(body_in_.at) + held) % kWord;
  const std::size_t alone = body_in_.left + sizeof(Frame);
  return bulk_ && held < alone ? alone - held : kBuffer - held;
}

ssize_t Connection::receive_frames(std::size_t bytes) noexcept {
  if (in_begin_ != 0) {
    std::memmove(in_.get(), in_.get() + in_begin_, in_end_ - in_begin_);
    in_end_ -= in_begin_;
    in_begin_ = 0;
  }
  const ssize_t n = stream_->read(in_.get() + in_end_, bytes);
  if (n <= 0) return n;
  bulk_ = bulk_ && static_cast<std::size_t>(n) < bytes;
  in_end_ += static_cast<std::size_t>(n);
  if (!parse()) fail("it sent what no PE of this version sends");
  return n;
}

/// Handles whole frames, and bodies as far as they have come. @return false for nonsense
bool Connection::parse() noexcept {
  for (;;) {
    const char* at = reinterpret_cast<const char*>(in_.get()) + in_begin_;
    const std::size_t available = in_end_ - in_begin_;
    if (body_in_.left != 0) {
      const std::size_t bytes = take(at, available);
      if (bytes == 0) return true;
      in_begin_ += bytes;
      continue;
    }
    if (available < sizeof(Frame)) return true;
    Frame frame;
    std::memcpy(&frame, at, sizeof frame);
    const std::size_t before = in_begin_;
    if (!on_frame(frame, at + sizeof frame, available - sizeof frame)) return false;
    if (in_begin_ == before) return true;  // not all of it is there
  }
}

/// Consumes the frame, and what belongs to it where that is short, if all of it is there. @return false for nonsense
bool Connection::on_frame(const Frame& frame, const char* behind, std::size_t available) noexcept {
  switch (frame.type) {
    case Type::put:
      if (frame.bytes == 0 || frame.bytes > wire::kLongest) return false;
      if (frame.bytes <= kInline) {
        if (available < frame.bytes) return true;
        if (char* to = target_.admit(pe_, frame.key, frame.offset, frame.bytes, Access::write)) {
          deliver(to, behind, frame.bytes);
          touched_ = true;
        } else {
          refuse(frame);
        }
        in_begin_ += sizeof frame + frame.bytes;
        return true;
      }
      in_begin_ += sizeof frame;
      on_put(frame);
      return true;
    case Type::get:
      if (frame.bytes > wire::kLongest || answers_.size() > 2 * wire::kMostPending) return false;
      in_begin_ += sizeof frame;
      on_get(frame);
      return true;
    case Type::update:
    case Type::fetch: {
      if ((frame.width != 4 && frame.width != 8) || frame.op > static_cast<std::uint8_t>(AtomicOp::add_float) ||
          answers_.size() > 2 * wire::kMostPending)
        return false;
      if (available < sizeof(Operands)) return true;
      Operands operands;
      std::memcpy(&operands, behind, sizeof operands);
      in_begin_ += sizeof frame + sizeof operands;
      on_atomic(frame, operands);
      return true;
    }
    case Type::ask_key:
    case Type::key: return false;
    case Type::reply:
    case Type::refused:
      if (awaited_.empty() || (frame.type == Type::reply && frame.bytes != awaited_.front().bytes)) return false;
      in_begin_ += sizeof frame;
      on_reply(frame);
      return true;
  }
  return false;
}

void Connection::on_put(const Frame& frame) noexcept {
  char* to = target_.admit(pe_, frame.key, frame.offset, frame.bytes, Access::write);
  body_in_ = {to, frame.bytes};
  incoming_ = to == nullptr ? Incoming::nothing : Incoming::put;
  if (to == nullptr) refuse(frame);
  release_fence();  // the kernel may be the one who writes it: after all that was delivered before
}

void Connection::refuse(const Frame& request) noexcept {
  const Frame refusal = wire::refusal_of(request);
  if (request.type == Type::get || request.type == Type::fetch)
    reply(refusal, nullptr, 0);
  else if (!refusal_)
    refusal_ = refusal;
}

void Connection::reply(const Frame& frame, const char* data, std::uint64_t value) noexcept {
  if (refusal_ && frame.type == Type::reply) return reply(*refusal_, nullptr, 0);
  const bool gathered = data == nullptr || frame.bytes <= kCopied;
  if (gathered && answers_.empty() && has_room(frame.bytes))
    return append(frame, data != nullptr ? data : reinterpret_cast<const char*>(&value), frame.bytes);
  answers_.push_back({frame, data, value});
  dirty_.store(true, std::memory_order_relaxed);
}

void Connection::on_get(const Frame& frame) noexcept {
  if (frame.bytes == 0) return reply({Type::reply, 0, 0, 0, 0, 0, 0}, nullptr, 0);
  const char* from = target_.admit(pe_, frame.key, frame.offset, frame.bytes, Access::read);
  if (from == nullptr) return refuse(frame);
  // What is short is read now; what is long when it is sent, which may be later: until it has arrived either is right.
  std::uint64_t value = 0;
  if (frame.bytes <= sizeof value) {
    copy_shared(&value, from, frame.bytes);
    from = nullptr;
  }
  reply({Type::reply, 0, 0, 0, 0, 0, frame.bytes}, from, value);
}

void Connection::on_atomic(const Frame& frame, const Operands& operands) noexcept {
  char* word = target_.admit(pe_, frame.key, frame.offset, frame.width, Access::atomic);
  if (word == nullptr) return refuse(frame);
  const std::uint64_t old =
      apply({static_cast<AtomicOp>(frame.op), frame.width, operands.operand, operands.compare}, word);
  touched_ = true;
  if (frame.type == Type::fetch) reply({Type::reply, 0, 0, 0, 0, 0, frame.width}, nullptr, old);
}

void Connection::on_reply(const Frame& frame) noexcept {
  if (frame.type == Type::refused) target_.fail(wire::refusal_text(pe_, frame));
  const Awaited& awaited = awaited_.front();
  if (awaited.bytes == 0) return finish_await();
  body_in_ = {awaited.to, awaited.bytes};
  incoming_ = Incoming::answer;
}

/// Bytes of a body that came through the buffer. @return how many it took
std::size_t Connection::take(const char* from, std::size_t available) noexcept {
  std::size_t bytes = std::min<std::uint64_t>(available, body_in_.left);
  if (incoming_ != Incoming::nothing) {
    if (bytes < body_in_.left) bytes = up_to_word(body_in_.at, bytes);
    deliver(body_in_.at, from, bytes);
    body_in_.at += bytes;
  }
  body_in_.left -= bytes;
  if (body_in_.left == 0) body_done();
  return bytes;
}

void Connection::body_done() noexcept {
  if (incoming_ == Incoming::answer) finish_await();
  if (incoming_ == Incoming::put) touched_ = true;
  incoming_ = Incoming::none;
}

void Connection::finish_await() noexcept {
  const Awaited done = awaited_.front();
  awaited_.pop_front();
  awaited_bytes_ -= done.bytes;
  touched_ = true;
  if (awaited_.empty() && !unconfirmed_) busy_.store(false, std::memory_order_release);
  done.tally->left.fetch_sub(1, std::memory_order_release);
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// One connection to one other PE: frames both ways, requests of both sides. What is small is gathered in a buffer and
// leaves together; what is large goes straight from and to the caller's memory.
//
// Thread safety: whoever owns it (owner()) uses it, one thread at a time; an owner serves both directions, so that two
// PEs which write to each other never both stop reading. The flags that others read are atomic.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/owner_flag.hpp"
#include "transport/socket/stream.hpp"
#include "transport/socket/wire.hpp"
#include "transport/transport.hpp"

namespace shoal {

class Connection final {
 public:
  static constexpr std::size_t kBuffer = 64 * 1024;
  static constexpr std::size_t kCopied = 8 * 1024;  ///< up to here data are gathered, beyond sent from where they are
  static constexpr std::size_t kFlushAt =
      kBuffer / 2;  ///< this much leaves at once: the other side need not idle meanwhile

  Connection(int pe, std::unique_ptr<Stream> stream, Target& target);

  int pe() const noexcept { return pe_; }
  int fd() const noexcept { return stream_->fd(); }
  /// The other side's, as text.
  const std::string& address() const noexcept { return address_; }
  OwnerFlag& owner() noexcept { return owner_; }
  /// Whether something waits to be written. Any thread.
  bool dirty() const noexcept { return dirty_.load(std::memory_order_relaxed); }
  /// Whether requests of this PE may not be done yet. Any thread.
  bool busy() const noexcept { return busy_.load(std::memory_order_acquire); }
  /// Whether it failed; then nothing moves any more. Any thread.
  bool broken() const noexcept { return broken_.load(std::memory_order_acquire); }
  /// Why it failed.
  const std::string& why() const noexcept { return why_; }

  // The rest is the owner's.

  /// Whether a frame with `bytes` (at most kCopied) behind it can be appended now.
  bool has_room(std::size_t bytes) const noexcept {
    return body_.left == 0 && out_end_ + sizeof(wire::Frame) + bytes <= kBuffer;
  }
  /// Whether another answer of `bytes` can be awaited now.
  bool may_await(std::uint64_t bytes) const noexcept {
    return awaited_.size() < wire::kMostPending &&
           (awaited_bytes_ == 0 || awaited_bytes_ + bytes <= wire::kMostPendingBytes);
  }
  void append(const wire::Frame& frame, const void* data, std::size_t bytes) noexcept;
  /// The same for what nobody will ask about: it leaves busy() as it is.
  void append_unconfirmed(const wire::Frame& frame, const void* data, std::size_t bytes) noexcept;
  /// A put whose data are sent from where they are: they must stay until the count of sent_bodies() has grown by one.
  void append_body(const wire::Frame& frame, const void* data, std::size_t bytes) noexcept;
  std::uint64_t sent_bodies() const noexcept { return sent_bodies_; }
  /// The next answer goes to `to`. Counts `tally` down.
  void await(void* to, std::uint64_t bytes, Tally& tally);

  bool gathers() const noexcept { return out_end_ - out_begin_ < kFlushAt; }  ///< room for more before it should leave
  /// Writes what can be written now. @return whether nothing is left
  bool flush() noexcept;
  /// Reads and serves what has come. @return whether anything had
  bool receive() noexcept;
  void fail(const std::string& why) noexcept;

  /// Ends it when nothing has come from the other machine for so long, though something is under way. Any thread.
  void check_silence(int seconds) noexcept;

 private:
  struct Awaited {
    char* to;
    std::uint64_t bytes;
    Tally* tally;
  };
  /// An answer of ours that found no room: a frame and what it brings, by value if short.
  struct Answer {
    wire::Frame frame;
    const char* data;  // null: `value`
    std::uint64_t value;
  };
  /// A range being sent from, or received into, the memory where it lives.
  struct Range {
    char* at = nullptr;
    std::uint64_t left = 0;
  };
  enum class Incoming { none, put, answer, nothing };  // what body_in_ belongs to; `nothing`: it is thrown away

  bool write_some() noexcept;
  void next_answer() noexcept;
  void reply(const wire::Frame& frame, const char* data, std::uint64_t value) noexcept;
  void refuse(const wire::Frame& request) noexcept;
  std::uint64_t before_last_word() const noexcept;
  std::uint64_t direct_bytes() const noexcept;
  ssize_t receive_body(std::uint64_t bytes) noexcept;
  ssize_t receive_frames(std::size_t bytes) noexcept;
  std::size_t buffered_bytes() const noexcept;
  bool parse() noexcept;
  bool on_frame(const wire::Frame& frame, const char* behind, std::size_t available) noexcept;
  void on_put(const wire::Frame& frame) noexcept;
  void on_get(const wire::Frame& frame) noexcept;
  void on_atomic(const wire::Frame& frame, const wire::Operands& operands) noexcept;
  void on_reply(const wire::Frame& frame) noexcept;
  std::size_t take(const char* from, std::size_t available) noexcept;
  void body_done() noexcept;
  void finish_await() noexcept;

  const int pe_;
  const std::unique_ptr<Stream> stream_;
  const std::string address_;
  Target& target_;
  OwnerFlag owner_;
  std::atomic<bool> dirty_{false}, busy_{false}, broken_{false};
  std::atomic<int> silent_s_{0};  // why it was ended, if it was by check_silence()
  std::string why_;

  std::unique_ptr<std::byte[]> out_;  // [out_begin_, out_end_) is yet to be written, then body_out_
  std::size_t out_begin_ = 0, out_end_ = 0;
  Range body_;
  bool body_is_answer_ = false;
  std::uint64_t sent_bodies_ = 0;
  std::deque<Answer> answers_;
  std::optional<wire::Frame> refusal_;  // of a put or update, which the next answer tells

  std::unique_ptr<std::byte[]> in_;  // [in_begin_, in_end_) has come and is not handled
  std::size_t in_begin_ = 0, in_end_ = 0;
  Range body_in_;
  Incoming incoming_ = Incoming::none;
  std::deque<Awaited> awaited_;
  std::uint64_t awaited_bytes_ = 0;
  bool bulk_ = false;  // long bodies follow each other: the next frame is read alone, with the last word before it
  bool unconfirmed_ = false;  // something was sent that no answer outstanding will confirm
  bool touched_ = false;      // memory or tallies changed since target_.wake()
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// The launcher's side of the channels to its PEs: bytes in, bytes out. It owns no descriptor, starts no thread and
// never blocks; the launcher's poll loop drives it. Nothing that a PE sends makes it throw.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "bootstrap/protocol.hpp"

namespace shoal {

class StoreServer final {
 public:
  enum class State { absent, joined, left };  ///< absent: has never said hello
  struct Event {
    enum class Kind {
      joined,   ///< a process of this PE said hello
      left,     ///< the session is over, in order, for all PEs
      aborted,  ///< the job is to end with `status`; `text` is the line to print, or empty
      exiting,  ///< the process in the session is about to exit with `status`, without leave
      asked,  ///< all PEs here ask for `type`, with `payload` (Parts, for allgather): others have to, too; see answer()
      broken,  ///< `text` says what this PE sent that makes no sense; it is no longer listened to
    } kind;
    int pe;
    int status = 0;
    std::string text = {};
    store::Type type = {};
    store::Bytes payload = {};
  };

  /// For a whole job of `size` PEs.
  explicit StoreServer(int size) : StoreServer(size, 0, size) {}
  /// For the `count` PEs from `first` on, of `total`. PEs are numbered from 0 in all that follows here.
  StoreServer(int count, int first, int total);
  /// What all PEs of the job together get for what was asked last.
  void answer(store::Type asked, std::span<const std::byte> payload);
  /// Takes what arrived from `pe`.
  void feed(int pe, std::span<const std::byte> bytes);
  /// What is to be sent to `pe` next (a part of it, perhaps), empty: nothing. Valid until the next call.
  std::span<const std::byte> pending(int pe) const;
  /// The first `n` bytes of pending(pe) have been sent.
  void sent(int pe, size_t n);
  /// What happened, in order.
  std::optional<Event> next_event();
  State state(int pe) const { return clients_[static_cast<size_t>(pe)].state; }
  int size() const { return static_cast<int>(clients_.size()); }

 private:
  // Shared, because one answer goes to all PEs and is freed when the last one has it.
  using Answer = std::shared_ptr<const store::Bytes>;
  struct Client {
    State state = State::absent;
    bool broken = false;
    store::FrameReader reader{store::kMaxRequest};
    std::optional<store::Frame> request;  // unanswered
    std::deque<Answer> answers;
    size_t sent = 0;  // of the first answer
  };
  void take(int pe, store::Frame frame);
  void hello(int pe, const store::Frame& frame);
  void collect(int pe, store::Frame frame);
  void mismatch(int pe, const char* asked, const char* others);
  void answer_all();
  void refuse(int pe, int code, const std::string& text);
  void break_off(int pe, const std::string& text);

  std::vector<Client> clients_;
  const int first_, total_;
  size_t waiting_ = 0;  // clients with a request
  bool asked_ = false;  // all have asked, and others have not yet
  std::deque<Event> events_;
};

}  // namespace shoal

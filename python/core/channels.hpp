// SPDX-License-Identifier: Apache-2.0
// Channels: messages from one PE to another with a tag, matched as send and receive are in MPI. A ring of fragments for
// each ordered pair lies in the receiver's part of the symmetric heap; the receiver tells the sender how many it has
// read.
//
// Nothing runs by itself: whoever waits for one of its operations moves all of them on. Thread safe.
#pragma once
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "waiting.hpp"

namespace shoal::python {

struct Pool;

/// One send or receive. Shared between its caller and the channels; `done` is read and written under the channels'
/// lock.
struct Transfer {
  bool sends = false;
  int pe = -1;               ///< the other side; -1: a receive from any of `members`
  std::vector<int> members;  ///< world PEs, for a receive from any
  std::uint64_t group = 0;
  std::int64_t tag = 0;
  char* data = nullptr;
  std::uint64_t bytes = 0, moved = 0;
  bool done = false;
  std::string error;            ///< why it failed, once done
  bool cut_off = false;         ///< by finalize
  std::vector<char> copy = {};  ///< of what an abandoned send still has to send
};

class Channels final {
 public:
  static constexpr int kFragments = 4;
  static std::size_t payload_bytes(int n_pes) noexcept;
  /// Of the whole area at the pool's start.
  static std::size_t area_bytes(int n_pes) noexcept;

  /// Clears this PE's area: nobody may send before all have done so.
  Channels(Pool& pool, int n_pes, int me);
  std::shared_ptr<Transfer> start(Transfer transfer);
  /// Moves all on, unless another thread does so just now.
  void poll();
  /// @return whether it is done
  bool test(Transfer& transfer);
  /// Its caller's memory goes: a send goes on from a copy, a receive is taken back or drops what arrives for it.
  /// @return false where it was done already
  bool abandon(Transfer& transfer);
  /// The job ends: whatever is under way fails, and nothing touches the heap any more.
  void close();
  /// @throws std::invalid_argument when the message doesn't fit, Timeout, std::runtime_error after close
  void wait(Transfer& transfer, double timeout_seconds);
  /// Waits until one of them is done. @throws Timeout
  void wait_any(const std::vector<Transfer*>& transfers, double timeout_seconds);

 private:
  struct Header {
    std::uint64_t sequence;  // written last: number of the fragment in its ring, from 1
    std::uint64_t group;
    std::int64_t tag;
    std::uint64_t total, offset;
    std::uint32_t bytes, unused;
    std::uint64_t padding[2];
  };
  static_assert(sizeof(Header) == 64);
  /// A message that came before its receive.
  struct Unexpected {
    std::uint64_t group;
    std::int64_t tag;
    std::vector<char> data;
    std::uint64_t arrived;
    std::shared_ptr<Transfer> taken_by;
  };
  struct Outgoing {
    std::uint64_t sent = 0;  // fragments
    std::deque<std::shared_ptr<Transfer>> queue;
  };
  struct Incoming {
    std::uint64_t read = 0;             // fragments
    std::shared_ptr<Transfer> current;  // whose message the next fragment continues
    std::list<Unexpected> unexpected;   // the last one may still be arriving
    bool current_is_unexpected = false;
  };

  void progress();
  bool progress_send(int pe, Outgoing& out);
  bool progress_receive(int pe, Incoming& in);
  void begin_message(int pe, Incoming& in, const Header& header);
  void finish(Transfer& transfer, std::uint64_t total);
  static void cut_off(Transfer& transfer);
  bool take_unexpected(Transfer& receive, int pe);
  static bool matches(const Transfer& receive, int pe, std::uint64_t group, std::int64_t tag) noexcept;
  Header* fragment(int sender, std::uint64_t number) const noexcept;
  std::uint64_t* credit(int receiver) const noexcept;

  Pool& pool_;
  int n_pes_, me_;
  std::size_t payload_;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
  std::list<std::shared_ptr<Transfer>> receives_;  // posted, in order
  bool closed_ = false;
  std::mutex mutex_;
};

}  // namespace shoal::python

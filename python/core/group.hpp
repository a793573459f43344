// SPDX-License-Identifier: Apache-2.0
// Group: collectives of some PEs on any memory, tensors and arrays alike. Members send each other messages by
// put-with-signal into inboxes on the symmetric heap; memory that is on the heap itself is read and written in place.
//
// Each pair of members exchanges messages in step: message k goes into place k % 4 of the receiver's inbox for its
// sender, and is sent only after message k - 2 of the other arrived. That one was sent by who had read message k - 4,
// so its place is free; and one message may be on its way while another is read. Where a heap is too small for that,
// there are two places, and message k is sent only after message k - 1 of the other. The first message of a collective
// goes to all members and says what its sender thinks the collective is, so members that disagree find out instead of
// waiting for ever. All that was posted is taken even then: the next collective begins in step. A wait that is given up
// (a deadline, Ctrl-C) leaves messages behind, and the group can't be used any more.
//
// Thread safety: one operation at a time (a lock sees to it); several groups run at the same time.
#pragma once
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime.hpp"
#include "types.hpp"
#include "waiting.hpp"

namespace shoal::python {

enum class Kind : std::uint16_t {
  none,
  barrier,
  allocate,
  free,
  all_reduce,
  reduce,
  reduce_scatter,
  broadcast,
  all_gather,
  gather,
  scatter,
  all_to_all,
  scan
};

/// What a message says of the operation that it belongs to.
struct Description {
  static constexpr int kMostDimensions = 8;

  Kind kind = Kind::none;
  std::uint8_t type = 0, op = 0;
  std::int32_t root = -1;
  std::uint64_t count = 0;    ///< elements that all members must agree on; 0 where they may differ
  std::uint64_t sends = 0;    ///< bytes for the receiver of the message in this collective
  std::uint64_t expects = 0;  ///< bytes from it
  std::int64_t source = 0,
               dest = 0;  ///< operands on the heap, relative to the pool; 0: elsewhere. Of share(): its bytes in all, 0
  std::uint32_t dimensions = 0;  ///< of `shape`, for messages to people; 0: just a count
  std::uint32_t bytes = 0;       ///< payload of this message
  std::int64_t shape[kMostDimensions] = {};
};
static_assert(sizeof(Description) == 120);

/// An operand's type and shape.
struct Operand {
  Type type = kBytes;
  std::uint64_t count = 0;
  std::vector<std::int64_t> shape = {};
};

class Group final {
 public:
  /// @param pes    the members' world PEs, in order
  /// @param slots  each member's slot in its own pool; all have cleared theirs (clear_slot) before anyone makes its
  /// group
  /// @param epoch  the Runtime's in which it can be used
  Group(Pool& pool, std::vector<int> pes, std::vector<int> slots, std::string name, std::uint64_t epoch);
  ~Group();
  /// Makes a slot ready for a group of so many members; before the slot's number is told to any.
  static void clear_slot(Pool& pool, int slot, int members);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int size() const noexcept { return static_cast<int>(pes_.size()); }
  int rank() const noexcept { return rank_; }
  int pe(int member) const noexcept { return pes_[static_cast<std::size_t>(member)]; }
  /// For the waits of the following operations; 0 for none.
  void set_timeout(double seconds) noexcept { timeout_ns_ = static_cast<std::uint64_t>(seconds * 1e9); }

  /// Waits for all members.
  void barrier();
  /// Element i of `dest` on all members is the combination of element i of all sources, in the members' order: the same
  /// bits everywhere. `dest` may be `source`. @throws std::invalid_argument where members disagree, or the type has no
  /// such `op`
  void all_reduce(void* dest, const void* source, const Operand& operand, int op);
  /// The same on member `root` alone; `dest` of the others isn't looked at.
  void reduce(void* dest, const void* source, const Operand& operand, int op, int root);
  /// As all_reduce of blocks of `operand.count` elements, of which each member gets its own. sources[i] is for member
  /// i.
  void reduce_scatter(void* dest, const std::vector<const void*>& sources, const Operand& operand, int op);
  /// Each member's `to[i]` of `sends[i]` bytes becomes `from[rank]` there; what it has for itself is copied.
  void exchange(Kind kind, const Operand& operand, int root, const std::vector<const void*>& to,
                const std::vector<std::uint64_t>& sends, const std::vector<void*>& from,
                const std::vector<std::uint64_t>& expects);
  /// Each member's `bytes` to all, with a description that they must agree on.
  std::vector<std::vector<std::byte>> share(const Description& mine, std::span<const std::byte> bytes);
  /// Element i of `dest` combines the sources of members 0 to this one (without itself: `exclusive`).
  void scan(void* dest, const void* source, const Operand& operand, bool exclusive);

 private:
  struct Peer {
    std::uint64_t posted = 0, taken = 0;  // messages
    char* inbox = nullptr;   // there, for messages from this member: an address as this PE names symmetric memory
    char* mapped = nullptr;  // the pool there, as mapped here; null where it isn't
    std::uint64_t* left = nullptr;  // of its slot: it hears there that this member's group is gone
  };
  struct Message {
    std::uint64_t sequence;
    Description description;
    std::byte payload[];
  };
  static_assert(sizeof(Message) == 128);
  /// One operation: the only one while it lasts. @throws std::runtime_error where the group can't be used
  class Turn final {
   public:
    explicit Turn(Group& group);

   private:
    const std::lock_guard<std::mutex> guard_;
    const Stay stay_;
  };

  /// What a member has room for from each of the others; `window` is 0 where there is none.
  struct Inbox {
    std::size_t places, window;
    static Inbox of(const Pool& pool, int members) noexcept;
  };
  std::size_t inbox_bytes() const noexcept { return places_ * (sizeof(Message) + window_); }
  /// Messages that may be sent before the other's of the same number has come.
  std::size_t ahead() const noexcept { return places_ == 4 ? 1 : 0; }
  Message* place_of(char* inbox, std::uint64_t sequence) const noexcept {
    return reinterpret_cast<Message*>(inbox + (sequence % places_) * (sizeof(Message) + window_));
  }
  /// Sends the next message. A payload that is at next_payload() already isn't copied.
  void post(int member, const Description& description, const void* payload, std::size_t bytes);
  /// Where the next message's payload goes, as mapped here; null where it isn't. That place is the sender's until it
  /// posts.
  std::byte* next_payload(int member) const noexcept;
  const Message& take(int member);
  bool others(int& member, int step) const noexcept;
  /// @throws std::invalid_argument
  void compare(const Description& mine, const Description& theirs, int member) const;
  Description describe(Kind kind, const Operand& operand, int op, int root, const void* source, const void* dest) const;
  std::int64_t on_heap(const void* address) const noexcept;
  bool direct(const std::vector<Description>& all, bool dests) const noexcept;
  char* there(int member, std::int64_t offset) const noexcept {
    return peers_[static_cast<std::size_t>(member)].mapped + offset;
  }
  static void combine(void* dest, const std::vector<const void*>& sources, std::size_t count, Type type, int op);
  void require_operation(const char* call, Type type, int op) const;
  static bool has_operation(Type type, int op) noexcept;
  std::vector<Description> agree_on(const Description& mine);

  bool reduce_flat(void* dest, const void* source, const Operand& operand, int op);
  void all_reduce_direct(void* dest, const void* source, std::uint64_t count, Type type, int op,
                         const std::vector<Description>& all);
  void all_reduce_pair(void* dest, const void* source, std::uint64_t count, Type type, int op);
  void all_reduce_staged(void* dest, const void* source, std::uint64_t count, Type type, int op);
  void combine_and_post(char* dest, const std::vector<const void*>& sources, std::size_t count, Type type, int op,
                        bool streams);
  void meet();

  Pool& pool_;
  std::vector<int> pes_;
  int rank_ = -1;
  int slot_;
  std::uint64_t epoch_;
  std::string name_;
  std::size_t places_;   // of an inbox
  std::size_t window_;   // payload bytes of a message
  char* own_ = nullptr;  // this member's slot
  std::vector<Peer> peers_;
  std::uint64_t timeout_ns_ = 0;
  bool broken_ = false;  // a wait was given up: members are no longer in step
  std::mutex mutex_;
};

}  // namespace shoal::python

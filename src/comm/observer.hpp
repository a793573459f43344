// SPDX-License-Identifier: Apache-2.0
// What may watch the calls of a job: checks, traces, profiles. Where there is an observer, contexts have no fast path,
// so that every call takes the cold one and is told there; where there is none, nothing is paid.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace shoal {

class Group;

enum class CallKind : std::uint8_t {
  put,
  get,
  atomic,
  signal,
  fence,
  quiet,
  wait,
  test,
  lock,
  unlock,
  meeting,
  collective,
  memory,
  local,  ///< of this PE alone, and of no memory: making a context
  access  ///< no call: a load or store of the program's own
};

/// Further numbers that all members of a collective must agree on, and how to say them.
struct Agreed {
  const char* format = "";  ///< a printf format for all three
  long a = 0, b = 0, c = 0;
};

/// How a collective is called; what all its members must agree on.
struct Collective {
  Group* group = nullptr;
  std::size_t count = 0;          ///< in units
  const char* unit = "elements";  ///< "": there is no count
  bool counts_agree = true;       ///< false: each member may give its own
  Agreed also = {};
  int root = -1;               ///< -1: none
  const void* dest = nullptr;  ///< symmetric, equal on all; null: none
  const void* source = nullptr;
  std::size_t dest_bytes = 0, source_bytes = 0;  ///< as far as this member can tell, from the first to the last
  bool gaps = false;                             ///< in these, which nobody touches
  bool upwards = false;                          ///< a member gets nothing from those behind it
  bool in_place = false;                         ///< dest may be source
  const long* psync = nullptr;                   ///< of an active set
};

/// One call as it was made. Pointers are valid while it lasts.
struct Call {
  const char* name;
  CallKind kind;
  int pe = -1;                   ///< of the world; -1: none
  const void* remote = nullptr;  ///< symmetric memory, as this PE addresses it, at `pe`
  const void* local = nullptr;   ///< memory of this PE
  std::size_t bytes = 0;         ///< moved; strided: of all blocks
  // Strided calls: blocks of `block` bytes, this far from start to start at `remote` and at `local`; else 0.
  std::size_t block = 0;
  std::ptrdiff_t remote_stride = 0, local_stride = 0;
  bool writes = true;  ///< atomic: it may change the word
  bool part = false;   ///< a part of another call: the signal of a put with signal, the words that a wait has seen
  bool parts = false;  ///< what it moves, or which words it has seen, is told by the calls that it is made of
  const Collective* collective = nullptr;
  const void* context = nullptr;  ///< whose order and completion it belongs to, or sees to; null: of none
};

/// Thread safe.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Before the call does anything. May end the job.
  virtual void begin(const Call& call) noexcept = 0;
  /// After it.
  virtual void end(const Call& call) noexcept = 0;
  /// In between: what a collective's members had to tell each other first, its dest_bytes, is known now.
  virtual void learned(const Call& /*call*/) noexcept {}
  /// Before the call: what it was given for memory of a type with this alignment has another, the one called `what`.
  virtual void misaligned(const char* /*call*/, const char* /*what*/, const void* /*address*/,
                          std::size_t /*alignment*/) noexcept {}
  /// Several times a second while `call` waits.
  virtual void waiting(const char* /*call*/) noexcept {}
  /// This thread has waited longer than it polls without a pause, from `began` to now, in ticks.
  virtual void waited(std::uint64_t /*began*/) noexcept {}
};

/// Tells an observer, if there is one, of a call for as long as this lives. Where there is none, the call is not even
/// described: the slow path is also that of static data.
class Observed final {
 public:
  /// @param describe  gives the Call
  template <class Describe>
  [[gnu::always_inline]] Observed(Observer* observer, Describe&& describe) noexcept : observer_(observer) {
    if (observer_ != nullptr) [[unlikely]]
      begin(describe);
  }
  [[gnu::always_inline]] ~Observed() {
    if (observer_ != nullptr) [[unlikely]]
      observer_->end(call_);
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;
  /// What the description refers to has changed.
  void learned() noexcept {
    if (observer_ != nullptr) observer_->learned(call_);
  }

 private:
  template <class Describe>
  [[gnu::cold, gnu::noinline]] void begin(Describe& describe) noexcept {
    observer_->begin(*new (&call_) Call(describe()));
  }
  static_assert(std::is_trivially_destructible_v<Call>);
  Observer* observer_;
  union {
    Call call_;  // alive if there is an observer
  };
};

}  // namespace shoal

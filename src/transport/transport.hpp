// SPDX-License-Identifier: Apache-2.0
// Transport: what moves bytes to and from PEs whose memory this process cannot map. One-sided for the caller: a thread
// of the transport serves the other side while its PE computes.
//
// Atomic operations, raise and get are performed at a PE after all that was given for it before; puts in any order
// among themselves and after those, unless a fence is between. (By sockets all is performed in the order in which it
// was given.) Thread safety: all functions but start and close may run on several threads at once.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shoal {

/// A place in the memory of a PE that is not mapped here: `offset` bytes into the segment that all PEs know by `key`.
struct Far {
  int pe;  ///< of the world
  std::uint32_t key;
  std::uint64_t offset;
};

/// How an atomic operation changes a word. The old value is what a fetching one gives back.
enum class AtomicOp : std::uint8_t { fetch, swap, compare_swap, add, bit_and, bit_or, bit_xor, add_float };

/// An atomic operation on a word of `width` 4 or 8 bytes; values are held in the low bytes.
struct AtomicCall {
  AtomicOp op;
  std::uint8_t width;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;  ///< what compare_swap expects
};

/// How many answers somebody waits for. The transport counts it down with release; who waits reads it with acquire.
struct Tally {
  std::atomic<std::int64_t> left{0};
  bool done() const noexcept { return left.load(std::memory_order_acquire) <= 0; }
};

/// What an incoming request wants to do to this PE's memory.
enum class Access : std::uint8_t { read, write, atomic };

/// This PE, as its transport sees it. Implemented above; called by whichever thread serves.
class Target {
 public:
  virtual ~Target() = default;
  /// Where PE `from` may access [offset, offset + bytes) of the segment `key`, or null when it may not (it is logged
  /// then).
  virtual char* admit(int from, std::uint32_t key, std::uint64_t offset, std::uint64_t bytes,
                      Access access) noexcept = 0;
  /// All of segment `key`, if PE `from` may be given a key of its own to it, by which it gets at all of it unchecked;
  /// else nothing.
  virtual std::span<char> region(int from, std::uint32_t key) noexcept = 0;
  /// A connection or a message was turned away. @param who  a PE, or an address. Logged for the administrator.
  virtual void refused(const std::string& who, const std::string& what) noexcept = 0;
  /// Something was written, or a tally counted down: whoever sleeps on it must look again.
  virtual void wake() noexcept = 0;
  /// The job cannot go on. @param what  a complete sentence that names the PE, its address and the cause
  [[noreturn]] virtual void fail(const std::string& what) noexcept = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual const char* name() const noexcept = 0;
  /// What the others need to reach this PE; behind a newline, if there is one, what all PEs of this machine say alike.
  virtual std::string address() const = 0;
  /// From now on this PE is served. @param addresses  everyone's, by world PE. @throws Error
  virtual void start(std::vector<std::string> addresses) = 0;
  /// All PEs are done with each other: what is closed from now on is no failure.
  virtual void leaving() noexcept = 0;
  /// Closes everything and ends the threads; after a meeting of all PEs that followed leaving().
  virtual void close() noexcept = 0;
  /// Nobody uses segment `key` any more, and its memory goes.
  virtual void detach([[maybe_unused]] std::uint32_t key) noexcept {}

  /// `from` may be reused at once; where it will be written is not yet.
  virtual void put(const Far& to, const void* from, std::size_t bytes) noexcept = 0;
  /// Counts `tally` up at once, and down when the bytes have arrived. @param gather  others follow: leave with them
  virtual void get(const Far& from, void* to, std::size_t bytes, Tally& tally, bool gather) noexcept = 0;
  /// An atomic operation nobody wants the old value of.
  virtual void update(const Far& word, const AtomicCall& call) noexcept = 0;
  /// Sets a 64-bit word of the library's own that somebody waits for: sent at once, and no business of flush's.
  virtual void raise(const Far& word, std::uint64_t value) noexcept = 0;
  /// The old value goes to `old` (`call.width` bytes).
  virtual void fetch(const Far& word, const AtomicCall& call, void* old, Tally& tally, bool gather) noexcept = 0;
  /// Puts and atomic operations given before are performed before those given later, at each PE, whatever their sizes.
  virtual void fence() noexcept {}
  /// Sends everything; counts `tally` up, and down when all that was given before is done everywhere.
  virtual void flush(Tally& tally) noexcept = 0;

  /// Sends what waits to be sent and serves what has come, if nobody else does. @return whether anything was to do
  virtual bool progress() noexcept = 0;
  /// The caller polled and is about to sleep: the transport's thread takes over at once.
  virtual void rest() noexcept = 0;
};

/// Applies `call` to `word`, aligned to its width, by the same instructions as its neighbours use. @return the value
/// before
std::uint64_t apply(const AtomicCall& call, void* word) noexcept;

}  // namespace shoal

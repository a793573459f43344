// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the kernel API says to a device's prim: transfers, updates, waits, faults. Not for users.
#pragma once

#include "view.hpp"

namespace shoal::device {

class TransferEvent;

/// Which side of a transfer is another PE's memory: its destination, or its source.
enum class Direction : std::uint8_t { put, get };

/// One block of a batch, in bytes.
struct Block {
  void* dest;
  const void* source;
  std::size_t bytes;
};

/// One copy by an engine. The remote side is a symmetric address of this PE's; `mapped` is where it is mapped here, or null.
struct Transfer {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;              ///< of each block
  std::size_t blocks = 1;
  std::ptrdiff_t to_stride = 0;       ///< from block to block, in bytes
  std::ptrdiff_t from_stride = 0;
  const Block* batch = nullptr;       ///< `blocks` of these instead of all that is above
  int pe = 0;
  bool is_put = true;
  char* mapped = nullptr;
  Engine engine = Engine::xdma;
  const char* call = "";
  std::uint64_t* signal = nullptr;    ///< symmetric; updated at `pe` when the data are there
  std::uint64_t signal_value = 0;
  SignalOp signal_op = SignalOp::set;
  TransferEvent* event = nullptr;
  bool keeps_source = false;          ///< the caller may reuse the source at once: the engine takes a copy
};

/// What is wrong with an argument.
enum class Fault : std::uint8_t {
  pe, foreign, overrun, misaligned, unreachable, scratch, text,
  member,  ///< the PE is none of the team whose heap it is
  unlike,  ///< another PE passes another one
  busy,    ///< another launch meets over the team; the address is its LaunchState
};

/// What an atomic does, where it must go through the library.
enum class Update : std::uint8_t { add, bit_and, bit_or, bit_xor, swap, compare_swap, fetch };

/// Where a kernel waits, for the table of what everyone waits for.
struct Site {
  const char* call;
  const void* word;
  std::int64_t value;
  const TeamView* team = nullptr;  ///< waiting for its members
  bool users = false;              ///< the word is the user's: any PE's put, atomic or signal may write it
  std::uint64_t cores = 0;         ///< waiting for these cores of the launch, a bit each
  std::uint64_t held = 0;          ///< in a meeting of the team: these cores go on when it is over, a bit each
};

namespace detail {

/// n * width; saturates, so that a count too large to address fails every check of a range.
SHOAL_DEVICE_FN constexpr std::size_t bytes_of(std::size_t n, std::size_t width) noexcept {
  return width != 0 && n > SIZE_MAX / width ? SIZE_MAX : n * width;
}
/// From the first to the last byte of `blocks` blocks of `bytes`, `stride` elements of `width` bytes apart; saturates as well.
SHOAL_DEVICE_FN constexpr std::size_t span_of(std::size_t blocks, std::ptrdiff_t stride, std::size_t width, std::size_t bytes) noexcept {
  if (blocks == 0 || bytes == 0) return 0;
  const std::size_t last = bytes_of(bytes_of(blocks - 1, static_cast<std::size_t>(stride)), width);  // where it begins
  return bytes > SIZE_MAX - last ? SIZE_MAX : last + bytes;
}

}  // namespace detail

}  // namespace shoal::device

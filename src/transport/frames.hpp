// SPDX-License-Identifier: Apache-2.0
// The frames in which two PEs speak, whatever carries them (docs/networking.md). Little-endian; a frame, then what
// belongs to it.
//
//   put         `bytes` of data follow
//   get         answered by a reply with `bytes` of data; with `bytes` 0 it only asks whether all before it is done
//   update      Operands follow; not answered
//   fetch       Operands follow; answered by a reply with the old value (`width` bytes)
//   reply       `bytes` of data follow: the answer to the oldest request that has none yet
//   refused     the same place in the order, no data: the request, or a put or update before it, was not admitted
//   ask_key     by UCX only: answered by `key`, out of the order of replies
//   key         by UCX only: KeyedRange and `bytes` of a packed remote key follow; 0: none for the one who asked
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace shoal::wire {

/// Requests, then answers.
enum class Type : std::uint8_t { put = 1, update, get, fetch, reply, refused, ask_key, key };

struct Frame {
  Type type;
  std::uint8_t op;     // AtomicOp, of update and fetch
  std::uint8_t width;  // of their word
  std::uint8_t zero = 0;
  std::uint32_t key;
  std::uint64_t offset;
  std::uint64_t bytes;
};
static_assert(sizeof(Frame) == 24);

/// What answers a request that was not admitted, and what its sender says of it.
inline Frame refusal_of(const Frame& request) noexcept {
  return {Type::refused, 0, 0, 0, request.key, request.offset, 0};
}
inline std::string refusal_text(int pe, const Frame& refusal) {
  return strf(
      "PE %d refused to let this PE access offset %#llx of segment %u: was its heap destroyed, or is this PE no member "
      "of the team that it belongs to?",
      pe, static_cast<unsigned long long>(refusal.offset), refusal.key);
}

struct Operands {
  std::uint64_t operand, compare;
};
static_assert(sizeof(Operands) == 16);

/// Where a segment that a remote key is for lies at its PE.
struct KeyedRange {
  std::uint64_t base, bytes;
};
static_assert(sizeof(KeyedRange) == 16);

/// Answers that one PE may have to wait for on one connection: bounds what the other side must remember.
inline constexpr std::size_t kMostPending = 1024;
inline constexpr std::uint64_t kMostPendingBytes = 4 << 20;

}  // namespace shoal::wire

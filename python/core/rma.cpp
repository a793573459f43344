// SPDX-License-Identifier: Apache-2.0
#include "rma.hpp"

#include <shmemx.h>

#include <algorithm>

namespace shoal::python {
namespace {

/// The piece with as few dimensions as describe it: neighbours in memory are one.
Piece simplified(const Piece& piece) {
  Piece simple{piece.address, {}, {}, piece.width};
  for (std::size_t d = 0; d < piece.shape.size(); ++d) {
    if (piece.shape[d] == 1) continue;
    if (!simple.shape.empty() && simple.strides.back() == piece.strides[d] * piece.shape[d]) {
      simple.shape.back() *= piece.shape[d];
      simple.strides.back() = piece.strides[d];
    } else {
      simple.shape.push_back(piece.shape[d]);
      simple.strides.push_back(piece.strides[d]);
    }
  }
  return simple;
}

/// Single elements `stride` elements apart there. @return false where the library has no such width
bool elements(Direction direction, char* there, std::size_t stride, char* here, std::size_t count, std::size_t width,
              Remote remote) {
  const auto dst = static_cast<std::ptrdiff_t>(stride);
#define SHOAL_WIDTH(BITS)                                                          \
  case BITS / 8:                                                                   \
    if (direction == Direction::put)                                               \
      shmem_ctx_iput##BITS(remote.context, there, here, dst, 1, count, remote.pe); \
    else                                                                           \
      shmem_ctx_iget##BITS(remote.context, here, there, 1, dst, count, remote.pe); \
    return true;
  switch (width) {
    SHMEM_FOR_SIZES(SHOAL_WIDTH)
    default: return false;
  }
#undef SHOAL_WIDTH
}

void rows(Direction direction, const Piece& piece, std::size_t dimension, char* there, char*& here, std::size_t row,
          Remote remote, bool waits) {
  if (dimension == piece.shape.size()) {
    transfer_block(direction, there, here, row, remote, waits);
    here += row;
    return;
  }
  if (dimension + 1 == piece.shape.size() && row == piece.width && piece.strides[dimension] % row == 0 &&
      elements(direction, there, piece.strides[dimension] / row, here, piece.shape[dimension], row, remote)) {
    here += row * piece.shape[dimension];
    return;
  }
  for (std::size_t i = 0; i < piece.shape[dimension]; ++i)
    rows(direction, piece, dimension + 1, there + i * piece.strides[dimension], here, row, remote, waits);
}

}  // namespace

void transfer_block(Direction direction, char* there, char* here, std::size_t bytes, Remote remote, bool waits) {
  if (direction == Direction::put) {
    if (waits)
      shmem_ctx_putmem(remote.context, there, here, bytes, remote.pe);
    else
      shmem_ctx_putmem_nbi(remote.context, there, here, bytes, remote.pe);
  } else {
    if (waits)
      shmem_ctx_getmem(remote.context, here, there, bytes, remote.pe);
    else
      shmem_ctx_getmem_nbi(remote.context, here, there, bytes, remote.pe);
  }
}

void transfer(Direction direction, const Piece& piece, char* local, Remote remote, bool waits) {
  if (std::find(piece.shape.begin(), piece.shape.end(), std::size_t{0}) != piece.shape.end()) return;
  Piece simple = simplified(piece);
  std::size_t row = piece.width;  // contiguous bytes in both memories
  if (!simple.shape.empty() && simple.strides.back() == piece.width) {
    row *= simple.shape.back();
    simple.shape.pop_back();
    simple.strides.pop_back();
  }
  rows(direction, simple, 0, simple.address, local, row, remote, waits);
}

void transfer_blocks(Direction direction, char* base, const std::int64_t* offsets, std::size_t count, std::size_t bytes,
                     char* local, Remote remote) {
  constexpr std::size_t kBatch = 512;
  shmemx_block_t blocks[kBatch];
  for (std::size_t first = 0; first < count; first += kBatch) {
    const std::size_t size = std::min(kBatch, count - first);
    for (std::size_t i = 0; i < size; ++i) {
      char* there = base + offsets[first + i];
      char* here = local + (first + i) * bytes;
      blocks[i] = direction == Direction::put ? shmemx_block_t{there, here, bytes} : shmemx_block_t{here, there, bytes};
    }
    if (direction == Direction::put)
      shmemx_ctx_putmem_batch(remote.context, blocks, size, remote.pe);
    else
      shmemx_ctx_getmem_batch(remote.context, blocks, size, remote.pe);
  }
}

bool has_atomic(Type type, Atomic operation) noexcept {
  if (type == kInt32 || type == kInt64 || type == kUint32 || type == kUint64) return true;
  return (type == kFloat32 || type == kFloat64) && operation <= Atomic::fetch_add;
}

namespace {

template <class T, class Store>
Word integer(Atomic operation, T* address, Remote r, T value, T compare, Store&& store) {
  switch (operation) {
    case Atomic::fetch: return store(shmem_atomic_fetch(r.context, address, r.pe));
    case Atomic::set: shmem_atomic_set(r.context, address, value, r.pe); break;
    case Atomic::swap: return store(shmem_atomic_swap(r.context, address, value, r.pe));
    case Atomic::add: shmem_atomic_add(r.context, address, value, r.pe); break;
    case Atomic::fetch_add: return store(shmem_atomic_fetch_add(r.context, address, value, r.pe));
    case Atomic::compare_swap: return store(shmem_atomic_compare_swap(r.context, address, compare, value, r.pe));
    case Atomic::and_: shmem_atomic_and(r.context, address, value, r.pe); break;
    case Atomic::fetch_and: return store(shmem_atomic_fetch_and(r.context, address, value, r.pe));
    case Atomic::or_: shmem_atomic_or(r.context, address, value, r.pe); break;
    case Atomic::fetch_or: return store(shmem_atomic_fetch_or(r.context, address, value, r.pe));
    case Atomic::xor_: shmem_atomic_xor(r.context, address, value, r.pe); break;
    case Atomic::fetch_xor: return store(shmem_atomic_fetch_xor(r.context, address, value, r.pe));
  }
  return Word{0};
}

Word of_signed(std::int64_t value) {
  Word word;
  word.i64 = value;
  return word;
}
Word of_float(float value) {
  Word word{0};
  word.f32 = value;
  return word;
}
Word of_double(double value) {
  Word word;
  word.f64 = value;
  return word;
}

Word atomic_float(Atomic operation, float* address, Remote r, float value) {
  switch (operation) {
    case Atomic::fetch: return of_float(shmem_atomic_fetch(r.context, address, r.pe));
    case Atomic::set: shmem_atomic_set(r.context, address, value, r.pe); break;
    case Atomic::swap: return of_float(shmem_atomic_swap(r.context, address, value, r.pe));
    case Atomic::add: shmemx_ctx_float_atomic_add(r.context, address, value, r.pe); break;
    default: return of_float(shmemx_ctx_float_atomic_fetch_add(r.context, address, value, r.pe));
  }
  return Word{0};
}

Word atomic_double(Atomic operation, double* address, Remote r, double value) {
  switch (operation) {
    case Atomic::fetch: return of_double(shmem_atomic_fetch(r.context, address, r.pe));
    case Atomic::set: shmem_atomic_set(r.context, address, value, r.pe); break;
    case Atomic::swap: return of_double(shmem_atomic_swap(r.context, address, value, r.pe));
    case Atomic::add: shmemx_ctx_double_atomic_add(r.context, address, value, r.pe); break;
    default: return of_double(shmemx_ctx_double_atomic_fetch_add(r.context, address, value, r.pe));
  }
  return Word{0};
}

}  // namespace

Word atomic(Atomic operation, void* address, Type type, Remote r, Word value, Word compare) {
  const auto unsigned_word = [](std::uint64_t word) { return Word{word}; };
  switch (type) {
    case kInt32:
      return integer(operation, static_cast<std::int32_t*>(address), r, static_cast<std::int32_t>(value.i64),
                     static_cast<std::int32_t>(compare.i64), of_signed);
    case kInt64: return integer(operation, static_cast<std::int64_t*>(address), r, value.i64, compare.i64, of_signed);
    case kUint32:
      return integer(operation, static_cast<std::uint32_t*>(address), r, static_cast<std::uint32_t>(value.u64),
                     static_cast<std::uint32_t>(compare.u64), unsigned_word);
    case kUint64:
      return integer(operation, static_cast<std::uint64_t*>(address), r, value.u64, compare.u64, unsigned_word);
    case kFloat32: return atomic_float(operation, static_cast<float*>(address), r, value.f32);
    default: return atomic_double(operation, static_cast<double*>(address), r, value.f64);
  }
}

}  // namespace shoal::python

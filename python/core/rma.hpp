// SPDX-License-Identifier: Apache-2.0
// One-sided operations on addresses that Python has checked: transfers of n-dimensional pieces, atomics, waits.
#pragma once
#include <pybind11/pybind11.h>
#include <shmem.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime.hpp"
#include "types.hpp"

namespace shoal::python {

struct Remote {
  int pe;  ///< counted in the context's team
  shmem_ctx_t context;
};

/// An n-dimensional piece of a symmetric array; strides in bytes, none negative.
struct Piece {
  char* address;
  std::vector<std::size_t> shape;
  std::vector<std::size_t> strides;
  std::size_t width;  ///< of an element
};

enum class Direction { put, get };

inline constexpr std::size_t kBriefBytes = 16 * 1024;  // a copy of so much isn't worth unlocking the interpreter

/// Runs `f`, which transfers `bytes`, without the interpreter's lock unless it is over at once. Over a transport it may
/// wait.
template <class F>
void unlocked_unless_brief(std::size_t bytes, Remote remote, F&& f) {
  if (bytes <= kBriefBytes && remote.context == SHMEM_CTX_DEFAULT && Runtime::instance().mapped(remote.pe)) return f();
  const pybind11::gil_scoped_release unlocked;
  f();
}

/// Copies contiguous bytes.
void transfer_block(Direction direction, char* there, char* here, std::size_t bytes, Remote remote, bool waits);
/// Copies between the piece there and contiguous memory here; `waits` = false: complete only after quiet.
void transfer(Direction direction, const Piece& piece, char* local, Remote remote, bool waits);
/// `count` blocks of `bytes` at `base + offsets[i]` there, one after another here.
void transfer_blocks(Direction direction, char* base, const std::int64_t* offsets, std::size_t count, std::size_t bytes,
                     char* local, Remote remote);

enum class Atomic { fetch, set, swap, add, fetch_add, compare_swap, and_, fetch_and, or_, fetch_or, xor_, fetch_xor };

/// A number of one of the types that have atomics.
union Word {
  std::uint64_t u64;
  std::int64_t i64;
  double f64;
  float f32;
};

/// Whether `type` has `operation`.
bool has_atomic(Type type, Atomic operation) noexcept;
/// @return the old value, for those that fetch; integers are widened to 64 bits
Word atomic(Atomic operation, void* address, Type type, Remote remote, Word value, Word compare);

}  // namespace shoal::python

// SPDX-License-Identifier: Apache-2.0
// shmemx_reduce_local: the reductions' arithmetic on memory of this PE alone.
#include <shmemx.h>

#include <algorithm>
#include <cstring>

#include "api/current.hpp"
#include "coll/combine.hpp"

using namespace shoal;

static_assert(static_cast<int>(Element::I8) == SHMEMX_INT8 && static_cast<int>(Element::U8) == SHMEMX_UINT8 &&
              static_cast<int>(Element::F32) == SHMEMX_FLOAT &&
              static_cast<int>(Element::LongDouble) == SHMEMX_LONGDOUBLE &&
              static_cast<int>(Element::C32) == SHMEMX_COMPLEXF && static_cast<int>(Element::Half) == SHMEMX_HALF &&
              static_cast<int>(Element::BFloat16) == SHMEMX_BFLOAT16 && SHMEMX_BFLOAT16 + 1 == kElements);
static_assert(static_cast<int>(ReduceOp::And) == SHMEMX_AND && static_cast<int>(ReduceOp::Max) == SHMEMX_MAX &&
              static_cast<int>(ReduceOp::Sum) == SHMEMX_SUM && static_cast<int>(ReduceOp::Prod) == SHMEMX_PROD &&
              SHMEMX_PROD + 1 == kReduceOps);

namespace {

/// Elements [first, first + count) of all sources, at most a chunk.
void combine_chunk(std::byte* dest, const void* const* sources, std::size_t nsources, std::size_t first,
                   std::size_t count, const Combine& combine) noexcept {
  const auto at = [&](std::size_t s) { return static_cast<const std::byte*>(sources[s]) + first * combine.width; };
  if (combine.run == nullptr) {
    alignas(64) std::byte accumulator[2 * kChunkBytes];  // as many elements as a chunk has, twice as wide
    combine.wide.widen(accumulator, at(0), count);
    for (std::size_t s = 1; s < nsources; ++s) combine.wide.accumulate(accumulator, at(s), count);
    combine.wide.narrow(dest, accumulator, count);
  } else if (nsources == 2) {
    combine.run(dest, at(0), at(1), count);
  } else {
    alignas(64) std::byte result[kChunkBytes];  // dest may be a source that is still to be read
    combine.run(result, at(0), at(1), count);
    for (std::size_t s = 2; s + 1 < nsources; ++s) combine.run(result, result, at(s), count);
    combine.run(dest, result, at(nsources - 1), count);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int shmemx_reduce_local(void* dest, const void* const* sources,
                                                                          size_t nsources, size_t nelems,
                                                                          shmemx_type_t type, shmemx_op_t op) {
  const Job& here = job("shmemx_reduce_local");
  if (static_cast<unsigned>(type) >= kElements || static_cast<unsigned>(op) >= kReduceOps || nsources == 0) return -1;
  const Combine& combine = here.coll_tuning().kernels->at(static_cast<ReduceOp>(op), static_cast<Element>(type));
  if (combine.width == 0) return -1;
  if (nsources == 1) {
    if (dest != sources[0]) std::memcpy(dest, sources[0], nelems * combine.width);
    return 0;
  }
  const std::size_t chunk = kChunkBytes / combine.width;
  for (std::size_t first = 0; first < nelems; first += chunk)
    combine_chunk(static_cast<std::byte*>(dest) + first * combine.width, sources, nsources, first,
                  std::min(chunk, nelems - first), combine);
  return 0;
}

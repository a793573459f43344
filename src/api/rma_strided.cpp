// SPDX-License-Identifier: Apache-2.0
// Strided puts and gets: OpenSHMEM 1.6, "Remote Memory Access Routines".
#include "api/define.hpp"

using namespace shoal;

namespace {

/// What is told is told in a function of its own, so that strided() saves no register for it.
template <auto direction, class T>
[[gnu::cold, gnu::noinline]] void strided_misaligned(const Context& context, T* dest, const T* source, ptrdiff_t dst,
                                                     ptrdiff_t sst, size_t block, size_t blocks, size_t width, int pe,
                                                     const char* call) noexcept {
  if (blocks != 0) context.expect_aligned(dest, source, call);
  (context.*direction)(dest, source, dst, sst, block, blocks, width, pe, call);
}

template <auto direction, class T>
[[gnu::always_inline]] inline void strided(const Context& context, T* dest, const T* source, ptrdiff_t dst,
                                           ptrdiff_t sst, size_t block, size_t blocks, size_t width, int pe,
                                           const char* call) noexcept {
  if (!context.aligned(dest, source)) [[unlikely]]
    return strided_misaligned<direction>(context, dest, source, dst, sst, block, blocks, width, pe, call);
  (context.*direction)(dest, source, dst, sst, block, blocks, width, pe, call);
}

}  // namespace

#define SHOAL_DEFINE_STRIDED(single, blocked, T, width, direction)                                                    \
  SHOAL_API(void, single, (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)) {         \
    strided<&Context::direction>(world(), dest, source, dst, sst, 1, nelems, width, pe, "shmem_" #single);            \
  }                                                                                                                   \
  SHOAL_API(void, ctx_##single,                                                                                       \
            (shmem_ctx_t ctx, T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)) {      \
    strided<&Context::direction>(context_of(ctx, "shmem_ctx_" #single), dest, source, dst, sst, 1, nelems, width, pe, \
                                 "shmem_ctx_" #single);                                                               \
  }                                                                                                                   \
  SHOAL_API(void, blocked,                                                                                            \
            (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)) {        \
    strided<&Context::direction>(world(), dest, source, dst, sst, bsize, nblocks, width, pe, "shmem_" #blocked);      \
  }                                                                                                                   \
  SHOAL_API(void, ctx_##blocked,                                                                                      \
            (shmem_ctx_t ctx, T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,  \
             int pe)) {                                                                                               \
    strided<&Context::direction>(context_of(ctx, "shmem_ctx_" #blocked), dest, source, dst, sst, bsize, nblocks,      \
                                 width, pe, "shmem_ctx_" #blocked);                                                   \
  }

#define SHOAL_DEFINE(NAME, TYPE)                                                   \
  SHOAL_DEFINE_STRIDED(NAME##_iput, NAME##_ibput, TYPE, sizeof(TYPE), put_strided) \
  SHOAL_DEFINE_STRIDED(NAME##_iget, NAME##_ibget, TYPE, sizeof(TYPE), get_strided)
SHMEM_FOR_RMA_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(SIZE)                                                   \
  SHOAL_DEFINE_STRIDED(iput##SIZE, ibput##SIZE, void, SIZE / 8, put_strided) \
  SHOAL_DEFINE_STRIDED(iget##SIZE, ibget##SIZE, void, SIZE / 8, get_strided)
SHMEM_FOR_SIZES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

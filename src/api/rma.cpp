// SPDX-License-Identifier: Apache-2.0
// Puts and gets: OpenSHMEM 1.6, "Remote Memory Access Routines". A non-blocking one is
// done when it returns, where the memory is mapped, else when quiet does.
#include "api/define.hpp"

using namespace shoal;

// `infix` goes between shmem_ or shmem_ctx_ and the operation: "int_" or nothing; `suffix` behind it: "8", "mem" or
// nothing.
#define SHOAL_DEFINE_BLOCK(name, T, width, direction)                                                             \
  SHOAL_API(void, name, (T * dest, const T* source, size_t nelems, int pe)) {                                     \
    world().direction(dest, source, bytes_of(nelems, width), pe, "shmem_" #name);                                 \
  }                                                                                                               \
  SHOAL_API(void, ctx_##name, (shmem_ctx_t ctx, T * dest, const T* source, size_t nelems, int pe)) {              \
    context_of(ctx, "shmem_ctx_" #name).direction(dest, source, bytes_of(nelems, width), pe, "shmem_ctx_" #name); \
  }

#define SHOAL_DEFINE(NAME, TYPE)                                                                                    \
  SHOAL_DEFINE_BLOCK(NAME##_put, TYPE, sizeof(TYPE), put)                                                           \
  SHOAL_DEFINE_BLOCK(NAME##_put_nbi, TYPE, sizeof(TYPE), put)                                                       \
  SHOAL_DEFINE_BLOCK(NAME##_get, TYPE, sizeof(TYPE), get)                                                           \
  SHOAL_DEFINE_BLOCK(NAME##_get_nbi, TYPE, sizeof(TYPE), get_nbi)                                                   \
  SHOAL_API(void, NAME##_p, (TYPE * dest, TYPE value, int pe)) { world().p(dest, value, pe, "shmem_" #NAME "_p"); } \
  SHOAL_API(void, ctx_##NAME##_p, (shmem_ctx_t ctx, TYPE * dest, TYPE value, int pe)) {                             \
    context_of(ctx, "shmem_ctx_" #NAME "_p").p(dest, value, pe, "shmem_ctx_" #NAME "_p");                           \
  }                                                                                                                 \
  SHOAL_API(TYPE, NAME##_g, (const TYPE* source, int pe)) { return world().g(source, pe, "shmem_" #NAME "_g"); }    \
  SHOAL_API(TYPE, ctx_##NAME##_g, (shmem_ctx_t ctx, const TYPE* source, int pe)) {                                  \
    return context_of(ctx, "shmem_ctx_" #NAME "_g").g(source, pe, "shmem_ctx_" #NAME "_g");                         \
  }
SHMEM_FOR_RMA_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(SIZE)                                 \
  SHOAL_DEFINE_BLOCK(put##SIZE, void, SIZE / 8, put)       \
  SHOAL_DEFINE_BLOCK(put##SIZE##_nbi, void, SIZE / 8, put) \
  SHOAL_DEFINE_BLOCK(get##SIZE, void, SIZE / 8, get)       \
  SHOAL_DEFINE_BLOCK(get##SIZE##_nbi, void, SIZE / 8, get_nbi)
SHMEM_FOR_SIZES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

SHOAL_DEFINE_BLOCK(putmem, void, 1, put)
SHOAL_DEFINE_BLOCK(putmem_nbi, void, 1, put)
SHOAL_DEFINE_BLOCK(getmem, void, 1, get)
SHOAL_DEFINE_BLOCK(getmem_nbi, void, 1, get_nbi)

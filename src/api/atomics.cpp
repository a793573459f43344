// SPDX-License-Identifier: Apache-2.0
// Atomic memory operations: OpenSHMEM 1.6, "Atomic Memory Operations", and the older names for them. A non-blocking one
// is done when it returns, where the word is mapped, else when quiet does.
#include "comm/atomics.hpp"

#include "api/define.hpp"

using namespace shoal;

// Each operation in four forms: plain, on a context, and both without blocking. `...` is the parameter list's value
// part.
#define SHOAL_DEFINE_UPDATE(name, T, Op)                                                                            \
  SHOAL_API(void, name, (T * dest, T value, int pe)) { atomic_post<Op>(world(), dest, value, pe, "shmem_" #name); } \
  SHOAL_API(void, ctx_##name, (shmem_ctx_t ctx, T * dest, T value, int pe)) {                                       \
    atomic_post<Op>(context_of(ctx, "shmem_ctx_" #name), dest, value, pe, "shmem_ctx_" #name);                      \
  }

#define SHOAL_DEFINE_FETCHING(name, T, Op)                                                              \
  SHOAL_API(T, name, (T * dest, T value, int pe)) {                                                     \
    return atomic_update<Op>(world(), dest, value, pe, "shmem_" #name);                                 \
  }                                                                                                     \
  SHOAL_API(T, ctx_##name, (shmem_ctx_t ctx, T * dest, T value, int pe)) {                              \
    return atomic_update<Op>(context_of(ctx, "shmem_ctx_" #name), dest, value, pe, "shmem_ctx_" #name); \
  }                                                                                                     \
  SHOAL_API(void, name##_nbi, (T * fetch, T * dest, T value, int pe)) {                                 \
    atomic_update_nbi<Op>(world(), fetch, dest, value, pe, "shmem_" #name "_nbi");                      \
  }                                                                                                     \
  SHOAL_API(void, ctx_##name##_nbi, (shmem_ctx_t ctx, T * fetch, T * dest, T value, int pe)) {          \
    atomic_update_nbi<Op>(context_of(ctx, "shmem_ctx_" #name "_nbi"), fetch, dest, value, pe,           \
                          "shmem_ctx_" #name "_nbi");                                                   \
  }

#define SHOAL_DEFINE(NAME, T)                                                                                         \
  SHOAL_DEFINE_UPDATE(NAME##_atomic_add, T, FetchAdd)                                                                 \
  SHOAL_DEFINE_FETCHING(NAME##_atomic_fetch_add, T, FetchAdd)                                                         \
  SHOAL_API(void, NAME##_atomic_inc, (T * dest, int pe)) {                                                            \
    atomic_post<FetchAdd>(world(), dest, static_cast<T>(1), pe, "shmem_" #NAME "_atomic_inc");                        \
  }                                                                                                                   \
  SHOAL_API(void, ctx_##NAME##_atomic_inc, (shmem_ctx_t ctx, T * dest, int pe)) {                                     \
    constexpr const char* call = "shmem_ctx_" #NAME "_atomic_inc";                                                    \
    atomic_post<FetchAdd>(context_of(ctx, call), dest, static_cast<T>(1), pe, call);                                  \
  }                                                                                                                   \
  SHOAL_API(T, NAME##_atomic_fetch_inc, (T * dest, int pe)) {                                                         \
    return atomic_update<FetchAdd>(world(), dest, static_cast<T>(1), pe, "shmem_" #NAME "_atomic_fetch_inc");         \
  }                                                                                                                   \
  SHOAL_API(T, ctx_##NAME##_atomic_fetch_inc, (shmem_ctx_t ctx, T * dest, int pe)) {                                  \
    constexpr const char* call = "shmem_ctx_" #NAME "_atomic_fetch_inc";                                              \
    return atomic_update<FetchAdd>(context_of(ctx, call), dest, static_cast<T>(1), pe, call);                         \
  }                                                                                                                   \
  SHOAL_API(void, NAME##_atomic_fetch_inc_nbi, (T * fetch, T * dest, int pe)) {                                       \
    atomic_update_nbi<FetchAdd>(world(), fetch, dest, static_cast<T>(1), pe, "shmem_" #NAME "_atomic_fetch_inc_nbi"); \
  }                                                                                                                   \
  SHOAL_API(void, ctx_##NAME##_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, T * fetch, T * dest, int pe)) {                \
    constexpr const char* call = "shmem_ctx_" #NAME "_atomic_fetch_inc_nbi";                                          \
    atomic_update_nbi<FetchAdd>(context_of(ctx, call), fetch, dest, static_cast<T>(1), pe, call);                     \
  }                                                                                                                   \
  SHOAL_API(T, NAME##_atomic_compare_swap, (T * dest, T cond, T value, int pe)) {                                     \
    return atomic_compare_swap(world(), dest, cond, value, pe, "shmem_" #NAME "_atomic_compare_swap");                \
  }                                                                                                                   \
  SHOAL_API(T, ctx_##NAME##_atomic_compare_swap, (shmem_ctx_t ctx, T * dest, T cond, T value, int pe)) {              \
    constexpr const char* call = "shmem_ctx_" #NAME "_atomic_compare_swap";                                           \
    return atomic_compare_swap(context_of(ctx, call), dest, cond, value, pe, call);                                   \
  }                                                                                                                   \
  SHOAL_API(void, NAME##_atomic_compare_swap_nbi, (T * fetch, T * dest, T cond, T value, int pe)) {                   \
    atomic_compare_swap_nbi(world(), fetch, dest, cond, value, pe, "shmem_" #NAME "_atomic_compare_swap_nbi");        \
  }                                                                                                                   \
  SHOAL_API(void, ctx_##NAME##_atomic_compare_swap_nbi,                                                               \
            (shmem_ctx_t ctx, T * fetch, T * dest, T cond, T value, int pe)) {                                        \
    constexpr const char* call = "shmem_ctx_" #NAME "_atomic_compare_swap_nbi";                                       \
    atomic_compare_swap_nbi(context_of(ctx, call), fetch, dest, cond, value, pe, call);                               \
  }
SHMEM_FOR_AMO_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(NAME, T)                                                                             \
  SHOAL_DEFINE_UPDATE(NAME##_atomic_set, T, Swap)                                                         \
  SHOAL_DEFINE_FETCHING(NAME##_atomic_swap, T, Swap)                                                      \
  SHOAL_API(T, NAME##_atomic_fetch, (const T* source, int pe)) {                                          \
    return atomic_fetch(world(), source, pe, "shmem_" #NAME "_atomic_fetch");                             \
  }                                                                                                       \
  SHOAL_API(T, ctx_##NAME##_atomic_fetch, (shmem_ctx_t ctx, const T* source, int pe)) {                   \
    constexpr const char* call = "shmem_ctx_" #NAME "_atomic_fetch";                                      \
    return atomic_fetch(context_of(ctx, call), source, pe, call);                                         \
  }                                                                                                       \
  SHOAL_API(void, NAME##_atomic_fetch_nbi, (T * fetch, const T* source, int pe)) {                        \
    atomic_fetch_nbi(world(), fetch, source, pe, "shmem_" #NAME "_atomic_fetch_nbi");                     \
  }                                                                                                       \
  SHOAL_API(void, ctx_##NAME##_atomic_fetch_nbi, (shmem_ctx_t ctx, T * fetch, const T* source, int pe)) { \
    constexpr const char* call = "shmem_ctx_" #NAME "_atomic_fetch_nbi";                                  \
    atomic_fetch_nbi(context_of(ctx, call), fetch, source, pe, call);                                     \
  }
SHMEM_FOR_AMO_EXTENDED_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(NAME, T)                                 \
  SHOAL_DEFINE_UPDATE(NAME##_atomic_and, T, FetchAnd)         \
  SHOAL_DEFINE_FETCHING(NAME##_atomic_fetch_and, T, FetchAnd) \
  SHOAL_DEFINE_UPDATE(NAME##_atomic_or, T, FetchOr)           \
  SHOAL_DEFINE_FETCHING(NAME##_atomic_fetch_or, T, FetchOr)   \
  SHOAL_DEFINE_UPDATE(NAME##_atomic_xor, T, FetchXor)         \
  SHOAL_DEFINE_FETCHING(NAME##_atomic_fetch_xor, T, FetchXor)
SHMEM_FOR_AMO_BITWISE_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(NAME, T)                                                                                          \
  SHOAL_API(void, NAME##_add, (T * dest, T value, int pe)) { pshmem_##NAME##_atomic_add(dest, value, pe); }            \
  SHOAL_API(void, NAME##_inc, (T * dest, int pe)) { pshmem_##NAME##_atomic_inc(dest, pe); }                            \
  SHOAL_API(T, NAME##_fadd, (T * dest, T value, int pe)) { return pshmem_##NAME##_atomic_fetch_add(dest, value, pe); } \
  SHOAL_API(T, NAME##_finc, (T * dest, int pe)) { return pshmem_##NAME##_atomic_fetch_inc(dest, pe); }                 \
  SHOAL_API(T, NAME##_cswap, (T * dest, T cond, T value, int pe)) {                                                    \
    return pshmem_##NAME##_atomic_compare_swap(dest, cond, value, pe);                                                 \
  }
SHMEM_FOR_LEGACY_AMO_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(NAME, T)                                                                                \
  SHOAL_API(T, NAME##_fetch, (const T* source, int pe)) { return pshmem_##NAME##_atomic_fetch(source, pe); } \
  SHOAL_API(void, NAME##_set, (T * dest, T value, int pe)) { pshmem_##NAME##_atomic_set(dest, value, pe); }  \
  SHOAL_API(T, NAME##_swap, (T * dest, T value, int pe)) { return pshmem_##NAME##_atomic_swap(dest, value, pe); }
SHMEM_FOR_LEGACY_AMO_EXTENDED_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

// SPDX-License-Identifier: Apache-2.0
// Every generic name for every type, with and without a context. Compiled as C11 (selections, generic_test.c) and as
// C++ (overloads, overloads_test.cpp): each call must choose the routine of the pointer's type and work.
#pragma once
#include "support.h"

#ifdef __cplusplus
#include <complex>
#include <type_traits>
#define CHECK_TYPE(expression, T) static_assert(std::is_same_v<decltype(expression), T>, #expression)
#else
#define CHECK_TYPE(expression, T) _Static_assert(_Generic((expression), T : 1, default : 0), #expression)
#endif

/* The lists of types.h can't be used here: a selection expands its list itself, and no macro expands inside its own
 * expansion. So they stand here once more, and are checked: as many entries as there, and each call below compiles only
 * for a listed type. */
#define ALL_AMO(X) \
  X(int, int)      \
  X(long, long) X(longlong, long long) X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long)
#define ALL_EXTENDED(X) ALL_AMO(X) X(float, float) X(double, double)
#define ALL_BITWISE(X) \
  X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t)
#define ALL_P2P(X) ALL_AMO(X) X(short, short) X(ushort, unsigned short)
#define ALL_RMA(X)                                                                                 \
  ALL_P2P(X)                                                                                       \
  X(float, float) X(double, double) X(longdouble, long double) X(char, char) X(schar, signed char) \
      X(uchar, unsigned char)
#define ALL_BITS(X) ALL_BITWISE(X) X(uchar, unsigned char) X(ushort, unsigned short) X(int8, int8_t) X(int16, int16_t)
#define ALL_SUMS(X) ALL_RMA(X) X(complexf, SHMEM_COMPLEXF) X(complexd, SHMEM_COMPLEXD)

#ifdef __cplusplus
#define CHECK_LENGTH(mine, theirs) static_assert(0 mine(ONE_MORE) == 0 theirs(ONE_MORE), #mine)
#else
#define CHECK_LENGTH(mine, theirs) _Static_assert(0 mine(ONE_MORE) == 0 theirs(ONE_MORE), #mine)
#endif
#define ONE_MORE(N, T) +1
CHECK_LENGTH(ALL_AMO, SHMEM_FOR_AMO_UNIQUE_TYPES);
CHECK_LENGTH(ALL_AMO, SHMEM_FOR_LEGACY_AMO_UNIQUE_TYPES);
CHECK_LENGTH(ALL_EXTENDED, SHMEM_FOR_AMO_EXTENDED_UNIQUE_TYPES);
CHECK_LENGTH(ALL_EXTENDED, SHMEM_FOR_LEGACY_AMO_EXTENDED_UNIQUE_TYPES);
CHECK_LENGTH(ALL_BITWISE, SHMEM_FOR_AMO_BITWISE_UNIQUE_TYPES);
CHECK_LENGTH(ALL_P2P, SHMEM_FOR_P2P_UNIQUE_TYPES);
CHECK_LENGTH(ALL_RMA, SHMEM_FOR_RMA_UNIQUE_TYPES);
CHECK_LENGTH(ALL_BITS, SHMEM_FOR_REDUCE_AND_OR_XOR_UNIQUE_TYPES);
CHECK_LENGTH(ALL_RMA, SHMEM_FOR_REDUCE_MAX_MIN_UNIQUE_TYPES);
CHECK_LENGTH(ALL_SUMS, SHMEM_FOR_REDUCE_SUM_PROD_UNIQUE_TYPES);

/// A small whole number, exact in every type.
#define VALUE(T, x) ((T)(signed char)(x))
#define PLAIN(f, ...) f(__VA_ARGS__)
#define WITH_CTX(f, ...) f(ctx, __VA_ARGS__)

enum { kElements = 8 * 64 };
static void *dest_block, *source_block;  // symmetric, room for kElements of any type
static uint64_t *signal_word;
static shmem_ctx_t ctx;
static int next_pe, previous_pe;

static void start_with_zeros(void) {
  shmem_barrier_all();
  memset(dest_block, 0, kElements * 16);
  *signal_word = 0;
  shmem_barrier_all();
}

static void complete(void) {
  shmem_ctx_quiet(ctx);
  shmem_barrier_all();
}

/* ---- Remote memory access ---- */

#define DEFINE_RMA(N, T, FORM, CALL)                                                                 \
  static void rma_##FORM##_##N(void) {                                                               \
    T *dest = (T *)dest_block, local[12] = {VALUE(T, 0)}, back[12];                                  \
    const T *from = dest;                                                                            \
    for (int k = 0; k < 12; ++k) local[k] = VALUE(T, me + 2 * k);                                    \
    start_with_zeros();                                                                              \
    CALL(shmem_put, dest, local, 3, next_pe);                                                        \
    CALL(shmem_p, dest + 3, local[3], next_pe);                                                      \
    CALL(shmem_put_nbi, dest + 4, local + 4, 2, next_pe);                                            \
    CALL(shmem_iput, dest + 6, local + 6, 2, 1, 2, next_pe);     /* 6, 8 */                          \
    CALL(shmem_ibput, dest + 9, local + 9, 1, 1, 1, 1, next_pe); /* 9 */                             \
    CALL(shmem_put_signal, dest + 10, local + 10, 1, signal_word, 5, SHMEM_SIGNAL_ADD, next_pe);     \
    CALL(shmem_put_signal_nbi, dest + 11, local + 11, 1, signal_word, 6, SHMEM_SIGNAL_ADD, next_pe); \
    complete();                                                                                      \
    for (int k = 0; k < 12; ++k) {                                                                   \
      const int wanted = k == 7 ? 0 : previous_pe + 2 * (k == 8 ? 7 : k);                            \
      CHECK(dest[k] == VALUE(T, wanted));                                                            \
    }                                                                                                \
    CHECK_EQ(*signal_word, 11);                                                                      \
    CHECK_TYPE(CALL(shmem_g, dest, next_pe), T);                                                     \
    CHECK(CALL(shmem_g, dest + 2, next_pe) == VALUE(T, me + 4));                                     \
    CHECK(CALL(shmem_g, from + 2, next_pe) == VALUE(T, me + 4));                                     \
    CALL(shmem_get, back, dest, 3, next_pe);                                                         \
    CALL(shmem_get_nbi, back + 3, from + 3, 3, next_pe);                                             \
    CALL(shmem_iget, back + 6, from + 6, 1, 2, 2, next_pe);                                          \
    CALL(shmem_ibget, back + 9, from + 9, 1, 1, 1, 1, next_pe);                                      \
    complete();                                                                                      \
    for (int k = 0; k < 10; ++k)                                                                     \
      if (k != 8) CHECK(back[k] == VALUE(T, me + 2 * k));                                            \
  }
#define RMA_PLAIN(N, T) DEFINE_RMA(N, T, plain, PLAIN)
#define RMA_CTX(N, T) DEFINE_RMA(N, T, ctx, WITH_CTX)
ALL_RMA(RMA_PLAIN)
ALL_RMA(RMA_CTX)

/* ---- Atomics: on the next PE's words, of which this PE is the only user ---- */

#define DEFINE_EXTENDED(N, T, FORM, CALL)                                      \
  static void amo_extended_##FORM##_##N(void) {                                \
    T *dest = (T *)dest_block, got = VALUE(T, 99), fetched = VALUE(T, 99);     \
    const T *from = dest;                                                      \
    start_with_zeros();                                                        \
    CALL(shmem_atomic_set, dest, VALUE(T, 3), next_pe);                        \
    complete();                                                                \
    CHECK_TYPE(CALL(shmem_atomic_fetch, dest, next_pe), T);                    \
    CHECK_TYPE(CALL(shmem_atomic_swap, dest, VALUE(T, 4), next_pe), T);        \
    CHECK(CALL(shmem_atomic_fetch, from, next_pe) == VALUE(T, 3));             \
    CHECK(CALL(shmem_atomic_swap, dest, VALUE(T, 4), next_pe) == VALUE(T, 3)); \
    CALL(shmem_atomic_fetch_nbi, &fetched, from, next_pe);                     \
    complete();                                                                \
    CHECK(fetched == VALUE(T, 4));                                             \
    CALL(shmem_atomic_swap_nbi, &got, dest, VALUE(T, 5), next_pe);             \
    complete();                                                                \
    CHECK(got == VALUE(T, 4) && *dest == VALUE(T, 5));                         \
  }
#define EXTENDED_PLAIN(N, T) DEFINE_EXTENDED(N, T, plain, PLAIN)
#define EXTENDED_CTX(N, T) DEFINE_EXTENDED(N, T, ctx, WITH_CTX)
ALL_EXTENDED(EXTENDED_PLAIN)
ALL_EXTENDED(EXTENDED_CTX)

#define DEFINE_AMO(N, T, FORM, CALL)                                                          \
  static void amo_##FORM##_##N(void) {                                                        \
    T *dest = (T *)dest_block, got[3] = {99, 99, 99};                                         \
    start_with_zeros();                                                                       \
    CHECK_TYPE(CALL(shmem_atomic_fetch_add, dest, VALUE(T, 3), next_pe), T);                  \
    CHECK_TYPE(CALL(shmem_atomic_fetch_inc, dest, next_pe), T);                               \
    CHECK_TYPE(CALL(shmem_atomic_compare_swap, dest, VALUE(T, 0), VALUE(T, 0), next_pe), T);  \
    CALL(shmem_atomic_inc, dest, next_pe);                                                    \
    CALL(shmem_atomic_add, dest, VALUE(T, 10), next_pe);                                      \
    complete();                                                                               \
    CHECK_EQ(CALL(shmem_atomic_fetch_inc, dest, next_pe), 11);                                \
    CHECK_EQ(CALL(shmem_atomic_fetch_add, dest, VALUE(T, 5), next_pe), 12);                   \
    CHECK_EQ(CALL(shmem_atomic_compare_swap, dest, VALUE(T, 16), VALUE(T, 1), next_pe), 17);  \
    CHECK_EQ(CALL(shmem_atomic_compare_swap, dest, VALUE(T, 17), VALUE(T, 20), next_pe), 17); \
    CALL(shmem_atomic_fetch_inc_nbi, &got[0], dest, next_pe);                                 \
    complete();                                                                               \
    CALL(shmem_atomic_fetch_add_nbi, &got[1], dest, VALUE(T, 2), next_pe);                    \
    complete();                                                                               \
    CALL(shmem_atomic_compare_swap_nbi, &got[2], dest, VALUE(T, 23), VALUE(T, 7), next_pe);   \
    complete();                                                                               \
    CHECK(got[0] == 20 && got[1] == 21 && got[2] == 23 && *dest == 7);                        \
  }
#define AMO_PLAIN(N, T) DEFINE_AMO(N, T, plain, PLAIN)
#define AMO_CTX(N, T) DEFINE_AMO(N, T, ctx, WITH_CTX)
ALL_AMO(AMO_PLAIN)
ALL_AMO(AMO_CTX)

#define DEFINE_BITWISE(N, T, FORM, CALL)                                         \
  static void amo_bitwise_##FORM##_##N(void) {                                   \
    T *dest = (T *)dest_block, got[3] = {99, 99, 99};                            \
    start_with_zeros();                                                          \
    CHECK_TYPE(CALL(shmem_atomic_fetch_or, dest, VALUE(T, 0), next_pe), T);      \
    CALL(shmem_atomic_or, dest, VALUE(T, 0x3c), next_pe);                        \
    complete();                                                                  \
    CALL(shmem_atomic_and, dest, VALUE(T, 0x1e), next_pe);                       \
    complete();                                                                  \
    CALL(shmem_atomic_xor, dest, VALUE(T, 0x11), next_pe);                       \
    complete();                                                                  \
    CHECK_EQ(CALL(shmem_atomic_fetch_or, dest, VALUE(T, 0x40), next_pe), 0x0d);  \
    CHECK_EQ(CALL(shmem_atomic_fetch_and, dest, VALUE(T, 0x4c), next_pe), 0x4d); \
    CHECK_EQ(CALL(shmem_atomic_fetch_xor, dest, VALUE(T, 0x0f), next_pe), 0x4c); \
    CALL(shmem_atomic_fetch_or_nbi, &got[0], dest, VALUE(T, 0x30), next_pe);     \
    complete();                                                                  \
    CALL(shmem_atomic_fetch_and_nbi, &got[1], dest, VALUE(T, 0x7e), next_pe);    \
    complete();                                                                  \
    CALL(shmem_atomic_fetch_xor_nbi, &got[2], dest, VALUE(T, 0x72), next_pe);    \
    complete();                                                                  \
    CHECK(got[0] == 0x43 && got[1] == 0x73 && got[2] == 0x72 && *dest == 0);     \
  }
#define BITWISE_PLAIN(N, T) DEFINE_BITWISE(N, T, plain, PLAIN)
#define BITWISE_CTX(N, T) DEFINE_BITWISE(N, T, ctx, WITH_CTX)
ALL_BITWISE(BITWISE_PLAIN)
ALL_BITWISE(BITWISE_CTX)

/* ---- Old names of atomics ---- */

#define DEFINE_LEGACY(N, T)                                              \
  static void legacy_##N(void) {                                         \
    T *dest = (T *)dest_block;                                           \
    start_with_zeros();                                                  \
    shmem_add(dest, VALUE(T, 5), next_pe);                               \
    shmem_inc(dest, next_pe);                                            \
    shmem_quiet();                                                       \
    CHECK_TYPE(shmem_fadd(dest, VALUE(T, 1), next_pe), T);               \
    CHECK_EQ(shmem_fadd(dest, VALUE(T, 4), next_pe), 6);                 \
    CHECK_EQ(shmem_finc(dest, next_pe), 10);                             \
    CHECK_EQ(shmem_cswap(dest, VALUE(T, 11), VALUE(T, 2), next_pe), 11); \
    complete();                                                          \
    CHECK_EQ(*dest, 2);                                                  \
  }
#define DEFINE_LEGACY_EXTENDED(N, T)                     \
  static void legacy_extended_##N(void) {                \
    T *dest = (T *)dest_block;                           \
    const T *from = dest;                                \
    start_with_zeros();                                  \
    shmem_set(dest, VALUE(T, 7), next_pe);               \
    shmem_quiet();                                       \
    CHECK_TYPE(shmem_fetch(dest, next_pe), T);           \
    CHECK_EQ(shmem_fetch(from, next_pe), 7);             \
    CHECK_EQ(shmem_swap(dest, VALUE(T, 8), next_pe), 7); \
    complete();                                          \
    CHECK_EQ(*dest, 8);                                  \
  }
ALL_AMO(DEFINE_LEGACY)
ALL_EXTENDED(DEFINE_LEGACY_EXTENDED)

/* ---- Waiting and testing, of plain and volatile objects ---- */

#define DEFINE_P2P(N, T)                                                                                         \
  static void p2p_##N(void) {                                                                                    \
    T *words = (T *)dest_block;                                                                                  \
    volatile T *restless = words;                                                                                \
    const T wanted[3] = {VALUE(T, 4), VALUE(T, 5), VALUE(T, 6)};                                                 \
    size_t indices[3] = {9, 9, 9};                                                                               \
    const int status[3] = {0, 1, 0};                                                                             \
    start_with_zeros();                                                                                          \
    for (int k = 0; k < 3; ++k) shmem_p(words + k, wanted[k], next_pe);                                          \
    shmem_wait_until(words, SHMEM_CMP_EQ, VALUE(T, 4));                                                          \
    shmem_wait_until(restless + 1, SHMEM_CMP_NE, VALUE(T, 0));                                                   \
    shmem_wait_until_all(words, 3, NULL, SHMEM_CMP_GE, VALUE(T, 4));                                             \
    shmem_wait_until_all(restless, 3, status, SHMEM_CMP_LE, VALUE(T, 6));                                        \
    shmem_wait_until_all_vector(words, 3, NULL, SHMEM_CMP_EQ, wanted);                                           \
    shmem_wait_until_all_vector(restless, 3, NULL, SHMEM_CMP_EQ, wanted);                                        \
    CHECK_EQ(shmem_wait_until_any(words, 3, status, SHMEM_CMP_GT, VALUE(T, 4)), 2);                              \
    CHECK_EQ(shmem_wait_until_any(restless, 3, status, SHMEM_CMP_GT, VALUE(T, 4)), 2);                           \
    CHECK(shmem_wait_until_any_vector(words, 3, status, SHMEM_CMP_EQ, wanted) != 1);                             \
    CHECK(shmem_wait_until_any_vector(restless, 3, status, SHMEM_CMP_EQ, wanted) != 1);                          \
    CHECK_EQ(shmem_wait_until_some(words, 3, indices, status, SHMEM_CMP_LT, VALUE(T, 7)), 2);                    \
    CHECK(indices[0] == 0 && indices[1] == 2);                                                                   \
    CHECK_EQ(shmem_wait_until_some(restless, 3, indices, NULL, SHMEM_CMP_EQ, VALUE(T, 5)), 1);                   \
    CHECK_EQ(indices[0], 1);                                                                                     \
    CHECK_EQ(shmem_wait_until_some_vector(words, 3, indices, NULL, SHMEM_CMP_EQ, wanted), 3);                    \
    CHECK_EQ(shmem_wait_until_some_vector(restless, 3, indices, status, SHMEM_CMP_EQ, wanted), 2);               \
    CHECK_EQ(shmem_test(words, SHMEM_CMP_EQ, VALUE(T, 4)) + shmem_test(restless, SHMEM_CMP_EQ, VALUE(T, 5)), 1); \
    CHECK_EQ(shmem_test_all(words, 3, NULL, SHMEM_CMP_GT, VALUE(T, 3)), 1);                                      \
    CHECK_EQ(shmem_test_all(restless, 3, NULL, SHMEM_CMP_GT, VALUE(T, 4)), 0);                                   \
    CHECK_EQ(shmem_test_all_vector(words, 3, NULL, SHMEM_CMP_EQ, wanted), 1);                                    \
    CHECK_EQ(shmem_test_all_vector(restless, 3, NULL, SHMEM_CMP_NE, wanted), 0);                                 \
    CHECK_EQ(shmem_test_any(words, 3, NULL, SHMEM_CMP_EQ, VALUE(T, 6)), 2);                                      \
    CHECK(shmem_test_any(restless, 3, NULL, SHMEM_CMP_EQ, VALUE(T, 8)) == SIZE_MAX);                             \
    CHECK(shmem_test_any_vector(words, 3, NULL, SHMEM_CMP_EQ, wanted) < 3);                                      \
    CHECK(shmem_test_any_vector(restless, 3, NULL, SHMEM_CMP_NE, wanted) == SIZE_MAX);                           \
    CHECK_EQ(shmem_test_some(words, 3, indices, NULL, SHMEM_CMP_GE, VALUE(T, 5)), 2);                            \
    CHECK_EQ(shmem_test_some(restless, 3, indices, status, SHMEM_CMP_GE, VALUE(T, 5)), 1);                       \
    CHECK_EQ(shmem_test_some_vector(words, 3, indices, NULL, SHMEM_CMP_EQ, wanted), 3);                          \
    CHECK_EQ(shmem_test_some_vector(restless, 3, indices, NULL, SHMEM_CMP_LT, wanted), 0);                       \
  }
ALL_P2P(DEFINE_P2P)

/* ---- Collectives ---- */

#define DEFINE_COLLECTIVES(N, T)                                                             \
  static void collectives_##N(void) {                                                        \
    T *dest = (T *)dest_block, *source = (T *)source_block;                                  \
    for (int k = 0; k < npes; ++k) source[k] = VALUE(T, me + k);                             \
    start_with_zeros();                                                                      \
    CHECK_TYPE(shmem_broadcast(SHMEM_TEAM_WORLD, dest, source, 1, 0), int);                  \
    CHECK_EQ(shmem_broadcast(SHMEM_TEAM_WORLD, dest, source, 2, npes - 1), 0);               \
    CHECK_EQ(shmem_collect(SHMEM_TEAM_WORLD, dest + 64, source, 1), 0);                      \
    CHECK_EQ(shmem_fcollect(SHMEM_TEAM_WORLD, dest + 128, source, 1), 0);                    \
    CHECK_EQ(shmem_alltoall(SHMEM_TEAM_WORLD, dest + 192, source, 1), 0);                    \
    CHECK_EQ(shmem_alltoalls(SHMEM_TEAM_WORLD, dest + 256, source, 2, 1, 1), 0);             \
    shmem_sync(SHMEM_TEAM_WORLD);                                                            \
    CHECK(dest[0] == VALUE(T, npes - 1));                                                    \
    for (int pe = 0; pe < npes; ++pe) {                                                      \
      CHECK(dest[64 + pe] == VALUE(T, pe) && dest[128 + pe] == VALUE(T, pe));                \
      CHECK(dest[192 + pe] == VALUE(T, pe + me) && dest[256 + 2 * pe] == VALUE(T, pe + me)); \
    }                                                                                        \
  }
ALL_RMA(DEFINE_COLLECTIVES)

#define DEFINE_BITS(N, T)                                                                                \
  static void reduce_bits_##N(void) {                                                                    \
    T *dest = (T *)dest_block, *source = (T *)source_block;                                              \
    source[0] = VALUE(T, me % 2 ? 0x1d : 0x3c);                                                          \
    start_with_zeros();                                                                                  \
    CHECK_EQ(shmem_and_reduce(SHMEM_TEAM_WORLD, dest, source, 1), 0);                                    \
    CHECK_EQ(shmem_or_reduce(SHMEM_TEAM_WORLD, dest + 1, source, 1), 0);                                 \
    CHECK_EQ(shmem_xor_reduce(SHMEM_TEAM_WORLD, dest + 2, source, 1), 0);                                \
    CHECK(dest[0] == VALUE(T, npes == 1 ? 0x3c : 0x1c) && dest[1] == VALUE(T, npes == 1 ? 0x3c : 0x3d)); \
    CHECK(dest[2] == VALUE(T, ((npes + 1) / 2 % 2 ? 0x3c : 0) ^ (npes / 2 % 2 ? 0x1d : 0)));             \
  }
ALL_BITS(DEFINE_BITS)

#define DEFINE_ENDS(N, T)                                                 \
  static void reduce_ends_##N(void) {                                     \
    T *dest = (T *)dest_block, *source = (T *)source_block;               \
    source[0] = VALUE(T, 10 + me);                                        \
    start_with_zeros();                                                   \
    CHECK_EQ(shmem_max_reduce(SHMEM_TEAM_WORLD, dest, source, 1), 0);     \
    CHECK_EQ(shmem_min_reduce(SHMEM_TEAM_WORLD, dest + 1, source, 1), 0); \
    CHECK(dest[0] == VALUE(T, 9 + npes) && dest[1] == VALUE(T, 10));      \
  }
ALL_RMA(DEFINE_ENDS)

#define DEFINE_SUMS(N, T)                                                       \
  static void reduce_sums_##N(void) {                                           \
    T *dest = (T *)dest_block, *source = (T *)source_block;                     \
    source[0] = VALUE(T, me % 3);                                               \
    source[1] = VALUE(T, me == npes - 1 ? 5 : 1);                               \
    int all = 0, before = 0;                                                    \
    for (int pe = 0; pe < npes; ++pe) all += pe % 3;                            \
    for (int pe = 0; pe < me; ++pe) before += pe % 3;                           \
    start_with_zeros();                                                         \
    CHECK_EQ(shmem_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 1), 0);           \
    CHECK_EQ(shmem_prod_reduce(SHMEM_TEAM_WORLD, dest + 1, source + 1, 1), 0);  \
    CHECK_EQ(shmem_sum_inscan(SHMEM_TEAM_WORLD, dest + 2, source, 1), 0);       \
    CHECK_EQ(shmem_sum_exscan(SHMEM_TEAM_WORLD, dest + 3, source, 1), 0);       \
    CHECK(dest[0] == VALUE(T, all) && dest[1] == VALUE(T, 5));                  \
    CHECK(dest[2] == VALUE(T, before + me % 3) && dest[3] == VALUE(T, before)); \
  }
ALL_SUMS(DEFINE_SUMS)

/* ---- Names that are functions as well ---- */

static void names_with_two_forms(void) {
  static long sync[SHMEM_BARRIER_SYNC_SIZE];
  start_with_zeros();
  shmem_signal_set(signal_word, 5, next_pe);
  shmem_quiet();
  shmem_signal_add(ctx, signal_word, 2, next_pe);
  complete();
  CHECK_EQ(*signal_word, 7);
  start_with_zeros();
  shmem_signal_set(ctx, signal_word, 9, next_pe);
  shmem_ctx_quiet(ctx);
  shmem_signal_add(signal_word, 1, next_pe);
  complete();
  CHECK_EQ(*signal_word, 10);
  CHECK_TYPE(shmem_sync(SHMEM_TEAM_WORLD), int);
  CHECK_EQ(shmem_sync(SHMEM_TEAM_WORLD), 0);
  shmem_sync(0, 0, npes, sync);  // the deprecated form has the same name
  // A macro's name without parentheses is the function.
  void (*active_set_sync)(int, int, int, long *) = shmem_sync;
  active_set_sync(0, 0, npes, sync);
}

static void run_generics(const char *name) {
  test_begin(name);
  CHECK(npes <= 64);
  next_pe = (me + 1) % npes;
  previous_pe = (me + npes - 1) % npes;
  dest_block = shmem_malloc(kElements * 16);
  source_block = shmem_malloc(kElements * 16);
  signal_word = (uint64_t *)shmem_malloc(sizeof *signal_word);
  CHECK(dest_block != NULL && source_block != NULL && signal_word != NULL);
  memset(source_block, 0, kElements * 16);
  CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
#define RUN(GROUP, N) (section(#GROUP " " #N), GROUP##_##N());
#define RUN_RMA(N, T) RUN(rma_plain, N) RUN(rma_ctx, N) RUN(collectives, N)
#define RUN_EXTENDED(N, T) RUN(amo_extended_plain, N) RUN(amo_extended_ctx, N) RUN(legacy_extended, N)
#define RUN_AMO(N, T) RUN(amo_plain, N) RUN(amo_ctx, N) RUN(legacy, N)
#define RUN_BITWISE(N, T) RUN(amo_bitwise_plain, N) RUN(amo_bitwise_ctx, N)
#define RUN_P2P(N, T) RUN(p2p, N)
#define RUN_BITS(N, T) RUN(reduce_bits, N)
#define RUN_ENDS(N, T) RUN(reduce_ends, N)
#define RUN_SUMS(N, T) RUN(reduce_sums, N)
  ALL_RMA(RUN_RMA)
  ALL_EXTENDED(RUN_EXTENDED)
  ALL_AMO(RUN_AMO)
  ALL_BITWISE(RUN_BITWISE)
  ALL_P2P(RUN_P2P)
  ALL_BITS(RUN_BITS)
  ALL_RMA(RUN_ENDS)
  ALL_SUMS(RUN_SUMS)
  section("names with two forms");
  names_with_two_forms();
  shmem_ctx_destroy(ctx);
  shmem_free(dest_block);
  shmem_free(source_block);
  shmem_free(signal_word);
}

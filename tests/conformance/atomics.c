// SPDX-License-Identifier: Apache-2.0
// Chapter "Atomic memory operations": each routine of each type, alone on its word: results, fetched values, wrap-around,
// and the words on both sides untouched. Contention is atomics_contention.c.
#include "support.h"

enum { kGuardValue = 0x5a };

static unsigned char *buffer;
static shmem_ctx_t ctx;
static int left, right;

/// The values of round `k`: small ones, both ends of the type, and random bits. PEs agree on them.
static uint64_t operand(int k, int which) {
  static const uint64_t edges[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63, ((uint64_t)1 << 63) - 1, (uint64_t)1 << 31,
                                   ((uint64_t)1 << 31) - 1, UINT32_MAX};
  const uint64_t r = test_mix((uint64_t)k * 16 + (uint64_t)which + test_random_state);
  return k % 3 != 0 ? r : edges[r % (sizeof edges / sizeof *edges)];
}

// The word under test stands between two guards; `start` is put there by its owner, between barriers.
// `WORD` is on the right-hand neighbour; EXPECT looks at it and at what lies beside it through plain gets.
// clang-format off
#define BEGIN_WORD_TEST(NAME, TYPE)                                                                                        \
  static void expect_##NAME(TYPE *word, TYPE wanted, const char *what) {                                                   \
    TYPE got[3];                                                                                                           \
    section(what);                                                                                                         \
    shmem_quiet();                                                                                                         \
    shmem_ctx_quiet(ctx);                                                                                                  \
    shmem_getmem(got, word - 1, sizeof got, right);                                                                        \
    CHECK_EQ(got[1], wanted);                                                                                              \
    CHECK_EQ(got[0], (TYPE)kGuardValue);                                                                                   \
    CHECK_EQ(got[2], (TYPE)kGuardValue);                                                                                   \
  }

#define FETCH(NAME, what, call, old, wanted)                                                                               \
  do {                                                                                                                     \
    section(#NAME " " what);                                                                                               \
    CHECK_EQ(call, old);                                                                                                   \
    expect_##NAME(word, wanted, #NAME " " what);                                                                           \
  } while (0)
#define PLAIN(NAME, what, call, wanted)                                                                                    \
  do {                                                                                                                     \
    section(#NAME " " what);                                                                                               \
    call;                                                                                                                  \
    expect_##NAME(word, wanted, #NAME " " what);                                                                           \
  } while (0)
// A non-blocking fetch is complete after the quiet that expect() makes.
#define FETCH_NBI(NAME, TYPE, what, call, old, wanted)                                                                     \
  do {                                                                                                                     \
    fetched = (TYPE)~(uint64_t)0;                                                                                          \
    section(#NAME " " what);                                                                                               \
    call;                                                                                                                  \
    expect_##NAME(word, wanted, #NAME " " what);                                                                           \
    CHECK_EQ(fetched, old);                                                                                                \
  } while (0)

// set, fetch, swap: every type, float and double included.
#define DEFINE_EXTENDED(NAME, TYPE)                                                                                        \
  BEGIN_WORD_TEST(NAME, TYPE)                                                                                              \
  static void extended_##NAME(TYPE *word, int k) {                                                                         \
    TYPE fetched;                                                                                                          \
    const TYPE a = (TYPE)operand(k, 0), b = (TYPE)operand(k, 1), c = (TYPE)operand(k, 2), d = (TYPE)operand(k, 3);         \
    PLAIN(NAME, "atomic_set", shmem_##NAME##_atomic_set(word, a, right), a);                                               \
    PLAIN(NAME, "ctx atomic_set", shmem_ctx_##NAME##_atomic_set(ctx, word, b, right), b);                                  \
    FETCH(NAME, "atomic_fetch", shmem_##NAME##_atomic_fetch(word, right), b, b);                                           \
    FETCH(NAME, "ctx atomic_fetch", shmem_ctx_##NAME##_atomic_fetch(ctx, word, right), b, b);                              \
    FETCH_NBI(NAME, TYPE, "atomic_fetch_nbi", shmem_##NAME##_atomic_fetch_nbi(&fetched, word, right), b, b);               \
    FETCH_NBI(NAME, TYPE, "ctx atomic_fetch_nbi", shmem_ctx_##NAME##_atomic_fetch_nbi(ctx, &fetched, word, right), b, b);  \
    FETCH(NAME, "atomic_swap", shmem_##NAME##_atomic_swap(word, c, right), b, c);                                          \
    FETCH(NAME, "ctx atomic_swap", shmem_ctx_##NAME##_atomic_swap(ctx, word, d, right), c, d);                             \
    FETCH_NBI(NAME, TYPE, "atomic_swap_nbi", shmem_##NAME##_atomic_swap_nbi(&fetched, word, a, right), d, a);              \
    FETCH_NBI(NAME, TYPE, "ctx atomic_swap_nbi", shmem_ctx_##NAME##_atomic_swap_nbi(ctx, &fetched, word, b, right), a, b); \
  }                                                                                                                        \

#define DEFINE_LEGACY_EXTENDED(NAME, TYPE)                                                                                 \
  static void legacy_extended_##NAME(TYPE *word, int k) {                                                                  \
    const TYPE a = (TYPE)operand(k, 4), b = (TYPE)operand(k, 5);                                                           \
    PLAIN(NAME, "set", shmem_##NAME##_set(word, a, right), a);                                                             \
    FETCH(NAME, "fetch", shmem_##NAME##_fetch(word, right), a, a);                                                         \
    FETCH(NAME, "swap", shmem_##NAME##_swap(word, b, right), a, b);                                                        \
  }

// Sums wrap as unsigned numbers do.
#define SUM(TYPE, x, y) ((TYPE)((uint64_t)(x) + (uint64_t)(y)))
#define DEFINE_STANDARD(NAME, TYPE)                                                                                        \
  static void standard_##NAME(TYPE *word, int k) {                                                                         \
    TYPE fetched, now = (TYPE)operand(k, 0), old;                                                                          \
    const TYPE a = (TYPE)operand(k, 1), b = (TYPE)operand(k, 2), other = (TYPE)(now ^ 1);                                  \
    shmem_##NAME##_atomic_set(word, now, right); shmem_quiet();                                                            \
    old = now, now = SUM(TYPE, old, a);                                                                                    \
    PLAIN(NAME, "atomic_add", shmem_##NAME##_atomic_add(word, a, right), now);                                             \
    old = now, now = SUM(TYPE, old, b);                                                                                    \
    PLAIN(NAME, "ctx atomic_add", shmem_ctx_##NAME##_atomic_add(ctx, word, b, right), now);                                \
    old = now, now = SUM(TYPE, old, 1);                                                                                    \
    PLAIN(NAME, "atomic_inc", shmem_##NAME##_atomic_inc(word, right), now);                                                \
    old = now, now = SUM(TYPE, old, 1);                                                                                    \
    PLAIN(NAME, "ctx atomic_inc", shmem_ctx_##NAME##_atomic_inc(ctx, word, right), now);                                   \
    old = now, now = SUM(TYPE, old, a);                                                                                    \
    FETCH(NAME, "atomic_fetch_add", shmem_##NAME##_atomic_fetch_add(word, a, right), old, now);                            \
    old = now, now = SUM(TYPE, old, b);                                                                                    \
    FETCH(NAME, "ctx atomic_fetch_add", shmem_ctx_##NAME##_atomic_fetch_add(ctx, word, b, right), old, now);               \
    old = now, now = SUM(TYPE, old, a);                                                                                    \
    FETCH_NBI(NAME, TYPE, "atomic_fetch_add_nbi", shmem_##NAME##_atomic_fetch_add_nbi(&fetched, word, a, right), old, now); \
    old = now, now = SUM(TYPE, old, b);                                                                                    \
    FETCH_NBI(NAME, TYPE, "ctx atomic_fetch_add_nbi", shmem_ctx_##NAME##_atomic_fetch_add_nbi(ctx, &fetched, word, b, right), old, now); \
    old = now, now = SUM(TYPE, old, 1);                                                                                    \
    FETCH(NAME, "atomic_fetch_inc", shmem_##NAME##_atomic_fetch_inc(word, right), old, now);                               \
    old = now, now = SUM(TYPE, old, 1);                                                                                    \
    FETCH(NAME, "ctx atomic_fetch_inc", shmem_ctx_##NAME##_atomic_fetch_inc(ctx, word, right), old, now);                  \
    old = now, now = SUM(TYPE, old, 1);                                                                                    \
    FETCH_NBI(NAME, TYPE, "atomic_fetch_inc_nbi", shmem_##NAME##_atomic_fetch_inc_nbi(&fetched, word, right), old, now);   \
    old = now, now = SUM(TYPE, old, 1);                                                                                    \
    FETCH_NBI(NAME, TYPE, "ctx atomic_fetch_inc_nbi", shmem_ctx_##NAME##_atomic_fetch_inc_nbi(ctx, &fetched, word, right), old, now); \
    /* compare_swap: first with a condition that fails, then with one that holds */                                        \
    now = (TYPE)operand(k, 0);                                                                                             \
    shmem_##NAME##_atomic_set(word, now, right); shmem_quiet();                                                            \
    FETCH(NAME, "atomic_compare_swap that fails", shmem_##NAME##_atomic_compare_swap(word, other, a, right), now, now);    \
    FETCH(NAME, "atomic_compare_swap", shmem_##NAME##_atomic_compare_swap(word, now, a, right), now, a);                   \
    FETCH(NAME, "ctx atomic_compare_swap that fails", shmem_ctx_##NAME##_atomic_compare_swap(ctx, word, (TYPE)(a ^ 1), b, right), a, a); \
    FETCH(NAME, "ctx atomic_compare_swap", shmem_ctx_##NAME##_atomic_compare_swap(ctx, word, a, b, right), a, b);          \
    FETCH_NBI(NAME, TYPE, "atomic_compare_swap_nbi that fails", shmem_##NAME##_atomic_compare_swap_nbi(&fetched, word, (TYPE)(b ^ 1), a, right), b, b); \
    FETCH_NBI(NAME, TYPE, "atomic_compare_swap_nbi", shmem_##NAME##_atomic_compare_swap_nbi(&fetched, word, b, a, right), b, a); \
    FETCH_NBI(NAME, TYPE, "ctx atomic_compare_swap_nbi", shmem_ctx_##NAME##_atomic_compare_swap_nbi(ctx, &fetched, word, a, b, right), a, b); \
  }

#define DEFINE_LEGACY(NAME, TYPE)                                                                                          \
  static void legacy_##NAME(TYPE *word, int k) {                                                                           \
    const TYPE a = (TYPE)operand(k, 1), s = (TYPE)operand(k, 0), t = SUM(TYPE, s, a);                                      \
    shmem_##NAME##_atomic_set(word, s, right); shmem_quiet();                                                              \
    PLAIN(NAME, "add", shmem_##NAME##_add(word, a, right), t);                                                             \
    PLAIN(NAME, "inc", shmem_##NAME##_inc(word, right), SUM(TYPE, t, 1));                                                  \
    FETCH(NAME, "finc", shmem_##NAME##_finc(word, right), SUM(TYPE, t, 1), SUM(TYPE, t, 2));                               \
    FETCH(NAME, "fadd", shmem_##NAME##_fadd(word, a, right), SUM(TYPE, t, 2), SUM(TYPE, SUM(TYPE, t, a), 2));              \
    shmem_##NAME##_atomic_set(word, s, right); shmem_quiet();                                                              \
    FETCH(NAME, "cswap that fails", shmem_##NAME##_cswap(word, (TYPE)(s ^ 1), a, right), s, s);                            \
    FETCH(NAME, "cswap", shmem_##NAME##_cswap(word, s, a, right), s, a);                                                   \
  }

#define DEFINE_BITWISE_OP(NAME, TYPE, OP, RESULT)                                                                          \
  static void OP##_##NAME(TYPE *word, int k) {                                                                             \
    TYPE fetched, now = (TYPE)operand(k, 0), old;                                                                          \
    const TYPE a = (TYPE)operand(k, 1);                                                                                    \
    const TYPE start = now;                                                                                                \
    shmem_##NAME##_atomic_set(word, start, right); shmem_quiet();                                                          \
    old = start, now = (TYPE)(RESULT);                                                                                     \
    PLAIN(NAME, "atomic_" #OP, shmem_##NAME##_atomic_##OP(word, a, right), now);                                           \
    shmem_##NAME##_atomic_set(word, start, right);                                                                         \
    shmem_quiet();                                                                                                         \
    PLAIN(NAME, "ctx atomic_" #OP, shmem_ctx_##NAME##_atomic_##OP(ctx, word, a, right), now);                              \
    shmem_##NAME##_atomic_set(word, start, right); shmem_quiet();                                                          \
    FETCH(NAME, "atomic_fetch_" #OP, shmem_##NAME##_atomic_fetch_##OP(word, a, right), old, now);                          \
    shmem_##NAME##_atomic_set(word, start, right);                                                                         \
    shmem_quiet();                                                                                                         \
    FETCH(NAME, "ctx atomic_fetch_" #OP, shmem_ctx_##NAME##_atomic_fetch_##OP(ctx, word, a, right), old, now);             \
    shmem_##NAME##_atomic_set(word, start, right);                                                                         \
    shmem_quiet();                                                                                                         \
    FETCH_NBI(NAME, TYPE, "atomic_fetch_" #OP "_nbi", shmem_##NAME##_atomic_fetch_##OP##_nbi(&fetched, word, a, right), old, now); \
    shmem_##NAME##_atomic_set(word, start, right);                                                                         \
    shmem_quiet();                                                                                                         \
    FETCH_NBI(NAME, TYPE, "ctx atomic_fetch_" #OP "_nbi", shmem_ctx_##NAME##_atomic_fetch_##OP##_nbi(ctx, &fetched, word, a, right), old, now); \
  }
#define DEFINE_BITWISE(NAME, TYPE)                                                                                         \
  DEFINE_BITWISE_OP(NAME, TYPE, and, old & a)                                                                              \
  DEFINE_BITWISE_OP(NAME, TYPE, or, old | a)                                                                               \
  DEFINE_BITWISE_OP(NAME, TYPE, xor, old ^ a)

SHMEM_FOR_AMO_EXTENDED_TYPES(DEFINE_EXTENDED)
SHMEM_FOR_AMO_TYPES(DEFINE_STANDARD)
SHMEM_FOR_AMO_BITWISE_TYPES(DEFINE_BITWISE)
SHMEM_FOR_LEGACY_AMO_TYPES(DEFINE_LEGACY)
SHMEM_FOR_LEGACY_AMO_EXTENDED_TYPES(DEFINE_LEGACY_EXTENDED)

// Runs one function of one type on a word whose neighbours are guards.
#define RUN(NAME, TYPE, FUNCTION)                                                                                          \
  {                                                                                                                        \
    TYPE *word = (TYPE *)(void *)buffer + 1;                                                                               \
    word[-1] = word[1] = (TYPE)kGuardValue;                                                                                \
    shmem_barrier_all();                                                                                                   \
    for (int k = first; k < first + steps; ++k) FUNCTION##_##NAME(word, k);                                                \
    shmem_barrier_all();                                                                                                   \
  }
// clang-format on
#define RUN_EXTENDED(NAME, TYPE) RUN(NAME, TYPE, extended)
#define RUN_STANDARD(NAME, TYPE) RUN(NAME, TYPE, standard)
#define RUN_LEGACY(NAME, TYPE) RUN(NAME, TYPE, legacy)
#define RUN_LEGACY_EXTENDED(NAME, TYPE) RUN(NAME, TYPE, legacy_extended)
#define RUN_AND(NAME, TYPE) RUN(NAME, TYPE, and)
#define RUN_OR(NAME, TYPE) RUN(NAME, TYPE, or)
#define RUN_XOR(NAME, TYPE) RUN(NAME, TYPE, xor)

/// Atomics on oneself and on static data go the same way.
static long static_words[3] = {kGuardValue, 0, kGuardValue};
static void test_self_and_static(void) {
  section("atomics on the PE itself and on static data");
  long *word = &static_words[1];
  shmem_barrier_all();
  shmem_long_atomic_add(word, 5, right);
  shmem_barrier_all();
  CHECK_EQ(shmem_long_atomic_fetch(word, me), 5);
  CHECK_EQ(shmem_long_atomic_fetch_add(word, -7, me), 5);
  CHECK_EQ(shmem_long_atomic_swap(word, 40, me), -2);
  CHECK_EQ(shmem_long_atomic_compare_swap(word, 40, 41 + me, me), 40);
  CHECK_EQ(static_words[1], 41 + me);
  shmem_barrier_all();
  CHECK_EQ(shmem_long_atomic_fetch(word, right), 41 + right);
  CHECK_EQ(static_words[0], kGuardValue);
  CHECK_EQ(static_words[2], kGuardValue);
  shmem_barrier_all();
}

/// Bit patterns of floating point words survive: negative zero, denormals, infinities, NaN payloads.
static void test_float_bits(void) {
  section("floating point words keep their bits");
  static const uint64_t patterns[] = {UINT64_C(0x8000000000000000), 1, UINT64_C(0x7ff0000000000000),
                                      UINT64_C(0x7ff8000000001234), UINT64_C(0xfff80000deadbeef)};
  double *word = (double *)(void *)buffer;
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i) {
    double value, got;
    memcpy(&value, &patterns[i], sizeof value);
    shmem_double_atomic_set(word, value, right);
    shmem_quiet();
    got = shmem_double_atomic_fetch(word, right);
    CHECK_BYTES(&got, &value, sizeof value);
    got = shmem_double_atomic_swap(word, 0.0, right);
    CHECK_BYTES(&got, &value, sizeof value);
  }
  shmem_barrier_all();
}

int main(void) {
  test_begin("atomics");
  test_seed();
  right = (me + 1) % npes;
  left = (me + npes - 1) % npes;
  buffer = shmem_calloc(3, 16);
  CHECK(buffer != NULL);
  CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
  const int first = 0, steps = npes <= 4 ? 40 : 12;
  SHMEM_FOR_AMO_EXTENDED_TYPES(RUN_EXTENDED)
  SHMEM_FOR_AMO_TYPES(RUN_STANDARD)
  SHMEM_FOR_AMO_BITWISE_TYPES(RUN_AND)
  SHMEM_FOR_AMO_BITWISE_TYPES(RUN_OR)
  SHMEM_FOR_AMO_BITWISE_TYPES(RUN_XOR)
  SHMEM_FOR_LEGACY_AMO_TYPES(RUN_LEGACY)
  SHMEM_FOR_LEGACY_AMO_EXTENDED_TYPES(RUN_LEGACY_EXTENDED)
  test_self_and_static();
  test_float_bits();
  shmem_ctx_destroy(ctx);
  shmem_free(buffer);
  return test_end();
}

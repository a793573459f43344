// SPDX-License-Identifier: Apache-2.0
// Chapter "Point-to-point synchronization": what waits and tests answer. Every type, every comparison, sets with status
// masks and vectors, against a brute-force model. How waits are woken is wait_wakeups.c.
#include "support.h"

enum { kMost = 12, kComparisons = 6 };

static const int comparisons[kComparisons] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT,
                                              SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE};
static unsigned char *buffer;

/// Few distinct values, so that each comparison is often true and often false; both ends of every type among them.
static uint64_t small_or_extreme(void) {
  static const uint64_t values[] = {0, 1, 2, 3, UINT64_MAX, (uint64_t)1 << 63, ((uint64_t)1 << 63) - 1, (uint64_t)1 << 31,
                                    ((uint64_t)1 << 31) - 1, (uint64_t)1 << 15, ((uint64_t)1 << 15) - 1};
  return values[test_random() % (sizeof values / sizeof *values)];
}

#define COMPARE(a, cmp, b)           \
  ((cmp) == SHMEM_CMP_EQ   ? (a) == (b) \
   : (cmp) == SHMEM_CMP_NE ? (a) != (b) \
   : (cmp) == SHMEM_CMP_GT ? (a) > (b)  \
   : (cmp) == SHMEM_CMP_GE ? (a) >= (b) \
   : (cmp) == SHMEM_CMP_LT ? (a) < (b)  \
                           : (a) <= (b))

/// The indices from `some` are exactly the satisfied ones, each once.
static void check_some(const size_t *indices, size_t count, const int *satisfied, size_t n, size_t expected) {
  int seen[kMost] = {0};
  CHECK_EQ(count, expected);
  for (size_t i = 0; i < count; ++i) {
    CHECK(indices[i] < n);
    CHECK(satisfied[indices[i]]);
    CHECK_EQ(seen[indices[i]]++, 0);
  }
}

// clang-format off
#define DEFINE_MODEL_TEST(NAME, TYPE)                                                                                      \
  static void model_##NAME(int steps) {                                                                                    \
    section("model of " #NAME);                                                                                            \
    TYPE *words = (TYPE *)(void *)buffer;                                                                                  \
    for (int step = 0; step < steps; ++step) {                                                                             \
      const size_t n = (size_t)test_random_in(0, kMost);                                                                   \
      const int cmp = comparisons[test_random_in(0, kComparisons - 1)], masked = test_random_in(0, 2);                     \
      const TYPE scalar = (TYPE)small_or_extreme();                                                                        \
      TYPE vector[kMost];                                                                                                  \
      int mask[kMost], ok[kMost], vector_ok[kMost];                                                                        \
      size_t chosen = 0, hits = 0, vector_hits = 0, indices[kMost];                                                        \
      for (size_t i = 0; i < n; ++i) {                                                                                     \
        words[i] = (TYPE)small_or_extreme();                                                                               \
        vector[i] = (TYPE)small_or_extreme();                                                                              \
        mask[i] = masked == 1 ? test_random_in(0, 1) : masked == 2;                                                        \
        chosen += !mask[i] || masked == 0;                                                                                 \
        ok[i] = (!mask[i] || masked == 0) && COMPARE(words[i], cmp, scalar);                                               \
        vector_ok[i] = (!mask[i] || masked == 0) && COMPARE(words[i], cmp, vector[i]);                                     \
        hits += (size_t)ok[i];                                                                                             \
        vector_hits += (size_t)vector_ok[i];                                                                               \
      }                                                                                                                    \
      const int *status = masked == 0 ? NULL : mask;                                                                       \
      for (size_t i = 0; i < n; ++i) {                                                                                     \
        const int holds = COMPARE(words[i], cmp, scalar);                                                                  \
        CHECK_EQ(!!shmem_##NAME##_test(&words[i], cmp, scalar), holds);                                                    \
        if (holds) shmem_##NAME##_wait_until(&words[i], cmp, scalar);                                                      \
        if (words[i] != scalar) shmem_##NAME##_wait(&words[i], scalar);                                                    \
      }                                                                                                                    \
      size_t at;                                                                                                           \
      CHECK_EQ(!!shmem_##NAME##_test_all(words, n, status, cmp, scalar), hits == chosen);                                  \
      CHECK_EQ(!!shmem_##NAME##_test_all_vector(words, n, status, cmp, vector), vector_hits == chosen);                    \
      if (hits == chosen) shmem_##NAME##_wait_until_all(words, n, status, cmp, scalar);                                    \
      if (vector_hits == chosen) shmem_##NAME##_wait_until_all_vector(words, n, status, cmp, vector);                      \
      at = shmem_##NAME##_test_any(words, n, status, cmp, scalar);                                                         \
      if (hits == 0) CHECK(at == SIZE_MAX); else CHECK(at < n && ok[at]);                                                  \
      at = shmem_##NAME##_test_any_vector(words, n, status, cmp, vector);                                                  \
      if (vector_hits == 0) CHECK(at == SIZE_MAX); else CHECK(at < n && vector_ok[at]);                                    \
      check_some(indices, shmem_##NAME##_test_some(words, n, indices, status, cmp, scalar), ok, n, hits);                  \
      check_some(indices, shmem_##NAME##_test_some_vector(words, n, indices, status, cmp, vector), vector_ok, n, vector_hits); \
      if (hits > 0 || chosen == 0) {                                                                                       \
        at = shmem_##NAME##_wait_until_any(words, n, status, cmp, scalar);                                                 \
        if (chosen == 0) CHECK(at == SIZE_MAX); else CHECK(at < n && ok[at]);                                              \
        check_some(indices, shmem_##NAME##_wait_until_some(words, n, indices, status, cmp, scalar), ok, n, hits);          \
      }                                                                                                                    \
      if (vector_hits > 0 || chosen == 0) {                                                                                \
        at = shmem_##NAME##_wait_until_any_vector(words, n, status, cmp, vector);                                          \
        if (chosen == 0) CHECK(at == SIZE_MAX); else CHECK(at < n && vector_ok[at]);                                       \
        check_some(indices, shmem_##NAME##_wait_until_some_vector(words, n, indices, status, cmp, vector), vector_ok, n,   \
                   vector_hits);                                                                                           \
      }                                                                                                                    \
    }                                                                                                                      \
  }

#define DEFINE_EDGE_TEST(NAME, TYPE)                                                                                       \
  static void edges_##NAME(void) {                                                                                         \
    section("empty sets and fairness of " #NAME);                                                                          \
    TYPE *words = (TYPE *)(void *)buffer;                                                                                  \
    size_t indices[4];                                                                                                     \
    static const int all_masked[4] = {1, 1, 1, 1};                                                                         \
    const TYPE vector[4] = {1, 1, 1, 1};                                                                                   \
    for (int i = 0; i < 4; ++i) words[i] = 0;                                                                              \
    for (int empty = 0; empty < 2; ++empty) { /* 0 elements with NULL, then 4 that are masked out */                       \
      TYPE *set = empty == 0 ? NULL : words;                                                                               \
      const TYPE *values = empty == 0 ? NULL : vector;                                                                     \
      const int *status = empty == 0 ? NULL : all_masked;                                                                  \
      const size_t n = empty == 0 ? 0 : 4;                                                                                 \
      CHECK_EQ(!!shmem_##NAME##_test_all(set, n, status, SHMEM_CMP_EQ, 1), 1);                                             \
      CHECK_EQ(!!shmem_##NAME##_test_all_vector(set, n, status, SHMEM_CMP_EQ, values), 1);                                 \
      CHECK(shmem_##NAME##_test_any(set, n, status, SHMEM_CMP_EQ, 1) == SIZE_MAX);                                         \
      CHECK(shmem_##NAME##_test_any_vector(set, n, status, SHMEM_CMP_EQ, values) == SIZE_MAX);                             \
      CHECK_EQ(shmem_##NAME##_test_some(set, n, indices, status, SHMEM_CMP_EQ, 1), 0);                                     \
      CHECK_EQ(shmem_##NAME##_test_some_vector(set, n, indices, status, SHMEM_CMP_EQ, values), 0);                         \
      shmem_##NAME##_wait_until_all(set, n, status, SHMEM_CMP_EQ, 1);                                                      \
      shmem_##NAME##_wait_until_all_vector(set, n, status, SHMEM_CMP_EQ, values);                                          \
      CHECK(shmem_##NAME##_wait_until_any(set, n, status, SHMEM_CMP_EQ, 1) == SIZE_MAX);                                   \
      CHECK(shmem_##NAME##_wait_until_any_vector(set, n, status, SHMEM_CMP_EQ, values) == SIZE_MAX);                       \
      CHECK_EQ(shmem_##NAME##_wait_until_some(set, n, indices, status, SHMEM_CMP_EQ, 1), 0);                               \
      CHECK_EQ(shmem_##NAME##_wait_until_some_vector(set, n, indices, status, SHMEM_CMP_EQ, values), 0);                   \
    }                                                                                                                      \
    /* A series of calls must come to every satisfied element. */                                                          \
    int seen[4][4] = {{0}};                                                                                                \
    for (int i = 0; i < 4; ++i) words[i] = 1;                                                                              \
    for (int k = 0; k < 200; ++k) {                                                                                        \
      ++seen[0][shmem_##NAME##_wait_until_any(words, 4, NULL, SHMEM_CMP_EQ, 1)];                                           \
      /* Four calls a turn over four elements: a search that only counts its calls would look at one place for ever. */    \
      ++seen[1][shmem_##NAME##_wait_until_any_vector(words, 4, NULL, SHMEM_CMP_EQ, vector)];                               \
      ++seen[2][shmem_##NAME##_test_any(words, 4, NULL, SHMEM_CMP_EQ, 1)];                                                 \
      ++seen[3][shmem_##NAME##_test_any_vector(words, 4, NULL, SHMEM_CMP_EQ, vector)];                                     \
    }                                                                                                                      \
    for (int form = 0; form < 4; ++form)                                                                                   \
      for (int i = 0; i < 4; ++i) CHECK(seen[form][i] > 0);                                                                \
  }
// clang-format on

SHMEM_FOR_P2P_TYPES(DEFINE_MODEL_TEST)
SHMEM_FOR_P2P_TYPES(DEFINE_EDGE_TEST)

/// Comparisons are made in the word's own type: nothing is widened, no neighbour is read.
static void test_types(void) {
  section("comparisons in the word's own type");
  short *s = (short *)(void *)buffer;
  s[0] = s[2] = 0x7fff;
  s[1] = -1;
  CHECK(shmem_short_test(&s[1], SHMEM_CMP_LT, 0));
  CHECK(shmem_short_test(&s[1], SHMEM_CMP_EQ, -1));
  unsigned short *us = (unsigned short *)(void *)buffer;
  CHECK(shmem_ushort_test(&us[1], SHMEM_CMP_GT, 0x7fff));
  CHECK(shmem_ushort_test(&us[1], SHMEM_CMP_EQ, 0xffff));
  int *i = (int *)(void *)buffer;
  i[0] = i[2] = 0;
  i[1] = INT32_MIN;
  CHECK(shmem_int_test(&i[1], SHMEM_CMP_LT, -5));
  CHECK(shmem_uint32_test((uint32_t *)&i[1], SHMEM_CMP_GT, 5));
  int64_t *l = (int64_t *)(void *)buffer;
  l[0] = -1;
  CHECK(shmem_int64_test(&l[0], SHMEM_CMP_LT, 0));
  CHECK(!shmem_uint64_test((uint64_t *)&l[0], SHMEM_CMP_LT, 1));
  CHECK(shmem_size_test((size_t *)&l[0], SHMEM_CMP_GE, SIZE_MAX));
  CHECK(shmem_ptrdiff_test((ptrdiff_t *)&l[0], SHMEM_CMP_LE, 0));
}

/// The old untyped names are the ones of long.
static long static_word;
static void test_legacy(void) {
  section("shmem_wait and shmem_wait_until of the first versions");
  const int right = (me + 1) % npes;
  static_word = 0;
  shmem_barrier_all();
  shmem_long_p(&static_word, 4, right);
  shmem_wait(&static_word, 0);
  CHECK_EQ(static_word, 4);
  shmem_barrier_all();
  shmem_long_p(&static_word, -4, right);
  (shmem_wait_until)(&static_word, SHMEM_CMP_LT, 0);
  CHECK_EQ(static_word, -4);
  shmem_barrier_all();
}

int main(void) {
  test_begin("wait");
  test_seed();
  buffer = shmem_calloc(kMost, 16);
  CHECK(buffer != NULL);
  const int steps = npes <= 2 ? 2000 : npes <= 5 ? 500 : 100;
#define RUN_MODEL(NAME, TYPE) model_##NAME(steps);
#define RUN_EDGES(NAME, TYPE) edges_##NAME();
  SHMEM_FOR_P2P_TYPES(RUN_MODEL)
  SHMEM_FOR_P2P_TYPES(RUN_EDGES)
  test_types();
  test_legacy();
  shmem_free(buffer);
  return test_end();
}

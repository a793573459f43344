// SPDX-License-Identifier: Apache-2.0
// Chapter "Atomic memory operations": all PEs on the same words at once. Sums come out exact, tickets are handed out once,
// swaps lose nothing, bits of others stay, and the neighbours of a 32-bit word are not touched.
#include "support.h"

static int64_t *sums;       // on PE 0; one for each purpose
static unsigned char *word; // on every PE, 16 bytes
static shmem_ctx_t ctx;
static int home;            // the PE that all go at: another one for each type
static int repeats;
static double round_end;

enum { kTickets, kObtained, kGiven, kIterations, kSums };

static void start_round(const char *name, int number) {
  section(name);
  home = number % npes;
  memset(word, 0, 16);
  if (me == 0) memset(sums, 0, kSums * sizeof *sums);
  shmem_barrier_all();
  round_end = test_now() + 0.03;
}

/// On a busy machine PEs may run one after the other: a round goes on until this PE has met others often enough, that is, until
/// a word has changed under its hands forty times, or for thirty milliseconds.
static int goes_on(int i, int meetings) {
  if (i < repeats) return 1;
  if (meetings >= 40 || npes == 1) return 0;
  return i % 64 != 0 || test_now() < round_end;
}

/// Collective: how many iterations all PEs made together.
static int64_t all_iterations(int mine) {
  shmem_quiet();
  shmem_ctx_quiet(ctx);
  shmem_int64_atomic_add(&sums[kIterations], mine, 0);
  shmem_barrier_all();
  return shmem_int64_atomic_fetch(&sums[kIterations], 0);
}

// clang-format off
// Every adding form at once; npes * repeats times each. The fetched values of the adds of 1 are tickets: their sum is known.
#define DEFINE_ADD(NAME, TYPE)                                                                                             \
  static void add_##NAME(int number) {                                                                                     \
    start_round("contended adds of " #NAME, number);                                                                       \
    TYPE *shared = (TYPE *)(void *)word, ignored[2], last = 0;                                                             \
    int i = 0, meetings = 0;                                                                                               \
    for (; goes_on(i, meetings); ++i) {                                                                                    \
      const TYPE before = shmem_##NAME##_atomic_fetch_add(shared, 2, home);                                                \
      meetings += before != last;                                                                                          \
      shmem_##NAME##_atomic_add(shared, 3, home);                                                                          \
      shmem_ctx_##NAME##_atomic_add(ctx, shared, (TYPE)-2, home);                                                          \
      shmem_##NAME##_atomic_inc(shared, home);                                                                             \
      (void)shmem_##NAME##_atomic_fetch_inc(shared, home);                                                                 \
      shmem_##NAME##_atomic_fetch_add_nbi(&ignored[0], shared, 4, home);                                                   \
      shmem_ctx_##NAME##_atomic_fetch_inc_nbi(ctx, &ignored[1], shared, home);                                             \
      last = (TYPE)(before + 10);                                                                                          \
      if (i % 8 == 0) shmem_quiet();                                                                                       \
    }                                                                                                                      \
    const int64_t adds = all_iterations(i);                                                                                \
    CHECK_EQ(shmem_##NAME##_atomic_fetch(shared, home), (TYPE)(10 * adds));                                                \
    shmem_barrier_all();                                                                                                   \
    start_round("tickets of " #NAME, number);                                                                              \
    int64_t mine = 0, previous = -1;                                                                                       \
    for (i = meetings = 0; goes_on(i, meetings); ++i) {                                                                    \
      const int64_t ticket = (int64_t)(i % 2 ? shmem_##NAME##_atomic_fetch_inc(shared, home)                               \
                                             : shmem_##NAME##_atomic_fetch_add(shared, 1, home));                          \
      CHECK(ticket > previous);                                                                                            \
      meetings += ticket != previous + 1;                                                                                  \
      previous = ticket;                                                                                                   \
      mine += ticket;                                                                                                      \
    }                                                                                                                      \
    shmem_int64_atomic_add(&sums[kTickets], mine, 0);                                                                      \
    const int64_t all = all_iterations(i);                                                                                 \
    if (me == 0) CHECK_EQ(sums[kTickets], all * (all - 1) / 2);                                                            \
    CHECK(previous < all);                                                                                                 \
    shmem_barrier_all();                                                                                                   \
  }

// An increment made of fetch and compare_swap; the ctx form every other time.
#define DEFINE_CAS(NAME, TYPE)                                                                                             \
  static void cas_##NAME(int number) {                                                                                     \
    start_round("compare_swap loops of " #NAME, number);                                                                   \
    TYPE *shared = (TYPE *)(void *)word;                                                                                   \
    TYPE seen = 0, next;                                                                                                   \
    int i = 0, meetings = 0;                                                                                               \
    for (; goes_on(i, meetings); ++i)                                                                                      \
      for (;;) {                                                                                                           \
        next = (TYPE)(seen + 1);                                                                                           \
        const TYPE before = i % 2 ? shmem_##NAME##_atomic_compare_swap(shared, seen, next, home)                           \
                                  : shmem_ctx_##NAME##_atomic_compare_swap(ctx, shared, seen, next, home);                 \
        const int swapped = before == seen;                                                                                \
        seen = swapped ? next : before;                                                                                    \
        if (swapped) break;                                                                                                \
        ++meetings;                                                                                                        \
      }                                                                                                                    \
    const int64_t all = all_iterations(i);                                                                                 \
    CHECK_EQ(shmem_##NAME##_atomic_fetch(shared, home), (TYPE)all);                                                        \
    shmem_barrier_all();                                                                                                   \
  }

// Whatever is swapped in comes out once: by another swap, or as what remains. Values are small integers, exact in float.
#define DEFINE_SWAP(NAME, TYPE)                                                                                            \
  static void swap_##NAME(int number) {                                                                                    \
    start_round("swap chains of " #NAME, number);                                                                          \
    TYPE *shared = (TYPE *)(void *)word, last = 0;                                                                         \
    int64_t given = 0, obtained = 0;                                                                                       \
    int i = 0, meetings = 0;                                                                                               \
    for (; goes_on(i, meetings); ++i) {                                                                                    \
      const TYPE value = (TYPE)(1 + me * 1000 + i % 1000);                                                                 \
      const TYPE before = i % 2 ? shmem_##NAME##_atomic_swap(shared, value, home)                                          \
                                : shmem_ctx_##NAME##_atomic_swap(ctx, shared, value, home);                                \
      given += (int64_t)value;                                                                                             \
      obtained += (int64_t)before;                                                                                         \
      meetings += before != last;                                                                                          \
      last = value;                                                                                                        \
    }                                                                                                                      \
    shmem_int64_atomic_add(&sums[kGiven], given, 0);                                                                       \
    shmem_int64_atomic_add(&sums[kObtained], obtained, 0);                                                                 \
    shmem_barrier_all();                                                                                                   \
    if (me == 0) CHECK_EQ(sums[kObtained] + (int64_t)shmem_##NAME##_atomic_fetch(shared, home), sums[kGiven]);             \
    shmem_barrier_all();                                                                                                   \
  }

// Each PE owns one bit of the word and sees it behave as if it were alone.
#define DEFINE_BITS(NAME, TYPE)                                                                                            \
  static void bits_##NAME(int number) {                                                                                    \
    start_round("contended bits of " #NAME, number);                                                                       \
    TYPE *shared = (TYPE *)(void *)word;                                                                                   \
    const TYPE bit = (TYPE)((TYPE)1 << me), others = (TYPE)~bit;                                                           \
    TYPE last = 0;                                                                                                         \
    for (int i = 0, meetings = 0; goes_on(i, meetings); ++i) {                                                             \
      const TYPE before = shmem_##NAME##_atomic_fetch_or(shared, bit, home);                                               \
      CHECK_EQ(before & bit, 0);                                                                                           \
      meetings += before != last;                                                                                          \
      last = before;                                                                                                       \
      CHECK_EQ(shmem_##NAME##_atomic_fetch_and(shared, others, home) & bit, bit);                                          \
      CHECK_EQ(shmem_##NAME##_atomic_fetch_xor(shared, bit, home) & bit, 0);                                               \
      CHECK_EQ(shmem_ctx_##NAME##_atomic_fetch_xor(ctx, shared, bit, home) & bit, bit);                                    \
      shmem_##NAME##_atomic_or(shared, bit, home);                                                                         \
      shmem_quiet();                                                                                                       \
      CHECK_EQ(shmem_##NAME##_atomic_fetch(shared, home) & bit, bit);                                                      \
      shmem_##NAME##_atomic_and(shared, others, home);                                                                     \
      shmem_quiet();                                                                                                       \
      CHECK_EQ(shmem_##NAME##_atomic_fetch(shared, home) & bit, 0);                                                        \
      shmem_##NAME##_atomic_xor(shared, bit, home);                                                                        \
      shmem_quiet();                                                                                                       \
      CHECK_EQ(shmem_##NAME##_atomic_fetch(shared, home) & bit, bit);                                                      \
      shmem_##NAME##_atomic_xor(shared, bit, home);                                                                        \
      shmem_quiet();                                                                                                       \
    }                                                                                                                      \
    shmem_barrier_all();                                                                                                   \
    CHECK_EQ(shmem_##NAME##_atomic_fetch(shared, home), 0);                                                                \
    shmem_barrier_all();                                                                                                   \
  }
// clang-format on

SHMEM_FOR_AMO_TYPES(DEFINE_ADD)
SHMEM_FOR_AMO_TYPES(DEFINE_CAS)
SHMEM_FOR_AMO_EXTENDED_TYPES(DEFINE_SWAP)
SHMEM_FOR_AMO_BITWISE_TYPES(DEFINE_BITS)

/// PE p owns the 32-bit word p of a row on PE 0 and checks it after each change, while its neighbours do the same.
static void test_neighbouring_words(void) {
  uint32_t *row = shmem_calloc((size_t)npes, sizeof *row);
  CHECK(row != NULL);
  start_round("neighbouring 32-bit words", 0);
  uint32_t value = 0, last = 0;
  for (int i = 0, meetings = 0; goes_on(i, meetings); ++i) {
    const uint32_t beside = shmem_uint32_atomic_fetch(&row[(me ^ 1) % npes], 0);
    meetings += beside != last;
    last = beside;
    const uint32_t next = (uint32_t)test_mix((uint64_t)i * 64 + (uint64_t)me);
    switch (i % 6) {
      case 0: shmem_uint32_atomic_set(&row[me], next, 0), value = next; break;
      case 1: shmem_uint32_atomic_add(&row[me], next, 0), value += next; break;
      case 2: shmem_uint32_atomic_xor(&row[me], next, 0), value ^= next; break;
      case 3: CHECK_EQ(shmem_uint32_atomic_swap(&row[me], next, 0), value), value = next; break;
      case 4: CHECK_EQ(shmem_uint32_atomic_compare_swap(&row[me], value, next, 0), value), value = next; break;
      default: shmem_uint32_p(&row[me], next, 0), value = next; break;
    }
    shmem_quiet();
    CHECK_EQ(shmem_uint32_atomic_fetch(&row[me], 0), value);
  }
  shmem_barrier_all();
  shmem_free(row);
}

/// Each PE adds to a random word of a random PE; the grand total is exact, over non-blocking operations too.
static void test_histogram(void) {
  section("histogram");
  enum { kBins = 37 };
  unsigned *bins = shmem_calloc(kBins, sizeof *bins);
  CHECK(bins != NULL);
  if (me == 0) memset(sums, 0, kSums * sizeof *sums);
  shmem_barrier_all();
  unsigned ignored[8];
  const int count = 50 * repeats;
  for (int i = 0; i < count; ++i) {
    const uint64_t r = test_mix((uint64_t)i * 131 + (uint64_t)me * 7919);
    unsigned *bin = &bins[r % kBins];
    const int pe = (int)((r >> 32) % (uint64_t)npes);
    if (i % 3 == 0) shmem_uint_atomic_fetch_add_nbi(&ignored[i % 8], bin, 1, pe);
    else if (i % 3 == 1) shmem_ctx_uint_atomic_inc(ctx, bin, pe);
    else shmem_uint_atomic_add(bin, 1, pe);
  }
  shmem_ctx_quiet(ctx);
  shmem_barrier_all();
  int64_t local = 0;
  for (int i = 0; i < kBins; ++i) local += bins[i];
  shmem_int64_atomic_add(&sums[kTickets], local, 0);
  shmem_barrier_all();
  if (me == 0) CHECK_EQ(sums[kTickets], (int64_t)npes * count);
  shmem_free(bins);
}

int main(void) {
  test_begin("atomics_contention");
  repeats = npes <= 4 ? 200 : 50;
  sums = shmem_calloc(kSums, sizeof *sums);
  word = shmem_align(64, 16);
  CHECK(sums != NULL && word != NULL);
  CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
  int number = 0;
#define RUN_ADD(NAME, TYPE) add_##NAME(number++);
#define RUN_CAS(NAME, TYPE) cas_##NAME(number++);
#define RUN_SWAP(NAME, TYPE) swap_##NAME(number++);
#define RUN_BITS(NAME, TYPE) bits_##NAME(number++);
  SHMEM_FOR_AMO_TYPES(RUN_ADD)
  SHMEM_FOR_AMO_TYPES(RUN_CAS)
  SHMEM_FOR_AMO_EXTENDED_TYPES(RUN_SWAP)
  SHMEM_FOR_AMO_BITWISE_TYPES(RUN_BITS)
  test_neighbouring_words();
  test_histogram();
  shmem_ctx_destroy(ctx);
  shmem_free(word);
  shmem_free(sums);
  return test_end();
}

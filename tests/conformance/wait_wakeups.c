// SPDX-License-Identifier: Apache-2.0
// Chapter "Point-to-point synchronization": every way of updating a word wakes every way of waiting for it.
// A token goes round the ring: PE 0 lets the others fall asleep in their waits, then updates its right-hand neighbour's
// word, which wakes that PE, which updates the next. Each combination takes the word from v to v + 1.
#include "support.h"
#include <sched.h>

static uint64_t *words;    // four; the live one is kLive, the others stay 0
static shmem_ctx_t ctx;
static int right;
enum { kWords = 4, kLive = 2 };

enum {
  kPut, kP, kPutNbi, kPut64, kPutmem, kIput, kCtxP, kAtomicSet, kAtomicAdd, kAtomicInc, kFetchAdd, kSwap, kCompareSwap, kFetchIncNbi,
  kXor, kSignalSet, kSignalAdd, kPutSignal, kPutSignalNbi, kStore, kUpdates
};
static const char *const update_names[kUpdates] = {
    "put", "p", "put_nbi", "put64", "putmem", "iput", "ctx p", "atomic_set", "atomic_add", "atomic_inc", "atomic_fetch_add",
    "atomic_swap", "atomic_compare_swap", "atomic_fetch_inc_nbi", "atomic_xor", "signal_set", "signal_add", "put_signal",
    "put_signal_nbi", "store through shmem_ptr"};

static void update(int way, uint64_t *word, uint64_t value, int pe) {
  uint64_t old = value - 1;
  static uint64_t source, fetched; // outlive the non-blocking operations
  source = value;
  switch (way) {
    case kPut: shmem_uint64_put(word, &value, 1, pe); break;
    case kP: shmem_uint64_p(word, value, pe); break;
    case kPutNbi: shmem_uint64_put_nbi(word, &source, 1, pe), shmem_quiet(); break;
    case kPut64: shmem_put64(word, &value, 1, pe); break;
    case kPutmem: shmem_putmem(word, &value, sizeof value, pe); break;
    case kIput: shmem_uint64_iput(word, &value, 1, 1, 1, pe); break;
    case kCtxP: shmem_ctx_uint64_p(ctx, word, value, pe), shmem_ctx_quiet(ctx); break;
    case kAtomicSet: shmem_uint64_atomic_set(word, value, pe); break;
    case kAtomicAdd: shmem_uint64_atomic_add(word, 1, pe); break;
    case kAtomicInc: shmem_uint64_atomic_inc(word, pe); break;
    case kFetchAdd: CHECK_EQ(shmem_uint64_atomic_fetch_add(word, 1, pe), old); break;
    case kSwap: CHECK_EQ(shmem_uint64_atomic_swap(word, value, pe), old); break;
    case kCompareSwap: CHECK_EQ(shmem_uint64_atomic_compare_swap(word, old, value, pe), old); break;
    case kFetchIncNbi: shmem_uint64_atomic_fetch_inc_nbi(&fetched, word, pe), shmem_quiet(); break;
    case kXor: shmem_uint64_atomic_xor(word, value ^ old, pe); break;
    case kSignalSet: shmem_signal_set(word, value, pe); break;
    case kSignalAdd: shmem_signal_add(word, 1, pe); break;
    case kPutSignal: shmem_putmem_signal(NULL, NULL, 0, word, value, SHMEM_SIGNAL_SET, pe); break;
    case kPutSignalNbi: shmem_putmem_signal_nbi(NULL, NULL, 0, word, 1, SHMEM_SIGNAL_ADD, pe), shmem_quiet(); break;
    default: {
      volatile uint64_t *there = shmem_ptr(word, pe);
      if (there != NULL) *there = value; // plain, with nothing after it: no call tells the library
      else shmem_uint64_p(word, value, pe);
    }
  }
}

enum {
  kWait, kWaitNe, kSignalWait, kAll, kAny, kSome, kAllVector, kAnyVector, kSomeVector, kLegacyWait,
  kTest, kTestAll, kTestAny, kTestSome, kTestAllVector, kTestAnyVector, kTestSomeVector, kSignalFetch, kWaits
};
static const char *const wait_names[kWaits] = {
    "wait_until EQ", "wait_until NE", "signal_wait_until", "wait_until_all", "wait_until_any", "wait_until_some",
    "wait_until_all_vector", "wait_until_any_vector", "wait_until_some_vector", "wait", "test", "test_all", "test_any",
    "test_some", "test_all_vector", "test_any_vector", "test_some_vector", "signal_fetch"};

/// Polls politely: with more PEs than cores the updater needs one.
#define POLL(condition) \
  while (!(condition)) sched_yield()

// For any word type; each leaves when the live word has become `value`.
#define DEFINE_WAITS(NAME, TYPE)                                                                                  \
  static void wait_for_##NAME(int way, TYPE *w, TYPE value) {                                                     \
    static const int status[kWords] = {1, 1, 0, 1};                                                               \
    const TYPE any[kWords] = {value, value, value, value}, all[kWords] = {0, 0, value, 0};                        \
    size_t indices[kWords] = {kWords};                                                                            \
    switch (way) {                                                                                                \
      case kWait: shmem_##NAME##_wait_until(&w[kLive], SHMEM_CMP_EQ, value); break;                               \
      case kWaitNe: shmem_##NAME##_wait_until(&w[kLive], SHMEM_CMP_NE, (TYPE)(value - 1)); break;                 \
      case kAll: shmem_##NAME##_wait_until_all(w, kWords, status, SHMEM_CMP_GE, value); break;                    \
      case kAny: CHECK_EQ(shmem_##NAME##_wait_until_any(w, kWords, NULL, SHMEM_CMP_EQ, value), kLive); break;     \
      case kSome:                                                                                                 \
        CHECK_EQ(shmem_##NAME##_wait_until_some(w, kWords, indices, NULL, SHMEM_CMP_GE, value), 1);               \
        CHECK_EQ(indices[0], kLive);                                                                              \
        break;                                                                                                    \
      case kAllVector: shmem_##NAME##_wait_until_all_vector(w, kWords, NULL, SHMEM_CMP_EQ, all); break;           \
      case kAnyVector:                                                                                            \
        CHECK_EQ(shmem_##NAME##_wait_until_any_vector(w, kWords, NULL, SHMEM_CMP_GE, any), kLive);                \
        break;                                                                                                    \
      case kSomeVector:                                                                                           \
        CHECK_EQ(shmem_##NAME##_wait_until_some_vector(w, kWords, indices, status, SHMEM_CMP_EQ, any), 1);        \
        CHECK_EQ(indices[0], kLive);                                                                              \
        break;                                                                                                    \
      case kLegacyWait: shmem_##NAME##_wait(&w[kLive], (TYPE)(value - 1)); break;                                 \
      case kTest: POLL(shmem_##NAME##_test(&w[kLive], SHMEM_CMP_EQ, value)); break;                               \
      case kTestAll: POLL(shmem_##NAME##_test_all(w, kWords, status, SHMEM_CMP_EQ, value)); break;                \
      case kTestAny: POLL(shmem_##NAME##_test_any(w, kWords, NULL, SHMEM_CMP_EQ, value) == kLive); break;         \
      case kTestSome: POLL(shmem_##NAME##_test_some(w, kWords, indices, NULL, SHMEM_CMP_EQ, value) == 1); break;  \
      case kTestAllVector: POLL(shmem_##NAME##_test_all_vector(w, kWords, NULL, SHMEM_CMP_EQ, all)); break;       \
      case kTestAnyVector:                                                                                        \
        POLL(shmem_##NAME##_test_any_vector(w, kWords, status, SHMEM_CMP_EQ, any) == kLive);                      \
        break;                                                                                                    \
      default: POLL(shmem_##NAME##_test_some_vector(w, kWords, indices, status, SHMEM_CMP_EQ, any) == 1); break;  \
    }                                                                                                             \
    CHECK_EQ(w[kLive], value);                                                                                    \
  }
SHMEM_FOR_P2P_TYPES(DEFINE_WAITS)

static void wait_for(int way, uint64_t value) {
  if (way == kSignalWait) CHECK_EQ(shmem_signal_wait_until(&words[kLive], SHMEM_CMP_EQ, value), value);
  else if (way == kSignalFetch) POLL(shmem_signal_fetch(&words[kLive]) == value);
  else wait_for_uint64(way, words, value);
}

/// Long enough for a waiter on a busy machine to leave its spin phase. Being late costs coverage, never correctness.
static void let_others_fall_asleep(void) {
  const struct timespec pause = {0, 2000000};
  nanosleep(&pause, NULL);
}

static void test_matrix(void) {
  uint64_t value = 0;
  for (int i = 0; i < kWords; ++i) words[i] = 0;
  shmem_barrier_all();
  char name[96];
  for (int w = 0; w < kWaits; ++w)
    for (int u = 0; u < kUpdates; ++u) {
      // At many PEs each pair of neighbours in the tables stands for the whole row.
      if (npes > 8 && (w + u) % 3 != 0) continue;
      snprintf(name, sizeof name, "%s woken by %s", wait_names[w], update_names[u]);
      section(name);
      ++value;
      if (me == 0) {
        let_others_fall_asleep();
        update(u, &words[kLive], value, right);
      }
      wait_for(w, value);
      if (me != 0) update(u, &words[kLive], value, right);
    }
  shmem_barrier_all();
  for (int i = 0; i < kWords; ++i) CHECK_EQ(words[i], i == kLive ? value : 0);
}

// Each type once for every way of waiting, by p and put in turn.
#define DEFINE_RING(NAME, TYPE)                                       \
  static void ring_##NAME(void) {                                     \
    TYPE *w = (TYPE *)(void *)words, value = 0;                       \
    memset(words, 0, kWords * sizeof *words);                         \
    shmem_barrier_all();                                              \
    for (int way = 0; way < kSignalFetch; ++way) {                    \
      if (way == kSignalWait) continue;                               \
      section("waits of " #NAME);                                     \
      ++value;                                                        \
      if (me == 0) shmem_##NAME##_p(&w[kLive], value, right);         \
      wait_for_##NAME(way, w, value);                                 \
      if (me != 0) shmem_##NAME##_put(&w[kLive], &value, 1, right);   \
    }                                                                 \
    shmem_barrier_all();                                              \
  }
SHMEM_FOR_P2P_TYPES(DEFINE_RING)

/// What the updater ordered before its update is visible after the wait: the reason why one waits.
static void test_data_behind_the_word(void) {
  section("data ordered before the word");
  enum { kData = 64, kRounds = 200 };
  uint64_t *data = shmem_calloc(kData, sizeof *data), *flags = shmem_calloc(2, sizeof *flags);
  CHECK(data != NULL && flags != NULL);
  const int left = (me + npes - 1) % npes;
  for (uint64_t round = 1; round <= kRounds; ++round) {
    uint64_t block[kData];
    for (int i = 0; i < kData; ++i) block[i] = round * 1000 + (uint64_t)i;
    shmem_uint64_put(data, block, kData, right);
    shmem_fence();
    shmem_uint64_p(&flags[0], round, right);
    if (round % 2) shmem_uint64_wait_until(&flags[0], SHMEM_CMP_GE, round);
    else POLL(shmem_uint64_test(&flags[0], SHMEM_CMP_GE, round));
    CHECK_BYTES(data, block, sizeof block);
    shmem_uint64_atomic_set(&flags[1], round, left); // the block may be written again
    shmem_uint64_wait_until(&flags[1], SHMEM_CMP_GE, round);
  }
  shmem_free(flags);
  shmem_free(data);
}

/// One waits for all words of an array that others fill one by one, in any order.
static void test_gather(void) {
  section("wait_until_some gathers from all PEs");
  long *slots = shmem_calloc((size_t)npes, sizeof *slots);
  int *taken = calloc((size_t)npes, sizeof *taken);
  size_t *indices = malloc((size_t)npes * sizeof *indices);
  CHECK(slots != NULL && taken != NULL && indices != NULL);
  for (int k = 1; k <= 10; ++k) {
    memset(taken, 0, (size_t)npes * sizeof *taken);
    for (int i = 0; i < npes; ++i) shmem_long_p(&slots[me], k, (me + i + k) % npes);
    int left_over = npes;
    while (left_over > 0) {
      const size_t n = shmem_long_wait_until_some(slots, (size_t)npes, indices, taken, SHMEM_CMP_EQ, k);
      CHECK(n >= 1 && n <= (size_t)left_over);
      for (size_t i = 0; i < n; ++i) {
        CHECK_EQ(taken[indices[i]], 0);
        taken[indices[i]] = 1;
      }
      left_over -= (int)n;
    }
    shmem_barrier_all();
  }
  free(indices);
  free(taken);
  shmem_free(slots);
}

int main(void) {
  test_begin("wait_wakeups");
  right = (me + 1) % npes;
  words = shmem_calloc(kWords, sizeof *words);
  CHECK(words != NULL);
  CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
  test_matrix();
#define RUN_RING(NAME, TYPE) ring_##NAME();
  SHMEM_FOR_P2P_TYPES(RUN_RING)
  test_data_behind_the_word();
  test_gather();
  shmem_ctx_destroy(ctx);
  shmem_free(words);
  return test_end();
}

// SPDX-License-Identifier: Apache-2.0
// Chapter "Thread support": levels, and under SHMEM_THREAD_MULTIPLE several threads of each PE that put, get, add, wait and
// make contexts at the same time, while their PE meets the others in barriers.
#include "support.h"
#include <pthread.h>
#include <sched.h>

enum { kThreads = 4, kWords = 40 };

static int left, right, rounds;
static uint64_t *words;    // kThreads rows of kWords: row t of a PE is written by thread t of its left-hand neighbour
static uint64_t *flags;    // one for each thread, 64 bytes apart
static uint64_t *acks;     // likewise
static long *counter;      // on PE 0: everybody's
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meeting;

static void run_threads(void *(*body)(void *), const char *name) {
  section(name);
  shmem_barrier_all();
  pthread_t threads[kThreads];
  for (intptr_t t = 0; t < kThreads; ++t) CHECK_EQ(pthread_create(&threads[t], NULL, body, (void *)t), 0);
  for (int t = 0; t < kThreads; ++t) CHECK_EQ(pthread_join(threads[t], NULL), 0);
  shmem_barrier_all();
}

static void test_levels(void) {
  static const int levels[] = {SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE};
  CHECK(levels[0] < levels[1] && levels[1] < levels[2] && levels[2] < levels[3]);
  for (int i = 0; i < 4; ++i) {
    int provided = -1, queried = -2;
    CHECK_EQ(shmem_init_thread(levels[i], &provided), 0);
    CHECK(provided >= levels[i] && provided <= SHMEM_THREAD_MULTIPLE);
    shmem_query_thread(&queried);
    CHECK_EQ(queried, provided);
    // Once more while it runs: the level in force is told, and each start has its finalize.
    int again = -3;
    CHECK_EQ(shmem_init_thread(SHMEM_THREAD_SINGLE, &again), 0);
    CHECK_EQ(again, provided);
    shmem_finalize();
    CHECK(shmem_n_pes() >= 1);
    shmem_finalize();
  }
}

static void *row_of(intptr_t t) { return words + t * kWords; }

/// Puts with a fence and a flag, thread by thread; the flags are waited for in several ways.
static void *message_passing(void *argument) {
  const intptr_t t = (intptr_t)argument;
  uint64_t *row = row_of(t), block[kWords], *flag = flags + 8 * t, *ack = acks + 8 * t;
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
  if (t % 2) CHECK_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx), 0);
  for (uint64_t k = 1; k <= (uint64_t)rounds; ++k) {
    for (uint64_t i = 0; i < kWords; ++i) block[i] = k * 1000 + i + (uint64_t)t;
    shmem_ctx_uint64_put(ctx, row, block, kWords, right);
    shmem_ctx_fence(ctx);
    if (k % 2) shmem_ctx_uint64_p(ctx, flag, k, right);
    else shmem_ctx_uint64_atomic_set(ctx, flag, k, right);
    if (k % 3 == 0) while (!shmem_uint64_test(flag, SHMEM_CMP_GE, k)) sched_yield();
    else shmem_uint64_wait_until(flag, SHMEM_CMP_GE, k);
    CHECK_BYTES(row, block, sizeof block);
    shmem_signal_set(ack, k, left);
    CHECK(shmem_signal_wait_until(ack, SHMEM_CMP_GE, k) >= k);
  }
  if (t % 2) shmem_ctx_destroy(ctx);
  return NULL;
}

/// Sums come out exact from all threads of all PEs, over the default context and over their own.
static void *additions(void *argument) {
  const intptr_t t = (intptr_t)argument;
  shmem_ctx_t ctx;
  CHECK_EQ(shmem_ctx_create(t % 2 ? 0 : SHMEM_CTX_SERIALIZED, &ctx), 0);
  long fetched = 0;
  for (int i = 0; i < rounds; ++i) {
    shmem_long_atomic_inc(counter, 0);
    shmem_ctx_long_atomic_add(ctx, counter, 2, 0);
    (void)shmem_long_atomic_fetch_add(counter, 3, 0);
    shmem_ctx_long_atomic_fetch_inc_nbi(ctx, &fetched, counter, 0);
    if (i % 16 == 0) shmem_ctx_quiet(ctx), shmem_quiet();
  }
  shmem_ctx_destroy(ctx);
  shmem_quiet();
  return NULL;
}

/// Threads make and destroy contexts at the same time; no two ever hold the same one.
static void *context_churn(void *argument) {
  const intptr_t t = (intptr_t)argument;
  uint64_t *row = row_of(t);
  for (uint64_t i = 1; i <= (uint64_t)rounds; ++i) {
    shmem_ctx_t mine[3];
    for (int k = 0; k < 3; ++k) CHECK_EQ(shmem_ctx_create(k == 0 ? SHMEM_CTX_PRIVATE : 0, &mine[k]), 0);
    for (int k = 0; k < 3; ++k) shmem_ctx_uint64_put_nbi(mine[k], &row[k], &i, 1, right);
    for (int k = 0; k < 3; ++k) shmem_ctx_quiet(mine[k]);
    for (int k = 0; k < 3; ++k) CHECK_EQ(shmem_uint64_g(&row[k], right), i);
    for (int k = 0; k < 3; ++k) shmem_ctx_destroy(mine[k]);
  }
  return NULL;
}

/// A plain store by one thread wakes each wait of another thread of the same PE; nothing tells the library of it.
static void *own_store(void *argument) {
  const intptr_t t = (intptr_t)argument;
  for (uint64_t k = 1; k <= 40; ++k) {
    pthread_barrier_wait(&meeting);
    if (t == 0) {
      const struct timespec pause = {0, 1000000}; // lets the waiters fall asleep
      nanosleep(&pause, NULL);
      __atomic_store_n(flags, k, __ATOMIC_RELAXED); // a plain store to the machine, a legal race to sanitizers
    } else {
      size_t index;
      const uint64_t vector[1] = {k};
      switch ((k + (uint64_t)t) % 6) {
        case 0: shmem_uint64_wait_until(flags, SHMEM_CMP_EQ, k); break;
        case 1: CHECK_EQ(shmem_uint64_wait_until_any(flags, 1, NULL, SHMEM_CMP_GE, k), 0); break;
        case 2: CHECK_EQ(shmem_uint64_wait_until_some(flags, 1, &index, NULL, SHMEM_CMP_NE, k - 1), 1); break;
        case 3: shmem_uint64_wait_until_all_vector(flags, 1, NULL, SHMEM_CMP_EQ, vector); break;
        case 4: CHECK_EQ(shmem_signal_wait_until(flags, SHMEM_CMP_GT, k - 1), k); break;
        default: while (!shmem_uint64_test(flags, SHMEM_CMP_EQ, k)) sched_yield();
      }
    }
    pthread_barrier_wait(&meeting);
  }
  return NULL;
}

/// Three threads wait for the neighbour while the fourth goes through barriers and only then lets its neighbour's go:
/// a thread in a collective, or in a wait, keeps no other out.
static void *waits_and_barriers(void *argument) {
  const intptr_t t = (intptr_t)argument;
  for (uint64_t k = 1; k <= 10; ++k) {
    if (t == 0) {
      for (int i = 0; i < 5; ++i) shmem_barrier_all();
      for (int other = 1; other < kThreads; ++other) shmem_signal_set(flags + 8 * other, k, right);
      shmem_sync_all();
    } else {
      shmem_signal_wait_until(flags + 8 * t, SHMEM_CMP_GE, k);
    }
    pthread_barrier_wait(&meeting);
  }
  return NULL;
}

static void *serialized(void *argument) {
  const intptr_t t = (intptr_t)argument;
  uint64_t *row = row_of(t);
  for (uint64_t i = 1; i <= (uint64_t)rounds; ++i) {
    pthread_mutex_lock(&one_at_a_time);
    shmem_uint64_p(&row[1], i, right);
    shmem_long_atomic_inc(counter, 0);
    shmem_quiet();
    CHECK_EQ(shmem_uint64_g(&row[1], right), i);
    pthread_mutex_unlock(&one_at_a_time);
  }
  return NULL;
}

/// Random small operations on rows of one's own; a model says what must be there.
static void *mixed(void *argument) {
  const intptr_t t = (intptr_t)argument;
  uint64_t *row = row_of(t), model[kWords], got[kWords];
  memset(model, 0, sizeof model);
  shmem_uint64_put(row, model, kWords, right);
  shmem_quiet();
  for (int i = 0; i < 4 * rounds; ++i) {
    const uint64_t r = test_mix((uint64_t)i * 64 + (uint64_t)t + ((uint64_t)me << 32));
    const size_t at = r % kWords, n = (r >> 8) % (kWords - at) + 1;
    switch ((r >> 16) % 5) {
      case 0:
        for (size_t j = 0; j < n; ++j) model[at + j] = r + j;
        shmem_uint64_put(&row[at], &model[at], n, right);
        break;
      case 1:
        CHECK_EQ(shmem_uint64_atomic_fetch_add(&row[at], r, right), model[at]);
        model[at] += r;
        break;
      case 2: model[at] = r, shmem_uint64_p(&row[at], r, right); break;
      case 3: CHECK_EQ(shmem_uint64_atomic_swap(&row[at], r, right), model[at]), model[at] = r; break;
      default: shmem_uint64_get(&got[at], &row[at], n, right), CHECK_BYTES(&got[at], &model[at], n * sizeof *got);
    }
    shmem_quiet();
  }
  shmem_uint64_get_nbi(got, row, kWords, right);
  shmem_quiet();
  CHECK_BYTES(got, model, sizeof model);
  return NULL;
}

static void clear(void) {
  shmem_barrier_all();
  memset(flags, 0, kThreads * 64);
  memset(acks, 0, kThreads * 64);
  if (me == 0) *counter = 0;
  shmem_barrier_all();
}

int main(void) {
  test_set_deadline("threads");
  section("levels");
  test_levels();
  int provided = -1;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
  me = shmem_my_pe();
  npes = shmem_n_pes();
  right = (me + 1) % npes;
  left = (me + npes - 1) % npes;
  rounds = npes <= 2 ? 300 : npes <= 5 ? 60 : 15;
  words = shmem_calloc(kThreads * kWords, sizeof *words);
  flags = shmem_align(64, kThreads * 64);
  acks = shmem_align(64, kThreads * 64);
  counter = shmem_calloc(1, sizeof *counter);
  CHECK(words != NULL && flags != NULL && acks != NULL && counter != NULL);
  CHECK_EQ(pthread_barrier_init(&meeting, NULL, kThreads), 0);
  clear();
  run_threads(serialized, "threads, one at a time");
  CHECK_EQ(shmem_long_g(counter, 0), (long)npes * kThreads * rounds);
  clear();
  run_threads(message_passing, "threads pass messages");
  clear();
  run_threads(additions, "threads add");
  CHECK_EQ(shmem_long_g(counter, 0), 7L * npes * kThreads * rounds);
  run_threads(context_churn, "threads make contexts");
  clear();
  run_threads(own_store, "plain stores by a thread of the waiter's PE");
  clear();
  run_threads(waits_and_barriers, "waits beside barriers");
  run_threads(mixed, "threads with a model");
  pthread_barrier_destroy(&meeting);
  shmem_free(counter);
  shmem_free(acks);
  shmem_free(flags);
  shmem_free(words);
  return test_end();
}

// SPDX-License-Identifier: Apache-2.0
// Chapter "Distributed locking": mutual exclusion shown by data that only the lock protects, many locks, locks in the heap
// and in static data, test_lock, order of arrival, and a lock word that is zero again when nobody holds it.
#include "support.h"

enum { kLocks = 12, kWords = 8 };

static long static_lock;
static long static_locks[kLocks];
static long *heap_lock, *heap_locks;
static int repeats;

/// Only remote reads and writes, none of them atomic: any overlap of two holders loses an update.
static long count_under(long *lock, long *counter, int home) {
  shmem_set_lock(lock);
  const long value = shmem_long_g(counter, home);
  // Inside for a while: two that are inside at a time meet here, and not only by a rare chance.
  for (int look = 0; look < 30; ++look) CHECK_EQ(shmem_long_g(counter, home), value);
  shmem_long_p(counter, value + 1, home); // clear_lock completes it
  shmem_clear_lock(lock);
  return value + 1;
}

static void expect_free(const long *lock, const char *what) {
  section(what);
  shmem_barrier_all();
  for (int pe = 0; pe < npes; ++pe) CHECK_EQ(shmem_long_g(lock, pe), 0);
  shmem_barrier_all();
}

/// Goes on until the lock came from another PE fifty times, or for a fifth of a second: on a busy machine PEs may run one after
/// the other, and then any lock would do.
static void test_mutual_exclusion(long *lock, const char *what) {
  section(what);
  long *counter = shmem_calloc(2, sizeof *counter), *all = counter + 1;
  CHECK(counter != NULL);
  for (int home = 0; home < npes; home += 1 + npes / 3) {
    if (me == home) *counter = *all = 0;
    shmem_barrier_all();
    const double end = test_now() + 0.2;
    long last = 0, times = 0;
    for (int handovers = 0; times < 50 || (npes > 1 && handovers < 50 && test_now() < end); ++times) {
      const long now = count_under(lock, counter, home);
      handovers += now != last + 1;
      last = now;
    }
    shmem_long_atomic_add(all, times, home);
    shmem_barrier_all();
    CHECK_EQ(shmem_long_g(counter, home), shmem_long_g(all, home));
    shmem_barrier_all();
  }
  shmem_free(counter);
  expect_free(lock, what);
}

/// A record of several words is never seen half written, and what the last holder wrote is there for the next.
static void test_record(void) {
  section("a record under a lock");
  uint64_t *record = shmem_calloc(kWords, sizeof *record), local[kWords];
  CHECK(record != NULL);
  for (int i = 0; i < repeats; ++i) {
    shmem_set_lock(heap_lock);
    shmem_uint64_get(local, record, kWords, 0);
    const uint64_t count = local[0] + 1;
    for (int w = 0; w < kWords; ++w) CHECK_EQ(local[w], local[0] * (uint64_t)(w + 1));
    for (int w = 0; w < kWords; ++w) local[w] = count * (uint64_t)(w + 1);
    shmem_uint64_put_nbi(record, local, kWords, 0);
    shmem_clear_lock(heap_lock);
  }
  shmem_barrier_all();
  CHECK_EQ(shmem_uint64_g(&record[0], 0), (uint64_t)npes * (uint64_t)repeats);
  shmem_free(record);
}

static void test_many_locks(long *locks, const char *what) {
  section(what);
  long *counters = shmem_calloc(kLocks, sizeof *counters), *given = shmem_calloc(kLocks, sizeof *given);
  CHECK(counters != NULL && given != NULL);
  for (int i = 0; i < repeats * 2; ++i) {
    const int k = (int)(test_mix((uint64_t)i * 97 + (uint64_t)me) % kLocks);
    count_under(&locks[k], &counters[k], k % npes);
    shmem_long_atomic_inc(&given[k], k % npes);
  }
  shmem_barrier_all();
  for (int k = 0; k < kLocks; ++k) CHECK_EQ(shmem_long_g(&counters[k], k % npes), shmem_long_g(&given[k], k % npes));
  shmem_barrier_all();
  // Two at a time, always the lower one first.
  for (int i = 0; i < repeats; ++i) {
    const int a = (int)(test_mix((uint64_t)i * 31 + (uint64_t)me) % (kLocks - 1));
    const int b = a + 1 + (int)(test_mix((uint64_t)i * 37 + (uint64_t)me) % (uint64_t)(kLocks - 1 - a));
    shmem_set_lock(&locks[a]);
    shmem_set_lock(&locks[b]);
    const long from = shmem_long_g(&counters[a], 0), to = shmem_long_g(&counters[b], 0);
    shmem_long_p(&counters[a], from - 1, 0);
    shmem_long_p(&counters[b], to + 1, 0);
    shmem_clear_lock(&locks[a]);
    shmem_clear_lock(&locks[b]);
  }
  shmem_barrier_all();
  if (me == 0) { // moves between counters keep their sum
    long sum = 0, wanted = 0;
    for (int k = 0; k < kLocks; ++k) {
      sum += counters[k];
      if (k % npes == 0) wanted += given[k];
    }
    CHECK_EQ(sum, wanted);
  }
  shmem_barrier_all();
  shmem_free(given);
  shmem_free(counters);
  for (int k = 0; k < kLocks; ++k) expect_free(&locks[k], what);
}

static void test_test_lock(long *lock, const char *what) {
  section(what);
  for (int holder = 0; holder < npes; holder += 1 + npes / 4) {
    if (me == holder) CHECK_EQ(shmem_test_lock(lock), 0);
    shmem_barrier_all();
    if (me != holder)
      for (int i = 0; i < 5; ++i) CHECK(shmem_test_lock(lock) != 0);
    shmem_barrier_all();
    if (me == holder) shmem_clear_lock(lock);
    shmem_barrier_all();
  }
  // As a lock: by trying until it is got. Mixed with set_lock by the odd PEs.
  long *counter = shmem_calloc(1, sizeof *counter);
  CHECK(counter != NULL);
  const int times = npes > 4 ? 10 : 50;
  for (int i = 0; i < times; ++i) {
    if (me % 2 == 0) {
      while (shmem_test_lock(lock) != 0) usleep(50); // polite with more PEs than cores
      const long value = shmem_long_g(counter, 0);
      shmem_long_p(counter, value + 1, 0);
      shmem_clear_lock(lock);
    } else {
      count_under(lock, counter, 0);
    }
  }
  shmem_barrier_all();
  CHECK_EQ(shmem_long_g(counter, 0), (long)npes * times);
  shmem_free(counter);
  expect_free(lock, what);
}

/// Who waits longest is served first: a PE that lets go and asks again comes after all that wait already.
/// A waiter that the machine kept from asking in time spoils an attempt, so one good attempt of many is wanted; a lock that
/// the last holder can grab again at once gives none.
static void test_order_of_arrival(void) {
  section("order of arrival");
  long *served = shmem_calloc(1, sizeof *served), *asking = shmem_calloc(1, sizeof *asking);
  int *fair = shmem_calloc(1, sizeof *fair);
  CHECK(served != NULL && asking != NULL && fair != NULL);
  for (int attempt = 0; attempt < 20 && *fair == 0; ++attempt) {
    if (me == 0) {
      *served = *asking = 0;
      shmem_set_lock(heap_lock);
    }
    shmem_barrier_all();
    if (me == 0) {
      shmem_long_wait_until(asking, SHMEM_CMP_EQ, npes - 1);
      usleep(5000);
      shmem_clear_lock(heap_lock);
      shmem_set_lock(heap_lock);
      const long before = shmem_long_atomic_fetch(served, 0);
      shmem_clear_lock(heap_lock);
      if (before == npes - 1)
        for (int pe = 0; pe < npes; ++pe) shmem_int_p(fair, 1, pe);
    } else {
      shmem_long_atomic_inc(asking, 0);
      shmem_set_lock(heap_lock);
      shmem_long_atomic_inc(served, 0);
      shmem_clear_lock(heap_lock);
    }
    shmem_barrier_all();
  }
  CHECK_EQ(*fair, 1);
  shmem_barrier_all();
  shmem_free(fair);
  shmem_free(asking);
  shmem_free(served);
}

int main(void) {
  test_begin("locks");
  repeats = npes <= 4 ? 200 : 40;
  heap_lock = shmem_calloc(1, sizeof *heap_lock);
  heap_locks = shmem_calloc(kLocks, sizeof *heap_locks);
  CHECK(heap_lock != NULL && heap_locks != NULL);
  test_mutual_exclusion(heap_lock, "a lock on the heap");
  test_mutual_exclusion(&static_lock, "a static lock");
  test_record();
  test_many_locks(heap_locks, "many locks on the heap");
  test_many_locks(static_locks, "many static locks");
  test_test_lock(heap_lock, "test_lock on the heap");
  test_test_lock(&static_lock, "test_lock on static data");
  test_order_of_arrival();
  shmem_free(heap_locks);
  shmem_free(heap_lock);
  return test_end();
}

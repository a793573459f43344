// SPDX-License-Identifier: Apache-2.0
// Extensions of shmemx.h: atomic adds of float and double, counting semaphores, two PEs that meet, batches of blocks.
// (float16 and bfloat16 reductions stand with the reductions, further heaps in extensions_heaps.c.)
#include "support.h"
#include <shmemx.h>

static int left, right;
static shmem_ctx_t ctx;

// Small integers are exact in float: the sum of all adds is known to the bit.
#define DEFINE_ADD(NAME, TYPE)                                                                        \
  static void add_##NAME(void) {                                                                      \
    section("atomic_add of " #NAME);                                                                  \
    TYPE *row = shmem_calloc(3, sizeof *row), *word = row + 1;                                        \
    CHECK(row != NULL);                                                                               \
    row[0] = row[2] = (TYPE)-1.5;                                                                     \
    shmem_barrier_all();                                                                              \
    shmemx_##NAME##_atomic_add(word, (TYPE)1.25, right);                                              \
    shmem_quiet();                                                                                    \
    CHECK_EQ(shmem_##NAME##_atomic_fetch(word, right), 1.25);                                         \
    shmemx_ctx_##NAME##_atomic_add(ctx, word, (TYPE)-2, right);                                       \
    shmem_ctx_quiet(ctx);                                                                             \
    CHECK_EQ(shmemx_##NAME##_atomic_fetch_add(word, (TYPE)0.5, right), -0.75);                        \
    CHECK_EQ(shmemx_ctx_##NAME##_atomic_fetch_add(ctx, word, (TYPE)0.25, right), -0.25);              \
    CHECK_EQ(shmem_##NAME##_g(word, right), 0);                                                       \
    shmem_barrier_all();                                                                              \
    const int times = npes > 4 ? 50 : 300;                                                            \
    for (int i = 0; i < times; ++i) {                                                                 \
      shmemx_##NAME##_atomic_add(word, 3, 0);                                                         \
      shmemx_ctx_##NAME##_atomic_add(ctx, word, -1, 0);                                               \
      (void)shmemx_##NAME##_atomic_fetch_add(word, (TYPE)0.5, 0);                                     \
    }                                                                                                 \
    shmem_ctx_quiet(ctx);                                                                             \
    shmem_barrier_all();                                                                              \
    CHECK_EQ(shmem_##NAME##_atomic_fetch(word, 0), 2.5 * npes * times);                               \
    CHECK_EQ(row[0], -1.5);                                                                           \
    CHECK_EQ(row[2], -1.5);                                                                           \
    shmem_free(row);                                                                                  \
  }
SHMEMX_FOR_ATOMIC_ADD_TYPES(DEFINE_ADD)

static shmemx_sem_t static_semaphore; // zero-initialised: count 0

static void test_semaphore_alone(shmemx_sem_t *sem, const char *name) {
  section(name);
  CHECK_EQ(shmemx_sem_value(sem, me), 0);
  CHECK(shmemx_sem_trywait(sem, right) != 0);
  shmem_barrier_all();
  shmemx_sem_set(sem, 2, right);
  shmem_quiet();
  CHECK_EQ(shmemx_sem_value(sem, right), 2);
  CHECK_EQ(shmemx_sem_trywait(sem, right), 0);
  shmemx_sem_wait(sem, right);
  CHECK_EQ(shmemx_sem_value(sem, right), 0);
  CHECK(shmemx_sem_trywait(sem, right) != 0);
  shmemx_sem_post(sem, right);
  shmemx_sem_post(sem, right);
  shmem_quiet();
  CHECK_EQ(shmemx_sem_value(sem, right), 2);
  shmemx_sem_wait(sem, right);
  shmemx_sem_wait(sem, right);
  CHECK_EQ(shmemx_sem_value(sem, right), 0);
  shmem_barrier_all();
}

/// At most `kPlaces` PEs are inside at a time; each gets in as often as it wants.
static void test_semaphore_limits(shmemx_sem_t *sem) {
  section("a semaphore limits how many are inside");
  enum { kPlaces = 2 };
  const int home = npes - 1, times = npes > 4 ? 15 : 60;
  int *inside = shmem_calloc(2, sizeof *inside);
  CHECK(inside != NULL);
  if (me == home) shmemx_sem_set(sem, kPlaces, home);
  shmem_barrier_all();
  for (int i = 0; i < times; ++i) {
    if (i % 4 == 3) while (shmemx_sem_trywait(sem, home) != 0) usleep(20);
    else shmemx_sem_wait(sem, home);
    const int others = shmem_int_atomic_fetch_inc(&inside[0], home);
    CHECK(others >= 0 && others < kPlaces);
    shmem_int_atomic_inc(&inside[1], home);
    shmem_int_atomic_add(&inside[0], -1, home);
    shmemx_sem_post(sem, home);
  }
  shmem_barrier_all();
  CHECK_EQ(shmem_int_g(&inside[1], home), npes * times);
  CHECK_EQ(shmemx_sem_value(sem, home), kPlaces);
  shmem_barrier_all();
  if (me == home) shmemx_sem_set(sem, 0, home);
  shmem_barrier_all();
  shmem_free(inside);
}

/// One token goes round, slowly enough that the waiters sleep: a waiter that wakes takes it once, and passes it on.
static void test_semaphore_token(void) {
  section("a token round a ring of sleeping waiters");
  const int rounds = npes > 4 ? 40 : 200;
  for (int k = 0; k < rounds; ++k) {
    if (me == 0) {
      usleep((useconds_t)(200 + k % 150));
      shmemx_sem_post(&static_semaphore, right);
    }
    shmemx_sem_wait(&static_semaphore, me);
    if (me != 0) shmemx_sem_post(&static_semaphore, right);
  }
  shmem_barrier_all();
  CHECK_EQ(shmemx_sem_value(&static_semaphore, me), 0);
  shmem_barrier_all();
}

/// Producer and consumer with a bounded buffer round the ring; what was put before the post is there after the wait.
static void test_bounded_buffer(void) {
  section("bounded buffer by two semaphores");
  enum { kSlots = 3, kItems = 200 };
  shmemx_sem_t *full = shmem_calloc(2, sizeof *full), *empty = full + 1;
  long *slots = shmem_calloc(kSlots, sizeof *slots);
  CHECK(full != NULL && slots != NULL);
  shmemx_sem_set(empty, kSlots, me);
  shmem_barrier_all();
  int sent = 0, received = 0;
  while (sent < kItems || received < kItems) {
    int moved = 0;
    if (sent < kItems && shmemx_sem_trywait(empty, right) == 0) {
      shmem_long_p(&slots[sent % kSlots], sent * 10L + me, right);
      shmemx_sem_post(full, right);
      ++sent, moved = 1;
    }
    // With all sent, there is nothing to do but wait.
    if (received < kItems && (sent == kItems ? (shmemx_sem_wait(full, me), 1) : shmemx_sem_trywait(full, me) == 0)) {
      CHECK_EQ(slots[received % kSlots], received * 10L + left);
      ++received, moved = 1;
      shmemx_sem_post(empty, me);
    }
    if (!moved) usleep(10);
  }
  shmem_barrier_all();
  shmem_free(slots);
  shmem_free(full);
}

/// After PE a met PE b, each sees what the other completed before.
static void test_meeting(void) {
  section("two PEs meet");
  long *row = shmem_calloc((size_t)npes, sizeof *row);
  CHECK(row != NULL);
  shmemx_sync_pe(me);
  const int rounds = npes > 4 ? 6 : 60;
  for (long k = 1; k <= rounds; ++k) {
    // A tournament: in each turn the PEs pair up by exclusive or, so that no pair waits for a third.
    for (int mask = 1; mask < 16; ++mask) {
      const int partner = me ^ mask;
      if (partner >= npes) continue;
      shmem_long_p(&row[me], k * 100 + mask, partner);
      shmem_quiet();
      shmemx_sync_pe(partner);
      CHECK_EQ(row[partner], k * 100 + mask);
      shmemx_sync_pe(partner); // both have looked
    }
  }
  // A pair may meet as often as it likes while the others do something else.
  if (me < 2 && npes > 1)
    for (int i = 0; i < 500; ++i) shmemx_sync_pe(1 - me);
  shmem_barrier_all();
  shmem_free(row);
}

static void test_batches(void) {
  section("batches");
  enum { kBlocks = 40, kBytes = 4000 };
  unsigned char *room = shmem_malloc(2 * kBytes), model[2 * kBytes], source[kBytes], got[2 * kBytes];
  CHECK(room != NULL);
  shmemx_block_t blocks[2][kBlocks];
  for (int round = 0; round < 10; ++round) {
    memset(room, 7, 2 * kBytes);
    memset(model, 7, 2 * kBytes);
    for (int i = 0; i < kBytes; ++i) source[i] = (unsigned char)(i * 3 + round);
    // Blocks of random sizes, zero among them, one after the other with gaps: none overlaps another.
    size_t at = 0;
    int count[2] = {0, 0};
    for (int form = 0; form < 2; ++form) {
      at = (size_t)form * kBytes;
      while (count[form] < kBlocks) {
        const size_t n = (size_t)test_random_in(0, 150), from = (size_t)test_random_in(0, kBytes - 150);
        at += (size_t)test_random_in(0, 30);
        if (at + n > (size_t)(form + 1) * kBytes) break;
        blocks[form][count[form]++] = (shmemx_block_t){n == 0 ? NULL : room + at, n == 0 ? NULL : source + from, n};
        memcpy(model + at, source + from, n);
        at += n;
      }
    }
    shmem_barrier_all();
    shmemx_putmem_batch(blocks[0], (size_t)count[0], right);
    shmemx_ctx_putmem_batch(ctx, blocks[1], (size_t)count[1], right);
    memset(source, 0, sizeof source); // the sources may be reused
    shmem_ctx_quiet(ctx);
    shmemx_putmem_batch(NULL, 0, right);
    shmemx_getmem_batch(NULL, 0, right);
    shmem_barrier_all();
    CHECK_BYTES(room, model, sizeof model);
    // The same blocks back: source and destination change sides.
    memset(got, 7, sizeof got);
    for (int form = 0; form < 2; ++form) {
      for (int b = 0; b < count[form]; ++b) {
        shmemx_block_t *block = &blocks[form][b];
        if (block->nbytes == 0) continue;
        block->source = block->dest;
        block->dest = got + ((const unsigned char *)block->source - room);
      }
      if (form == 0) shmemx_getmem_batch(blocks[form], (size_t)count[form], right);
      else shmemx_ctx_getmem_batch(ctx, blocks[form], (size_t)count[form], right);
    }
    CHECK_BYTES(got, model, sizeof model);
    shmem_barrier_all();
  }
  shmem_free(room);
}

int main(void) {
  test_begin("extensions");
  test_seed();
  right = (me + 1) % npes;
  left = (me + npes - 1) % npes;
  CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
#define RUN_ADD(NAME, TYPE) add_##NAME();
  SHMEMX_FOR_ATOMIC_ADD_TYPES(RUN_ADD)
  shmemx_sem_t *sem = shmem_calloc(1, sizeof *sem);
  CHECK(sem != NULL);
  test_semaphore_alone(sem, "semaphore on the heap");
  test_semaphore_alone(&static_semaphore, "static semaphore");
  test_semaphore_limits(sem);
  test_semaphore_limits(&static_semaphore);
  test_semaphore_token();
  test_bounded_buffer();
  test_meeting();
  test_batches();
  shmem_free(sem);
  shmem_ctx_destroy(ctx);
  return test_end();
}

// SPDX-License-Identifier: Apache-2.0
// Chapter "Memory ordering": litmus programs for fence, quiet and pe_quiet. A weak outcome need not show on each run, so each
// program runs thousands of times; none of the forbidden outcomes may show once.
#include "support.h"

static int left, right;
static shmem_ctx_t ctx;
static int iterations;

/// Step number `k` starts at about the same time on both partners.
static void meet(uint64_t *mine, uint64_t k, int partner) {
  shmem_uint64_atomic_set(mine, k, partner);
  shmem_uint64_wait_until(mine, SHMEM_CMP_GE, k);
}

/// Store buffering. A: x = 1; quiet; read y.  B: y = 1; quiet; read x.  Not both may read 0.
/// `where` chooses the homes: 0 each on its writer, 1 each on its reader, 2 both on A.
static void test_store_buffering(int where) {
  static const char *const names[] = {"store buffering, words at their writers", "store buffering, words at their readers",
                                      "store buffering, both words at one PE"};
  section(names[where]);
  const int first = me & ~1, partner = me ^ 1, side = me & 1;
  const size_t count = (size_t)iterations;
  uint64_t *words = shmem_calloc(2 * count, sizeof *words), *step = shmem_calloc(1, sizeof *step);
  unsigned char *seen = shmem_calloc(count, 1), *theirs = malloc(count);
  CHECK(words != NULL && step != NULL && seen != NULL && theirs != NULL);
  const int paired = partner < npes;
  for (size_t k = 0; paired && k < count; ++k) {
    uint64_t *write = &words[2 * k + (size_t)side], *read = &words[2 * k + (size_t)!side];
    const int write_home = where == 0 ? me : where == 1 ? partner : first;
    const int read_home = where == 0 ? partner : where == 1 ? me : first;
    if (k % 16 == 0) meet(step, k / 16 + 1, partner);
    uint64_t value;
    switch (k % 4) {
      case 0:
        shmem_uint64_p(write, 1, write_home);
        shmem_quiet();
        value = shmem_uint64_g(read, read_home);
        break;
      case 1: {
        const uint64_t one = 1;
        shmem_uint64_put(write, &one, 1, write_home);
        shmem_pe_quiet(&write_home, 1);
        shmem_uint64_get(&value, read, 1, read_home);
        break;
      }
      case 2:
        shmem_ctx_uint64_p(ctx, write, 1, write_home);
        shmem_ctx_quiet(ctx);
        value = shmem_uint64_g(read, read_home);
        break;
      default:
        shmem_uint64_atomic_set(write, 1, write_home);
        shmem_quiet();
        value = shmem_uint64_atomic_fetch(read, read_home);
    }
    seen[k] = (unsigned char)value;
  }
  shmem_barrier_all();
  if (paired) {
    shmem_getmem(theirs, seen, count, partner);
    for (size_t k = 0; k < count; ++k) CHECK(seen[k] != 0 || theirs[k] != 0);
  }
  shmem_barrier_all();
  free(theirs);
  shmem_free(seen);
  shmem_free(step);
  shmem_free(words);
}

/// Message passing: data, fence, flag. Who sees the flag sees the data. The reader looks in several ways.
static void test_message_passing(void) {
  section("message passing with fence");
  enum { kData = 24 };
  uint64_t *data = shmem_calloc(kData, sizeof *data), *flag = shmem_calloc(1, sizeof *flag);
  uint64_t *free_again = shmem_calloc(1, sizeof *free_again), block[kData], nbi_block[kData];
  CHECK(data != NULL && flag != NULL && free_again != NULL);
  for (uint64_t k = 1; k <= (uint64_t)iterations; ++k) {
    for (int i = 0; i < kData; ++i) block[i] = nbi_block[i] = k * 100 + (uint64_t)i;
    switch (k % 9) {
      case 0:
        shmem_uint64_put(data, block, kData, right);
        shmem_fence();
        shmem_uint64_p(flag, k, right);
        break;
      case 1:
        for (int i = kData - 1; i >= 0; --i) shmem_uint64_p(&data[i], block[i], right);
        shmem_fence();
        shmem_uint64_put(flag, &k, 1, right);
        break;
      case 2:
        shmem_uint64_put_nbi(data, nbi_block, kData, right);
        shmem_fence();
        shmem_uint64_atomic_set(flag, k, right);
        shmem_quiet();
        break;
      case 3:
        shmem_ctx_uint64_iput(ctx, data, block, 1, 1, kData, right);
        shmem_ctx_fence(ctx);
        shmem_ctx_uint64_atomic_inc(ctx, flag, right);
        break;
      case 4:
        shmem_ctx_putmem(ctx, data, block, sizeof block, right);
        shmem_ctx_quiet(ctx);
        shmem_uint64_p(flag, k, right);
        break;
      case 5:
        for (int i = 0; i < kData; ++i) shmem_uint64_atomic_set(&data[i], block[i], right);
        shmem_fence();
        shmem_uint64_atomic_add(flag, 1, right);
        break;
      case 6:
        shmem_uint64_put(data, block, kData, right);
        shmem_fence();
        CHECK_EQ(shmem_uint64_atomic_fetch_add(flag, 1, right), k - 1);
        break;
      case 7:
        shmem_uint64_put_nbi(data, nbi_block, kData, right);
        shmem_fence();
        CHECK_EQ(shmem_uint64_atomic_compare_swap(flag, k - 1, k, right), k - 1);
        shmem_quiet();
        break;
      default:
        shmem_ctx_uint64_put(ctx, data, block, kData, right);
        shmem_ctx_fence(ctx);
        CHECK_EQ(shmem_ctx_uint64_atomic_swap(ctx, flag, k, right), k - 1);
    }
    if (k % 3 == 0) shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, k);
    else if (k % 3 == 1) while (!shmem_uint64_test(flag, SHMEM_CMP_EQ, k)) usleep(0);
    else while (shmem_uint64_atomic_fetch(flag, me) != k) usleep(0);
    CHECK_BYTES(data, block, sizeof block);
    shmem_uint64_atomic_set(free_again, k, left);
    shmem_uint64_wait_until(free_again, SHMEM_CMP_GE, k);
  }
  shmem_free(free_again);
  shmem_free(flag);
  shmem_free(data);
}

/// A chain of three: A puts into B and completes; then a flag to C; C reads the data from B. Quiet, pe_quiet, ctx forms.
static void test_completion_seen_by_a_third(void) {
  section("completion seen by a third PE");
  enum { kData = 300 };
  const int third = (me + 2) % npes, first = (me + npes - 2) % npes; // I write to `right` and tell `third`
  uint32_t *data = shmem_calloc(kData, sizeof *data), block[kData], got[kData];
  uint64_t *flag = shmem_calloc(1, sizeof *flag), *done = shmem_calloc(1, sizeof *done);
  CHECK(data != NULL && flag != NULL && done != NULL);
  for (uint64_t k = 1; k <= (uint64_t)iterations / 4; ++k) {
    for (int i = 0; i < kData; ++i) block[i] = (uint32_t)(k * 1000 + (uint64_t)i);
    const int targets[2] = {right, me};
    switch (k % 4) {
      case 0: shmem_uint32_put_nbi(data, block, kData, right), shmem_quiet(); break;
      case 1: shmem_uint32_put(data, block, kData, right), shmem_pe_quiet(targets, 2); break;
      case 2: shmem_ctx_uint32_put_nbi(ctx, data, block, kData, right), shmem_ctx_quiet(ctx); break;
      default: shmem_ctx_uint32_put_nbi(ctx, data, block, kData, right), shmem_ctx_pe_quiet(ctx, targets, 1);
    }
    shmem_uint64_p(flag, k, third);
    shmem_uint64_wait_until(flag, SHMEM_CMP_GE, k);
    shmem_uint32_get(got, data, kData, (first + 1) % npes);
    CHECK_BYTES(got, block, sizeof block);
    shmem_uint64_atomic_set(done, k, first);
    shmem_uint64_wait_until(done, SHMEM_CMP_GE, k);
  }
  shmem_free(done);
  shmem_free(flag);
  shmem_free(data);
}

/// Cause and effect: A's word reaches B, B passes the news on to C, C looks at B's word.
static void test_causality(void) {
  section("causality over three PEs");
  uint64_t *x = shmem_calloc(1, sizeof *x), *y = shmem_calloc(1, sizeof *y);
  CHECK(x != NULL && y != NULL);
  const uint64_t rounds = (uint64_t)(npes > 4 ? 50 : 500);
  for (uint64_t k = 1; k <= rounds; ++k) {
    const int a = (int)(k % (uint64_t)npes), b = (a + 1) % npes, c = (a + 2) % npes;
    if (me == a) shmem_uint64_p(x, k, b);
    if (me == b) {
      shmem_uint64_wait_until(x, SHMEM_CMP_EQ, k);
      shmem_fence();
      shmem_uint64_p(y, k, c);
    }
    if (me == c) {
      shmem_uint64_wait_until(y, SHMEM_CMP_EQ, k);
      CHECK_EQ(shmem_uint64_g(x, b), k);
    }
    if (k % 8 == 0 || npes < 3) shmem_barrier_all();
    else shmem_sync_all();
  }
  shmem_barrier_all();
  shmem_free(y);
  shmem_free(x);
}

/// Fence and quiet cover the PE's plain stores to its own symmetric memory, too.
static void test_local_stores(void) {
  section("plain stores before fence and quiet");
  uint64_t *data = shmem_calloc(8, sizeof *data), *flag = shmem_calloc(2, sizeof *flag), got[8];
  CHECK(data != NULL && flag != NULL);
  for (uint64_t k = 1; k <= (uint64_t)iterations / 2; ++k) {
    for (uint64_t i = 0; i < 8; ++i) data[i] = k + i;
    if (k % 2) shmem_fence();
    else shmem_quiet();
    shmem_uint64_p(&flag[0], k, right);
    shmem_uint64_wait_until(&flag[0], SHMEM_CMP_GE, k);
    shmem_uint64_get(got, data, 8, left);
    for (uint64_t i = 0; i < 8; ++i) CHECK_EQ(got[i], k + i);
    shmem_uint64_atomic_set(&flag[1], k, left);
    shmem_uint64_wait_until(&flag[1], SHMEM_CMP_GE, k);
  }
  shmem_free(flag);
  shmem_free(data);
}

/// The barrier completes what the default context has pending.
static void test_barrier_completes(void) {
  section("barrier completes pending operations");
  long *row = shmem_calloc((size_t)npes, sizeof *row), *counter = shmem_calloc(1, sizeof *counter);
  CHECK(row != NULL && counter != NULL);
  for (long k = 1; k <= 30; ++k) {
    for (int pe = 0; pe < npes; ++pe) {
      shmem_long_put_nbi(&row[me], &k, 1, pe);
      shmem_long_atomic_inc(counter, pe);
    }
    shmem_barrier_all();
    for (int pe = 0; pe < npes; ++pe) CHECK_EQ(row[pe], k);
    CHECK_EQ(*counter, k * npes);
    shmem_barrier_all();
  }
  shmem_free(counter);
  shmem_free(row);
}

/// Calls that have nothing to do are allowed: no operation pending, an empty list, the invalid context.
/// Who allocates meets all others as in a barrier: what was put before is there.
static void test_allocation_completes(void) {
  section("allocation completes puts");
  uint64_t *word = shmem_calloc(3, sizeof *word);
  CHECK(word != NULL);
  for (uint64_t k = 1; k <= (uint64_t)iterations / 10; ++k) {
    void *objects[3];
    shmem_uint64_p(&word[0], k, right);
    objects[0] = shmem_malloc(64);
    CHECK_EQ(word[0], k);
    shmem_uint64_put_nbi(&word[1], &k, 1, right);
    objects[1] = shmem_calloc(8, 8);
    CHECK_EQ(word[1], k);
    shmem_uint64_atomic_set(&word[2], k, right);
    objects[2] = shmem_align(128, 64);
    CHECK_EQ(word[2], k);
    for (int i = 0; i < 3; ++i) shmem_free(objects[i]);
  }
  shmem_free(word);
}

static void test_nothing_to_do(void) {
  section("fence, quiet and pe_quiet with nothing to do");
  shmem_fence();
  shmem_quiet();
  shmem_ctx_fence(ctx);
  shmem_ctx_quiet(ctx);
  shmem_ctx_fence(SHMEM_CTX_DEFAULT);
  shmem_ctx_quiet(SHMEM_CTX_DEFAULT);
  shmem_ctx_fence(SHMEM_CTX_INVALID);
  shmem_ctx_quiet(SHMEM_CTX_INVALID);
  shmem_pe_quiet(NULL, 0);
  shmem_ctx_pe_quiet(ctx, NULL, 0);
  shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, &me, 1);
  int *everyone = malloc((size_t)npes * sizeof *everyone);
  CHECK(everyone != NULL);
  for (int pe = 0; pe < npes; ++pe) everyone[pe] = npes - 1 - pe;
  shmem_pe_quiet(everyone, (size_t)npes);
  shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, everyone, (size_t)npes);
  free(everyone);
}

int main(void) {
  test_begin("ordering");
  right = (me + 1) % npes;
  left = (me + npes - 1) % npes;
  iterations = npes <= 2 ? 6000 : npes <= 4 ? 2000 : 400;
  if (getenv("SHOAL_CHAOS") != NULL) iterations = 150; // each waits for what comes milliseconds late
  CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
  test_nothing_to_do();
  for (int where = 0; where < 3; ++where) test_store_buffering(where);
  test_message_passing();
  test_completion_seen_by_a_third();
  test_causality();
  test_local_stores();
  test_barrier_completes();
  test_allocation_completes();
  shmem_ctx_destroy(ctx);
  return test_end();
}

// SPDX-License-Identifier: Apache-2.0
// Chapter "Memory management": the symmetric heap. Runs with a small one (16 MiB), so that it can be used up.
#include "support.h"

enum { kMega = 1 << 20 };

static int left, right;
static char *base;           // the first object of all: offsets count from it
static uint64_t *everyones;  // npes words, for comparing a value over all PEs

/// All PEs must hold the same value.
static void same_everywhere(uint64_t value, const char *what) {
  section(what);
  for (int pe = 0; pe < npes; ++pe) shmem_uint64_p(&everyones[me], value, pe);
  shmem_barrier_all();
  for (int pe = 0; pe < npes; ++pe) CHECK_EQ(everyones[pe], value);
  shmem_barrier_all();
}

static uint64_t offset_of(const void *p) { return p == NULL ? UINT64_MAX : (uint64_t)((const char *)p - base); }

static void test_zero_and_null(void) {
  section("zero sizes and NULL");
  CHECK(shmem_malloc(0) == NULL);
  CHECK(shmem_calloc(0, 8) == NULL);
  CHECK(shmem_calloc(8, 0) == NULL);
  CHECK(shmem_align(64, 0) == NULL);
  CHECK(shmem_malloc_with_hints(0, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL);
  shmem_free(NULL);
  void *p = shmem_realloc(NULL, 100);
  CHECK(p != NULL);
  CHECK(shmem_realloc(p, 0) == NULL); // freed
  CHECK(shmem_realloc(NULL, 0) == NULL);
}

static void test_alignment(void) {
  section("alignment");
  for (size_t size = 1; size < 40; ++size) {
    void *p = shmem_malloc(size);
    CHECK(p != NULL && (uintptr_t)p % 16 == 0);
    shmem_free(p);
  }
  for (size_t alignment = sizeof(void *); alignment <= 65536; alignment *= 2) {
    void *odd = shmem_malloc(24), *p = shmem_align(alignment, 100);
    CHECK(p != NULL && odd != NULL);
    CHECK_EQ((uintptr_t)p % alignment, 0);
    same_everywhere(offset_of(p), "offsets of aligned objects");
    memset(p, 1, 100);
    shmem_free(p);
    shmem_free(odd);
  }
  section("alignments that are none");
  static const size_t wrong[] = {0, 1, 2, 3, 4, 12, 24, 100, 65535};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    if (wrong[i] != 0 && (wrong[i] & (wrong[i] - 1)) == 0) continue; // powers of two under sizeof(void *): left open
    CHECK(shmem_align(wrong[i], 64) == NULL);
  }
}

static void test_calloc(void) {
  section("calloc gives zeroed memory, again and again");
  for (int k = 0; k < 5; ++k) {
    unsigned char *p = shmem_malloc(100000);
    CHECK(p != NULL);
    memset(p, 0xff, 100000);
    shmem_free(p);
    p = shmem_calloc(1000, 100);
    CHECK(p != NULL);
    for (int i = 0; i < 100000; ++i) CHECK(p[i] == 0);
    shmem_free(p);
  }
  CHECK(shmem_calloc(SIZE_MAX / 2, 3) == NULL);
  CHECK(shmem_calloc((size_t)1 << 33, (size_t)1 << 33) == NULL); // the product is 0 modulo 2^64
}

static void test_realloc(void) {
  section("realloc keeps contents");
  unsigned char *p = NULL;
  size_t filled = 0;
  for (int k = 0; k < 60; ++k) {
    const size_t size = (size_t)test_random_in(1, 60000);
    unsigned char *blocker = k % 4 == 0 ? shmem_malloc(64) : NULL; // makes it move at times
    unsigned char *q = shmem_realloc(p, size);
    CHECK(q != NULL);
    for (size_t i = 0; i < (filled < size ? filled : size); ++i) CHECK(q[i] == (unsigned char)(i * 31 + (size_t)me));
    for (size_t i = 0; i < size; ++i) q[i] = (unsigned char)(i * 31 + (size_t)me);
    same_everywhere(offset_of(q), "offsets after realloc");
    section("realloc keeps contents");
    // The new object is symmetric: the neighbour finds it.
    CHECK_EQ(shmem_uchar_g(q, right), (unsigned char)right);
    shmem_free(blocker);
    p = q;
    filled = size;
  }
  section("realloc that fails leaves the object");
  CHECK(shmem_realloc(p, (size_t)1 << 40) == NULL);
  CHECK(shmem_realloc(p, SIZE_MAX) == NULL);
  for (size_t i = 0; i < filled; ++i) CHECK(p[i] == (unsigned char)(i * 31 + (size_t)me));
  shmem_free(p);
}

static void test_hints(void) {
  section("hints");
  for (long hints = 0; hints < 4; ++hints) {
    const long value = (hints & 1 ? SHMEM_MALLOC_ATOMICS_REMOTE : 0) | (hints & 2 ? SHMEM_MALLOC_SIGNAL_REMOTE : 0);
    uint64_t *p = shmem_malloc_with_hints(3 * sizeof *p, value);
    CHECK(p != NULL && (uintptr_t)p % 16 == 0);
    p[0] = p[1] = p[2] = 0;
    shmem_barrier_all();
    shmem_uint64_atomic_add(&p[0], 3, right);
    shmem_uint64_p(&p[1], 4, right);
    shmem_signal_add(&p[2], 5, right);
    shmem_barrier_all();
    CHECK_EQ(p[0] * 100 + p[1] * 10 + p[2], 345);
    p = shmem_realloc(p, 4096);
    CHECK(p != NULL);
    CHECK_EQ(p[0] * 100 + p[1] * 10 + p[2], 345);
    shmem_free(p);
  }
}

static void test_exhaustion(void) {
  section("an exhausted heap");
  CHECK(shmem_malloc((size_t)1 << 40) == NULL);
  CHECK(shmem_malloc(SIZE_MAX) == NULL);
  CHECK(shmem_malloc(SIZE_MAX - 15) == NULL);
  CHECK(shmem_align(4096, SIZE_MAX - 4096) == NULL);
  CHECK(shmem_malloc(17 * (size_t)kMega) == NULL);
  enum { kBlocks = 64 };
  void *blocks[kBlocks];
  for (int repeat = 0; repeat < 3; ++repeat) {
    section("an exhausted heap");
    uint64_t count = 0;
    while (count < kBlocks && (blocks[count] = shmem_malloc(kMega / 2)) != NULL) ++count;
    CHECK(count < kBlocks); // 32 halves of a megabyte at most
    CHECK(count >= 28);     // nearly all of the heap is the user's
    same_everywhere(count, "blocks before exhaustion");
    CHECK(shmem_calloc(kMega, 1) == NULL);
    CHECK(shmem_align(kMega, kMega) == NULL);
    CHECK(shmem_realloc(blocks[0], 4 * (size_t)kMega) == NULL);
    for (uint64_t i = 0; i < count; ++i) memset(blocks[i], (int)i, kMega / 2);
    shmem_barrier_all();
    // Odd ones first: the holes join up.
    for (uint64_t i = 1; i < count; i += 2) shmem_free(blocks[i]);
    CHECK(shmem_malloc(kMega) == NULL); // no hole is as large
    for (uint64_t i = 0; i < count; i += 2) shmem_free(blocks[i]);
    char *large = shmem_malloc(14 * (size_t)kMega);
    CHECK(large != NULL);
    same_everywhere(offset_of(large), "offset of the largest object");
    shmem_putmem(large + 14 * (size_t)kMega - 1, "x", 1, right);
    shmem_barrier_all();
    CHECK_EQ(large[14 * (size_t)kMega - 1], 'x');
    shmem_free(large);
  }
}

/// Random calls against a model of what is alive: contents survive, nothing overlaps, offsets agree.
static void test_random_calls(void) {
  enum { kLive = 40, kSteps = 400 };
  static struct { unsigned char *p; size_t size; unsigned char mark; } live[kLive];
  uint64_t digest = 0;
  for (int step = 0; step < kSteps; ++step) {
    section("random allocation against a model");
    const int k = test_random_in(0, kLive - 1), what = test_random_in(0, 4);
    const size_t size = (size_t)test_random_in(1, test_random_in(0, 3) == 0 ? 200000 : 600);
    const size_t alignment = (size_t)8 << test_random_in(0, 9);
    unsigned char *p = live[k].p;
    if (p != NULL)
      for (size_t i = 0; i < live[k].size; ++i) CHECK(p[i] == live[k].mark);
    if (p != NULL && what >= 2) {
      shmem_free(p);
      live[k].p = NULL;
      continue;
    }
    if (p != NULL) {
      p = shmem_realloc(p, size);
      if (p == NULL) continue;
      for (size_t i = 0; i < (size < live[k].size ? size : live[k].size); ++i) CHECK(p[i] == live[k].mark);
    } else if (what == 0) {
      p = shmem_calloc(1, size);
      for (size_t i = 0; p != NULL && i < size; ++i) CHECK(p[i] == 0);
    } else if (what == 1) {
      p = shmem_align(alignment, size);
      CHECK_EQ((uintptr_t)p % alignment, 0);
    } else if (what == 2) {
      p = shmem_malloc_with_hints(size, SHMEM_MALLOC_SIGNAL_REMOTE);
    } else {
      p = shmem_malloc(size);
    }
    digest = test_mix(digest ^ offset_of(p));
    live[k].p = p;
    if (p == NULL) continue;
    live[k].size = size;
    live[k].mark = (unsigned char)test_random();
    for (int j = 0; j < kLive; ++j) // no two objects share a byte
      CHECK(j == k || live[j].p == NULL || p + size <= live[j].p || live[j].p + live[j].size <= p);
    memset(p, live[k].mark, size);
    if (step % 50 == 0) same_everywhere(digest >> 1, "offsets of random objects");
  }
  same_everywhere(digest >> 1, "offsets of random objects");
  for (int k = 0; k < kLive; ++k) shmem_free(live[k].p);
}

/// shmem_ptr, shmem_team_ptr, addr_accessible, pe_accessible: any address and any PE number is a legal question to the latter.
static long static_object[4];
static void test_addresses(void) {
  section("shmem_ptr and accessibility");
  long *object = shmem_malloc(4 * sizeof *object);
  CHECK(object != NULL);
  object[2] = static_object[2] = 1000 + me;
  int local = 5;
  shmem_barrier_all();
  CHECK(shmem_ptr(object, me) == object);
  CHECK(shmem_ptr(&object[2], me) == &object[2]);
  CHECK(shmem_ptr(static_object, me) == static_object);
  for (int pe = 0; pe < npes; ++pe) {
    CHECK_EQ(shmem_pe_accessible(pe), 1);
    CHECK_EQ(shmem_addr_accessible(object, pe), 1);
    CHECK_EQ(shmem_addr_accessible(&object[3], pe), 1);
    CHECK_EQ(shmem_addr_accessible(&static_object[3], pe), 1);
    CHECK_EQ(shmem_addr_accessible(&local, pe), 0);
    CHECK_EQ(shmem_addr_accessible(NULL, pe), 0);
    CHECK(shmem_ptr(&local, pe) == NULL);
    CHECK(shmem_ptr(NULL, pe) == NULL);
    CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, object, pe) == shmem_ptr(object, pe));
    long *there = shmem_ptr(&object[2], pe), *there_too = shmem_ptr(&static_object[2], pe);
    if (there != NULL) CHECK_EQ(*there, 1000 + pe);
    if (there_too != NULL) CHECK_EQ(*there_too, 1000 + pe);
  }
  CHECK_EQ(shmem_pe_accessible(-1), 0);
  CHECK_EQ(shmem_pe_accessible(npes), 0);
  CHECK_EQ(shmem_addr_accessible(object, -1), 0);
  CHECK_EQ(shmem_addr_accessible(object, npes), 0);
  shmem_barrier_all();
  long *there = shmem_ptr(object, right);
  if (there != NULL) {
    there[1] = 77 + me;
    shmem_quiet();
  } else {
    shmem_long_p(&object[1], 77 + me, right);
  }
  shmem_barrier_all();
  CHECK_EQ(object[1], 77 + left);
  shmem_barrier_all();
  shmem_free(object);
}

static void test_legacy(void) {
  section("names from before version 1.2");
  char *p = shmalloc(100);
  CHECK(p != NULL);
  memset(p, 3, 100);
  p = shrealloc(p, 5000);
  CHECK(p != NULL && p[99] == 3);
  shfree(p);
  p = shmemalign(256, 10);
  CHECK(p != NULL && (uintptr_t)p % 256 == 0);
  shfree(p);
}

/// Allocation ends, and free begins, with a barrier: no PE sees an object that another has not got yet or has lost already.
static void test_barriers(void) {
  section("malloc and free synchronize");
  for (long k = 1; k <= 20; ++k) {
    long *p = shmem_malloc(2 * sizeof *p);
    CHECK(p != NULL);
    p[0] = 0;
    shmem_barrier_all();
    shmem_long_p(p, k, right); // free's barrier completes it
    shmem_free(p);
    long *q = shmem_calloc(2, sizeof *q);
    CHECK_EQ(shmem_long_g(q, right), 0); // calloc is done on all PEs
    shmem_free(q);
  }
}

int main(void) {
  setenv("SHMEM_SYMMETRIC_SIZE", "16m", 1);
  test_begin("memory");
  right = (me + 1) % npes;
  left = (me + npes - 1) % npes;
  base = shmem_malloc(16);
  everyones = shmem_calloc((size_t)npes, sizeof *everyones);
  CHECK(base != NULL && everyones != NULL);
  test_seed();
  test_zero_and_null();
  test_alignment();
  test_calloc();
  test_realloc();
  test_hints();
  test_exhaustion();
  test_random_calls();
  test_exhaustion();
  test_addresses();
  test_legacy();
  test_barriers();
  shmem_free(everyones);
  shmem_free(base);
  return test_end();
}

// SPDX-License-Identifier: Apache-2.0
// Annex "Deprecated API": the names from before OpenSHMEM 1.2 and the old names of atomics and waits, for every type.
// There is no shmem_finalize on purpose: a program that begins with start_pes just returns.
#include "support.h"

static void set_up_and_heap(void) {
  section("set-up and heap");
  CHECK_EQ(_my_pe(), shmem_my_pe());
  CHECK_EQ(_num_pes(), shmem_n_pes());
  CHECK(me >= 0 && me < npes);
  start_pes(17);  // again: nothing happens
  CHECK_EQ(_num_pes(), npes);

  long *block = (long *)shmalloc(10 * sizeof(long));
  CHECK(block != NULL);
  for (int i = 0; i < 10; ++i) block[i] = me * 100 + i;
  block = (long *)shrealloc(block, 1000 * sizeof(long));
  CHECK(block != NULL);
  for (int i = 0; i < 10; ++i) CHECK_EQ(block[i], me * 100 + i);
  shmem_barrier_all();
  CHECK_EQ(shmem_long_g(&block[3], (me + 1) % npes), (me + 1) % npes * 100 + 3);
  for (size_t alignment = 8; alignment <= 4096; alignment *= 2) {
    void *aligned = shmemalign(alignment, 40);
    CHECK(aligned != NULL && (uintptr_t)aligned % alignment == 0);
    CHECK(shmem_addr_accessible(aligned, (me + 1) % npes));
    shfree(aligned);
  }
  shfree(block);
  shfree(NULL);
}

static void old_constants(void) {
  section("old constants");
  CHECK_EQ(_SHMEM_MAJOR_VERSION, SHMEM_MAJOR_VERSION);
  CHECK_EQ(_SHMEM_MINOR_VERSION, SHMEM_MINOR_VERSION);
  CHECK_EQ(_SHMEM_MAX_NAME_LEN, SHMEM_MAX_NAME_LEN);
  CHECK(strcmp(_SHMEM_VENDOR_STRING, SHMEM_VENDOR_STRING) == 0);
  CHECK(_SHMEM_CMP_EQ == SHMEM_CMP_EQ && _SHMEM_CMP_NE == SHMEM_CMP_NE && _SHMEM_CMP_GT == SHMEM_CMP_GT);
  CHECK(_SHMEM_CMP_GE == SHMEM_CMP_GE && _SHMEM_CMP_LT == SHMEM_CMP_LT && _SHMEM_CMP_LE == SHMEM_CMP_LE);
  CHECK_EQ(_SHMEM_SYNC_VALUE, SHMEM_SYNC_VALUE);
  CHECK(_SHMEM_BARRIER_SYNC_SIZE >= 1 && _SHMEM_BCAST_SYNC_SIZE >= 1 && _SHMEM_REDUCE_SYNC_SIZE >= 1);
  CHECK(_SHMEM_COLLECT_SYNC_SIZE >= 1 && _SHMEM_ALLTOALL_SYNC_SIZE >= 1 && _SHMEM_ALLTOALLS_SYNC_SIZE >= 1);
  CHECK(_SHMEM_REDUCE_MIN_WRKDATA_SIZE >= 1);
}

/// Every PE works on its own element of the next PE, then on one element of PE 0 that all share.
#define DEFINE_ATOMICS(N, T)                                   \
  static void atomics_##N(void) {                              \
    static T words[64], shared;                                \
    const int next = (me + 1) % npes;                          \
    section("old atomics " #N);                                \
    shmem_##N##_set(&words[me], 10, next);                     \
    shmem_quiet();                                             \
    CHECK_EQ(shmem_##N##_fetch(&words[me], next), 10);         \
    CHECK_EQ(shmem_##N##_swap(&words[me], 20, next), 10);      \
    shmem_##N##_add(&words[me], 3, next);                      \
    shmem_##N##_inc(&words[me], next);                         \
    shmem_quiet();                                             \
    CHECK_EQ(shmem_##N##_fadd(&words[me], 6, next), 24);       \
    CHECK_EQ(shmem_##N##_finc(&words[me], next), 30);          \
    CHECK_EQ(shmem_##N##_cswap(&words[me], 30, 99, next), 31); \
    CHECK_EQ(shmem_##N##_cswap(&words[me], 31, 99, next), 31); \
    CHECK_EQ(shmem_##N##_fetch(&words[me], next), 99);         \
    for (int i = 0; i < 50; ++i) {                             \
      shmem_##N##_inc(&shared, 0);                             \
      shmem_##N##_add(&shared, 2, 0);                          \
      (void)shmem_##N##_finc(&shared, 0);                      \
      (void)shmem_##N##_fadd(&shared, 3, 0);                   \
    }                                                          \
    shmem_barrier_all();                                       \
    CHECK_EQ(shmem_##N##_fetch(&shared, 0), 350 * npes);       \
  }
SHMEM_FOR_LEGACY_AMO_TYPES(DEFINE_ATOMICS)

static void floating_point_atomics(void) {
  section("old floating-point atomics");
  static float f[64];
  static double d[64];
  const int next = (me + 1) % npes;
  shmem_float_set(&f[me], 1.5f, next);
  shmem_double_set(&d[me], 2.5, next);
  shmem_quiet();
  CHECK_EQ(shmem_float_fetch(&f[me], next), 1.5);
  CHECK_EQ(shmem_double_fetch(&d[me], next), 2.5);
  CHECK_EQ(shmem_float_swap(&f[me], -3.25f, next), 1.5);
  CHECK_EQ(shmem_double_swap(&d[me], -4.25, next), 2.5);
  shmem_barrier_all();
  const int previous = (me + npes - 1) % npes;
  CHECK_EQ(f[previous], -3.25);
  CHECK_EQ(d[previous], -4.25);
}

#define DEFINE_WAITS(N, T)                    \
  static void waits_##N(void) {               \
    static T word = 5;                        \
    section("old waits " #N);                 \
    shmem_##N##_p(&word, 6, (me + 1) % npes); \
    shmem_##N##_wait(&word, 5);               \
    CHECK_EQ(word, 6);                        \
  }
SHMEM_FOR_LEGACY_WAIT_TYPES(DEFINE_WAITS)

static void untyped_waits(void) {
  section("untyped waits");
  static long first, second;
  shmem_long_p(&first, 1, (me + 1) % npes);
  shmem_wait(&first, 0);
  CHECK_EQ(first, 1);
  shmem_long_p(&second, 7, (me + 1) % npes);
  (shmem_wait_until)(&second, SHMEM_CMP_GE, 7);  // the function, not the generic macro
  CHECK_EQ(second, 7);
}

int main(void) {
  test_set_deadline("legacy");
  start_pes(0);
  me = _my_pe();
  npes = _num_pes();
  CHECK(npes <= 64);
  set_up_and_heap();
  old_constants();
#define RUN_ATOMICS(N, T) atomics_##N();
#define RUN_WAITS(N, T) waits_##N();
  SHMEM_FOR_LEGACY_AMO_TYPES(RUN_ATOMICS)
  floating_point_atomics();
  SHMEM_FOR_LEGACY_WAIT_TYPES(RUN_WAITS)
  untyped_waits();
  section("return without finalize");
  shmem_barrier_all();
  return 0;
}

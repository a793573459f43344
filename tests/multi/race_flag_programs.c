// SPDX-License-Identifier: Apache-2.0
// What bytes synchronise: `race_flag_programs CASE` on 3 PEs, for race_test.py, as race_programs.c.
#include <shmem.h>
#include <string.h>

static long data[8], source[8], got[8];
static int me;

/* ---- races ---- */
/// What lies beside a flag, or a counter, is data, also in one word of eight bytes with it.
static struct {
  _Alignas(8) int first;
  int second;
} halves;
static int seen;
static void beside_flag(void) {
  if (me == 0) {
    shmem_int_p(&halves.second, 5, 1); // race
    shmem_int_p(&halves.first, 1, 1);
  }
  if (me == 1) {
    shmem_int_wait_until(&halves.first, SHMEM_CMP_EQ, 1);
    shmem_int_get(&seen, &halves.second, 1, 1); // race
  }
  shmem_barrier_all();
}
static void beside_counter(void) {
  if (me == 0) {
    shmem_int_p(&halves.first, 5, 1); // race
    shmem_int_atomic_inc(&halves.second, 1);
  }
  if (me == 2) {
    while (shmem_int_atomic_fetch(&halves.second, 1) != 1) continue;
    shmem_int_get(&seen, &halves.first, 1, 1); // race
  }
  shmem_barrier_all();
}
static void first_of_heap(void) {
  long *const block = shmem_malloc(sizeof *block);
  if (me != 1) shmem_long_p(block, me, 1); // race
  shmem_barrier_all();
}

/* ---- no races ---- */
static void beside_fenced(void) {
  if (me == 0) {
    shmem_int_p(&halves.second, 5, 1);
    shmem_fence();
    shmem_int_p(&halves.first, 1, 1);
  }
  if (me == 1) {
    shmem_int_wait_until(&halves.first, SHMEM_CMP_EQ, 1);
    shmem_int_get(&seen, &halves.second, 1, 1);
  }
  shmem_barrier_all();
}
/// A wait for more than megabytes, of which the last word comes last.
static void all_of_very_many(void) {
  enum { kMany = 3 << 17 };
  long *flags = shmem_calloc(kMany, sizeof *flags);
  if (me == 0) {
    for (int i = 0; i < kMany; ++i) flags[i] = 1;
    shmem_long_put(flags, flags, kMany - 1, 1);
    shmem_long_put(data, source, 8, 1);
    shmem_fence();
    shmem_long_p(&flags[kMany - 1], 1, 1);
  }
  if (me == 1) {
    shmem_long_wait_until_all(flags, kMany, NULL, SHMEM_CMP_EQ, 1);
    shmem_long_get(got, data, 8, 1);
  }
  shmem_barrier_all();
}
/// Some hundred lines of how far the search has come, where each is told.
static void many_calls(void) {
  for (int i = 0; i < 20000; ++i)
    if (me == 0) shmem_long_p(&data[i % 8], i, 1);
  shmem_barrier_all();
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {{"many_calls", many_calls}, {"first_of_heap", first_of_heap}, {"beside_flag", beside_flag}, {"beside_counter", beside_counter}, {"beside_fenced", beside_fenced}, {"all_of_very_many", all_of_very_many}};

int main(int argc, char **argv) {
  shmem_init();
  me = shmem_my_pe();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
      cases[i].run();
      shmem_finalize();
      return 0;
    }
  return 99;
}

// SPDX-License-Identifier: Apache-2.0
// What bytes synchronise: `race_flag_programs CASE` on 3 PEs, for race_test.py, as race_programs.c.
#include <shmem.h>
#include <stdint.h>
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
/// Of several flags, those orders that were seen: not those of another PE.
static int three[3];
static const int only_third[3] = {1, 1, 0}, only_second[3] = {1, 0, 1};
static void data_and_flag(void) {
  shmem_long_p(&data[me], me, 0); // race
  shmem_fence();
  shmem_int_p(&three[me], 1, 0);
}
static void read_unseen(int of) {
  if (me == 0) shmem_long_get(got, &data[of], 1, 0); // race
  shmem_barrier_all();
}
static void any_other(void) {
  if (me != 0) data_and_flag();
  const size_t found = me == 0 ? shmem_int_wait_until_any(three, 3, NULL, SHMEM_CMP_EQ, 1) : 0;
  read_unseen(3 - (int)found);
}
static void any_excluded(void) {
  if (me != 0) data_and_flag();
  if (me == 0) shmem_int_wait_until_any(three, 3, only_third, SHMEM_CMP_EQ, 1);
  read_unseen(1);
}
static void all_excluded(void) {
  if (me != 0) data_and_flag();
  if (me == 0) shmem_int_wait_until_all(three, 3, only_third, SHMEM_CMP_EQ, 1);
  read_unseen(1);
}
static void some_excluded(void) {
  size_t found[3];
  if (me != 0) data_and_flag();
  if (me == 0) shmem_int_wait_until_some(three, 3, found, only_third, SHMEM_CMP_EQ, 1);
  read_unseen(1);
}
static void some_others(void) {
  const int wanted[3] = {7, 7, 1};
  size_t found[3];
  if (me != 0) data_and_flag();
  if (me == 0) shmem_int_wait_until_some_vector(three, 3, found, NULL, SHMEM_CMP_EQ, wanted);
  read_unseen(1);
}
static void test_any_excluded(void) {
  if (me != 0) data_and_flag();
  while (me == 0 && shmem_int_test_any(three, 3, only_third, SHMEM_CMP_EQ, 1) == SIZE_MAX) continue;
  read_unseen(1);
}
static void test_some_excluded(void) {
  size_t found[3];
  if (me != 0) data_and_flag();
  while (me == 0 && shmem_int_test_some(three, 3, found, only_third, SHMEM_CMP_EQ, 1) == 0) continue;
  read_unseen(1);
}
static void test_all_excluded(void) {
  if (me != 0) data_and_flag();
  while (me == 0 && !shmem_int_test_all(three, 3, only_third, SHMEM_CMP_EQ, 1)) continue;
  read_unseen(1);
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
/// Each flag by each of the calls for several, which must see it.
static void seen_by_each(void) {
  for (int way = 0; way < 6; ++way) {
    size_t found[3] = {SIZE_MAX};
    if (me == 1) {
      shmem_long_p(&data[1], way, 0);
      shmem_fence();
      shmem_int_p(&three[1], way + 1, 0);
    }
    if (me == 0) {
      const int value = way + 1, values[3] = {-1, value, -1};
      if (way == 0) shmem_int_wait_until_all(three, 3, only_second, SHMEM_CMP_EQ, value);
      if (way == 1) found[0] = shmem_int_wait_until_any(three, 3, NULL, SHMEM_CMP_EQ, value);
      if (way == 2) shmem_int_wait_until_some_vector(three, 3, found, NULL, SHMEM_CMP_EQ, values);
      while (way == 3 && !shmem_int_test_all(three, 3, only_second, SHMEM_CMP_EQ, value)) continue;
      while (way == 4 && shmem_int_test_any_vector(three, 3, NULL, SHMEM_CMP_EQ, values) == SIZE_MAX) continue;
      while (way == 5 && shmem_int_test_some(three, 3, found, only_second, SHMEM_CMP_EQ, value) == 0) continue;
      shmem_long_get(got, &data[1], 1, 0);
    }
    shmem_barrier_all();
  }
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
} cases[] = {{"many_calls", many_calls}, {"first_of_heap", first_of_heap}, {"beside_flag", beside_flag}, {"beside_counter", beside_counter}, {"beside_fenced", beside_fenced}, {"all_of_very_many", all_of_very_many},
             {"any_other", any_other}, {"any_excluded", any_excluded}, {"all_excluded", all_excluded}, {"some_excluded", some_excluded}, {"some_others", some_others}, {"test_any_excluded", test_any_excluded}, {"test_some_excluded", test_some_excluded}, {"test_all_excluded", test_all_excluded}, {"seen_by_each", seen_by_each}};

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

// SPDX-License-Identifier: Apache-2.0
// Programs whose own loads and stores race with what others put and get, and programs in which they do not:
// `race_plain_programs CASE` on 3 PEs, for race_test.py; compiled as `shoalcc --race` does it. What races stands on
// lines that end with "// race".
#include <shmem.h>
#include <stdio.h>
#include <string.h>

static long data[8], source[8], got[8], flag, lock, big[20000];
static char text[64];
static uint64_t signal_word;
static int me, npes;
static long sink;

/* ---- races ---- */
static void store_put(void) {
  if (me == 0) shmem_long_put(data, source, 8, 1);  // race
  if (me == 1) data[3] = 1;                         // race
  shmem_barrier_all();
}
static void load_put(void) {
  if (me == 0) {
    shmem_long_p(&data[2], 7, 1);  // race
    shmem_fence();
    shmem_long_p(&flag, 1, 1);
  }
  if (me == 1) {
    sink = data[2];  // race
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    sink = data[2];
  }
  shmem_barrier_all();
}
static void get_store(void) {
  shmem_barrier_all();
  data[5] = me;                                  // race
  if (me == 2) shmem_long_get(got, data, 8, 1);  // race
  shmem_barrier_all();
}
static void peer_store(void) {
  long* there = me == 0 ? shmem_ptr(data, 1) : NULL;
  if (there != NULL) there[1] = 4;  // race
  if (me == 1) sink = data[1];      // race
  shmem_barrier_all();
}
/// What is stored behind a flag it doesn't order, nor what was put with no fence.
static void stored_late(void) {
  long* const there = shmem_ptr(&flag, 0);
  if (me == 1 && there != NULL) {
    *(volatile long*)there = 1;
    shmem_quiet();
    *(long*)shmem_ptr(data, 0) = 5;  // race
  }
  if (me == 0 && there != NULL) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    sink = data[0];  // race
  }
  shmem_barrier_all();
}
static void stored_unfenced(void) {
  long* const there = shmem_ptr(&flag, 0);
  if (me == 1 && there != NULL) {
    shmem_long_p(&data[2], 6, 0);  // race
    *(volatile long*)there = 1;
  }
  if (me == 0 && there != NULL) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    sink = data[2];  // race
  }
  shmem_barrier_all();
}
static void store_nbi(void) {
  if (me == 0) {
    shmem_long_put_nbi(data, source, 8, 1);  // race
    source[2] = 7;                           // race
  }
  shmem_barrier_all();
}
static void load_nbi(void) {
  if (me == 0) {
    shmem_long_get_nbi(got, data, 8, 1);  // race
    sink = got[7];                        // race
  }
  shmem_barrier_all();
}
static void set_get(void) {
  if (me == 1) memset(text, 1, sizeof text);        // race
  if (me == 2) shmem_getmem(got, text + 32, 8, 1);  // race
  shmem_barrier_all();
}

/* ---- no races ---- */
static void barrier(void) {
  for (int i = 0; i < 8; i++) source[i] = me * 10 + i;
  shmem_long_put(data, source, 8, (me + 1) % npes);
  shmem_barrier_all();
  for (int i = 0; i < 8; i++) sink += data[i];
  memcpy(got, data, sizeof got);
  shmem_barrier_all();
  shmem_long_put(data, source, 8, (me + 2) % npes);
  shmem_barrier_all();
}
static void signalled(void) {
  if (me == 0) {
    for (int i = 0; i < 8; i++) source[i] = i;
    shmem_long_put_signal(data, source, 8, &signal_word, 1, SHMEM_SIGNAL_SET, 1);
  }
  if (me == 1) {
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
    for (int i = 0; i < 8; i++) sink += data[i];
  }
  shmem_barrier_all();
}
static void apart(void) {
  if (me == 0) shmem_long_put(data, source, 4, 1);
  if (me == 1) data[4] = data[5] = 3;
  if (me == 0) shmem_putmem(text, source, 3, 1);
  if (me == 1) text[3] = 'x';  // bytes of one word
  shmem_barrier_all();
}
static void locked(void) {
  for (int turn = 0; turn < 5; turn++) {
    shmem_set_lock(&lock);
    if (me == 0)
      data[0]++;
    else
      shmem_long_p(data, shmem_long_g(data, 0) + 1, 0);
    shmem_clear_lock(&lock);
  }
  shmem_barrier_all();
  if (me == 0 && data[0] != 5L * npes) shmem_global_exit(9);
}
static void many(void) {
  for (int turn = 0; turn < 10; turn++) {
    for (int i = 0; i < 20000; i++) big[i] += i + turn;
    shmem_barrier_all();
    if (turn % 2 == 0) shmem_long_get(got, big + turn, 8, (me + 1) % npes);
    shmem_barrier_all();
  }
}
static void not_blocking(void) {
  for (int i = 0; i < 8; i++) source[i] = i;
  shmem_long_put_nbi(data, source, 4, (me + 1) % npes);
  shmem_long_get_nbi(got, &data[4], 4, (me + 1) % npes);
  sink = source[3];
  shmem_quiet();
  source[0] = got[2];
  shmem_long_put_signal_nbi(data, source, 4, &signal_word, 1, SHMEM_SIGNAL_SET, (me + 1) % npes);
  shmem_barrier_all();
  source[1] = data[1];
  shmem_barrier_all();
}
/// A flag that is set through shmem_ptr, behind data that are, and behind data that are put.
static void stored_flag(void) {
  long* const there = shmem_ptr(&flag, 0);
  long* const data_there = shmem_ptr(data, 0);
  if (me == 1 && there != NULL) {
    data_there[1] = 5;
    shmem_long_p(&data[2], 6, 0);
    shmem_fence();
    *(volatile long*)there = 1;
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 2);
  }
  if (me == 0 && there != NULL) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    sink = data[1] + data[2];
    shmem_long_p(&flag, 2, 1);
  }
  shmem_barrier_all();
}
static void reduced(void) {
  for (int i = 0; i < 8; i++) source[i] = me;
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, data, source, 8);
  for (int i = 0; i < 8; i++) sink += data[i];
  for (int i = 0; i < 8; i++) source[i] = 0;
  shmem_barrier_all();
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"store_nbi", store_nbi}, {"load_nbi", load_nbi}, {"not_blocking", not_blocking}, {"store_put", store_put}, {"load_put", load_put}, {"get_store", get_store}, {"peer_store", peer_store},
             {"stored_flag", stored_flag}, {"stored_late", stored_late}, {"stored_unfenced", stored_unfenced},
             {"set_get", set_get},     {"barrier", barrier},   {"signalled", signalled}, {"apart", apart},
             {"locked", locked},       {"many", many},         {"reduced", reduced}};

int main(int argc, char** argv) {
  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
      cases[i].run();
      shmem_finalize();
      return 0;
    }
  return 99;
}

// SPDX-License-Identifier: Apache-2.0
// Programs that hang, for stuck_test.py: `stuck_programs CASE`. What is wrong with each is what its verdict must say.
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int me, npes;
static long word, lock_a, lock_b;
static long taken; // how many PEs hold their first lock

/// Keeps this PE from calling the library; the launcher ends it.
static void compute(void) {
  for (;;) {
    const struct timespec nap = {1, 0};
    nanosleep(&nap, NULL);
  }
}

/// PE 2 computes while the others meet.
static void absent(void) {
  if (me == 2) compute();
  shmem_barrier_all();
}

/// PE 1 returns from main while the others meet.
static void returned(void) {
  if (me == 1) exit(0);
  shmem_barrier_all();
}

/// PE 0 holds a lock and meets; PE 2 wants the lock before it meets.
static void holder(void) {
  if (me == 0) shmem_set_lock(&lock_a);
  shmem_barrier_all();
  if (me == 2) shmem_set_lock(&lock_a);
  shmem_barrier_all();
}

/// Two PEs take two locks in different order.
static void lock_cycle(void) {
  if (me < 2) {
    shmem_set_lock(me == 0 ? &lock_a : &lock_b);
    for (int pe = 0; pe < 2; ++pe) shmem_long_atomic_inc(&taken, pe);
    shmem_long_wait_until(&taken, SHMEM_CMP_EQ, 2);
    shmem_set_lock(me == 0 ? &lock_b : &lock_a);
  }
  shmem_barrier_all();
}

/// PE 0 never clears a lock that the others want: it finalizes, or ends.
static void take_kept(void) {
  if (me == 0) shmem_set_lock(&lock_a);
  shmem_sync_all();
  if (me != 0) shmem_set_lock(&lock_a);
  if (me != 0) shmem_clear_lock(&lock_a);
}
static void kept(void) { take_kept(); }
static void kept_at_exit(void) {
  take_kept();
  exit(0);
}

/// PE 0 waits for a value that has been passed over.
static void value(void) {
  if (me == 1) shmem_long_p(&word, 7, 0);
  shmem_barrier_all();
  if (me == 0) shmem_long_wait_until(&word, SHMEM_CMP_EQ, 5);
}

/// The same where a thread of PE 0's, which does not call the library, may yet store it.
static void value_of_thread(void) { value(); }

/// PEs 0 and 1 enter different collectives, and PE 2 none.
static void collectives(void) {
  static long sum, one = 1;
  if (me == 2) compute();
  if (me == 0) shmem_barrier_all();
  if (me == 1) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1);
}

/// PE 0 meets with all, the others in a team of their own that PE 0 belongs to as well.
static void teams(void) {
  shmem_team_t pair;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &pair);
  if (me == 1) shmem_team_sync(pair);
  shmem_barrier_all();
}

/// PE 0 meets PE 1, who has left.
static void pair(void) {
  if (me == 0) shmemx_sync_pe(1);
}

/// A thread of PE 1 calls exit(0) while its main thread meets the others, and one does not come.
static void *leave(void *unused) {
  exit(0);
  return unused;
}
static void thread_exit(void) {
  pthread_t thread;
  if (me == 2) compute();
  if (me == 1 && pthread_create(&thread, NULL, leave, NULL) != 0) abort();
  shmem_barrier_all();
}

/// All finalize, but for PE 2, which computes until it gets SIGUSR1.
static volatile sig_atomic_t told;
static void hear(int signal) { told = signal; }
static void finalize(void) {
  const struct timespec nap = {1, 0};
  while (me == 2 && told == 0) nanosleep(&nap, NULL);
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {{"absent", absent}, {"returned", returned}, {"holder", holder}, {"lock_cycle", lock_cycle}, {"value", value}, {"value_of_thread", value_of_thread}, {"kept", kept}, {"kept_at_exit", kept_at_exit},
             {"collectives", collectives}, {"teams", teams}, {"pair", pair}, {"thread_exit", thread_exit}, {"finalize", finalize}};

int main(int argc, char **argv) {
  signal(SIGUSR1, hear);
  int provided;
  if (argc > 1 && strcmp(argv[1], "value_of_thread") == 0) shmem_init_thread(SHMEM_THREAD_FUNNELED, &provided);
  else shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
      cases[i].run();
      shmem_finalize();
      return 98;
    }
  fprintf(stderr, "no such case\n");
  return 99;
}

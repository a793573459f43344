// SPDX-License-Identifier: Apache-2.0
// Chapter "Library setup, exit, and query": shmem_global_exit(7) by the last PE ends the whole job with status 7, whatever
// the others are in. ctest wants exactly that status.
#include "support.h"
#include <pthread.h>

static long lock, word;

static void *spin_in_a_wait(void *unused) {
  shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
  return unused;
}

int main(void) {
  int provided;
  test_set_deadline("global_exit");
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  me = shmem_my_pe();
  npes = shmem_n_pes();
  if (me == npes - 1) shmem_set_lock(&lock);
  shmem_barrier_all();
  if (me == npes - 1) {
    usleep(30000); // the others are blocked by now
    shmem_global_exit(7);
  }
  pthread_t thread;
  switch (me % 5) {
    case 0: shmem_barrier_all(); break;
    case 1: shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1); break;
    case 2: shmem_set_lock(&lock); break;
    case 3: for (;;) pause();
    default:
      if (pthread_create(&thread, NULL, spin_in_a_wait, NULL) == 0) pthread_join(thread, NULL);
  }
  return 99; // nobody gets here
}

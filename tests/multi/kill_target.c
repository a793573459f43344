/* SPDX-License-Identifier: Apache-2.0
 * Does a bit of everything for ever, so that a kill finds it anywhere: in init, in a barrier, holding a lock, waiting for one,
 * waiting for a word, allocating, computing, in finalize. PE n's process announces itself as "PE n pid p" on stdout. */
#include <shmem.h>
#include <stdio.h>
#include <unistd.h>

static long lock, turns, word;

int main(void) {
  for (long round = 1;; round++) {
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes();
    if (round == 1) {
      printf("PE %d pid %d\n", me, (int)getpid());
      fflush(stdout);
    }
    word = 0; /* every life of the library starts afresh */
    shmem_barrier_all();
    for (long i = 1; i <= 200; i++) {
      long *block = shmem_malloc(4096);
      shmem_set_lock(&lock);
      shmem_atomic_inc(&turns, 0);
      shmem_clear_lock(&lock);
      for (volatile int k = 0; k < 20000; k++) {
      }
      shmem_atomic_inc(&word, (me + 1) % n);
      shmem_wait_until(&word, SHMEM_CMP_GE, i);
      shmem_free(block);
      shmem_barrier_all();
    }
    shmem_finalize();
  }
}

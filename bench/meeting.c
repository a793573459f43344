/* SPDX-License-Identifier: Apache-2.0
 * meeting N: N barriers, then ends. PE 0 prints the time from the first to the last.
 * meeting idle S: PE 0 sleeps S seconds while the others wait for it; each of them prints its processor time. */
#define _GNU_SOURCE
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long flag;

int main(int argc, char **argv) {
  shmem_init();
  if (argc == 3 && strcmp(argv[1], "idle") == 0) {
    const int wait_for = atoi(argv[2]);
    shmem_barrier_all();
    const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    if (shmem_my_pe() == 0) sleep((unsigned)wait_for);
    if (shmem_my_pe() == 1) shmem_wait_until(&flag, SHMEM_CMP_NE, 0);
    if (shmem_my_pe() == 0 && shmem_n_pes() > 1) shmem_long_p(&flag, 1, 1);
    shmem_barrier_all();
    if (shmem_my_pe() != 0)
      printf("PE %d waited in %s: %.1f %% of a core\n", shmem_my_pe(), shmem_my_pe() == 1 ? "wait_until" : "barrier",
             100 * (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (seconds(CLOCK_MONOTONIC) - wall));
  } else {
    const int rounds = argc == 2 ? atoi(argv[1]) : 0;
    shmem_barrier_all();
    const double start = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < rounds; i++) shmem_barrier_all();
    if (shmem_my_pe() == 0) printf("%d PEs, %d barriers: %.3f s\n", shmem_n_pes(), rounds, seconds(CLOCK_MONOTONIC) - start);
  }
  shmem_finalize();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// `calls_target CALL FILE` on 3 PEs, for calls_test.py: PEs 1 and 2 are in CALL and stay there, until FILE exists; then PE 0, which all
// wait for, comes too, and the program ends with status 0. Calls that wait for nobody are made again and again instead. Each PE
// says "PE n pid p" on stdout before.
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 4096 };
static long word, lock, dest[3 * N], source[3 * N];
static uint64_t signal_word;
static int me, npes;
static const char *file;

static int may_go(void) { return access(file, F_OK) == 0; }
static void come_late(void) {
  while (me == 0 && !may_go()) usleep(1000);
}
static void announce(int pe) {
  printf("PE %d pid %d\n", pe, (int)getpid());
  fflush(stdout);
}

/* ---- calls that wait for PE 0 ---- */
static void wait_until(void) {
  come_late();
  for (int pe = 0; me == 0 && pe < npes; pe++) shmem_long_p(&word, 1, pe);
  shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
}
static void signal_wait(void) {
  come_late();
  for (int pe = 0; me == 0 && pe < npes; pe++)
    shmem_long_put_signal(dest, source, N, &signal_word, 1, SHMEM_SIGNAL_SET, pe);
  shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
}
static void barrier(void) {
  come_late();
  shmem_barrier_all();
}
static void reduce(void) {
  come_late();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, N);
}
static void broadcast(void) {
  come_late();
  shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, N, 0);
}
static void alltoall(void) {
  come_late();
  shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, N);
}
static void collect(void) {
  come_late();
  shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, (size_t)(me + 1));
}
static void allocate(void) {
  come_late();
  shmem_free(shmem_malloc(1 << 20));
}
static void split(void) {
  shmem_team_t team;
  come_late();
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team);
  shmem_team_destroy(team);
}
static void set_lock(void) {
  if (me == 0) shmem_set_lock(&lock);
  shmem_barrier_all();
  come_late();
  if (me != 0) shmem_set_lock(&lock);
  shmem_clear_lock(&lock);
}
static void finalize(void) { come_late(); }

/* ---- calls that wait for nobody, or only for an answer ---- */
static void quiet(void) {
  while (!may_go()) {
    shmem_long_put_nbi(dest, source, N, (me + 1) % npes);
    shmem_quiet();
  }
}
static void get(void) {
  while (!may_go()) shmem_long_get(dest, source, N, (me + 1) % npes);
}
static void atomic(void) {
  while (!may_go()) shmem_long_atomic_fetch_add(&word, 1, (me + 1) % npes);
}

static const struct {
  const char *name;
  void (*run)(void);
} calls[] = {{"wait_until", wait_until}, {"signal_wait", signal_wait}, {"barrier", barrier}, {"reduce", reduce},
             {"broadcast", broadcast},   {"alltoall", alltoall},       {"collect", collect}, {"allocate", allocate},
             {"split", split},           {"set_lock", set_lock},       {"quiet", quiet},     {"get", get},
             {"atomic", atomic},         {"finalize", finalize}};

int main(int argc, char **argv) {
  if (argc != 3) return 99;
  file = argv[2];
  if (strcmp(argv[1], "init") == 0) { /* before init, only the launcher knows who is who */
    const char *rank = getenv("SHOAL_PE");
    me = rank == NULL ? -1 : atoi(rank);
    announce(me);
    come_late();
    shmem_init();
    shmem_finalize();
    return 0;
  }
  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  shmem_barrier_all();
  announce(me);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (strcmp(argv[1], calls[i].name) == 0) {
      calls[i].run();
      shmem_finalize();
      return 0;
    }
  return 99;
}

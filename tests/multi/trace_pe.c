// SPDX-License-Identifier: Apache-2.0
// A known number of calls, for trace_test.py: `trace_pe [MODE]...`, each mode in a job of its own, one after another. Of
// all but "plain" something is added or done otherwise:
//   kill   PE 1 dies after them, and says before how many microseconds lay between its last two calls
//   hang   all wait for ever; each says its process
//   nbi    atomics without blocking
//   many   20,000 puts
//   chdir  the folder is another one at the end
//   locks  PE 0 takes a lock ten times, and PE 1 a semaphore
//   large  collectives of half a megabyte
//   batch  ten blocks of 16 bytes to the next PE in one call, and back
//   pointer  PE 0 says whether it may use PE 1's memory directly
//   refused  no job: init refuses more memory than there are addresses
//   lose   each removes its piece of t.json
//   differ PE 0 meets the others while they reduce
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kLarge = 1 << 16 };
static long word, counter, fetched, lock, data[1024], large[2][kLarge];
static shmemx_sem_t semaphore;

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void be_killed(void) {
  const struct timespec tenth = {0, 100000000};
  const double begin = now_us();
  shmem_quiet();
  nanosleep(&tenth, NULL);
  shmem_quiet();
  printf("%.0f\n", now_us() - begin);
  fflush(stdout);
  raise(SIGKILL);
}

static void use_locks(int me) {
  for (int i = 0; i < 10 && me == 0; ++i) {
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
  }
  if (me == 0) shmemx_sem_post(&semaphore, 1);
  if (me == 1) shmemx_sem_wait(&semaphore, 1);
}

/// PE 1 lets the others wait.
static void come_late(int me) {
  const struct timespec nap = {0, 5000000};
  for (int i = 0; i < 10; ++i) {
    if (me == 1) nanosleep(&nap, NULL);
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, data, data, 16);
    if (me == 1) nanosleep(&nap, NULL);
    shmem_free(shmem_malloc(8));
  }
}

static int be_refused(void) {
  int provided;
  setenv("SHMEM_SYMMETRIC_SIZE", "100000T", 1);
  const int refused = shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) != 0;
  unsetenv("SHMEM_SYMMETRIC_SIZE");
  return !refused;
}

static int run(const char *mode) {
  if (strcmp(mode, "refused") == 0) return be_refused();
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  for (int i = 0; i < 100; ++i) shmem_long_p(&word, i, (me + 1) % n);
  for (int i = 0; i < 10; ++i) shmem_long_put(data, data, 1024, (me + 1) % n);
  shmem_long_atomic_add(&counter, 1, 0);
  if (strcmp(mode, "chdir") == 0 && chdir("/") != 0) return 1;
  if (strcmp(mode, "nbi") == 0) {
    shmem_long_atomic_fetch_nbi(&fetched, &counter, (me + 1) % n);
    shmem_long_atomic_compare_swap_nbi(&fetched, &counter, -1, 0, (me + 1) % n);
    shmem_long_atomic_fetch_add_nbi(&fetched, &counter, 0, (me + 1) % n);
  }
  const int more = strcmp(mode, "many") == 0 ? 20000 : 0;
  for (int i = 0; i < more; ++i) shmem_long_p(&word, i, (me + 1) % n);
  shmem_quiet();
  shmem_barrier_all();
  if (strcmp(mode, "hang") == 0) {
    printf("%d\n", (int)getpid());
    fflush(stdout);
  }
  if (strcmp(mode, "kill") == 0 && me == 1) be_killed();
  if (strcmp(mode, "kill") == 0 || strcmp(mode, "hang") == 0) shmem_long_wait_until(&word, SHMEM_CMP_EQ, -1);
  if (strcmp(mode, "pointer") == 0 && me == 0) puts(shmem_ptr(&word, 1) != NULL ? "mapped" : "none");
  if (strcmp(mode, "locks") == 0) use_locks(me);
  if (strcmp(mode, "batch") == 0) {
    shmemx_block_t blocks[10];
    for (int i = 0; i < 10; ++i) blocks[i] = (shmemx_block_t){&data[2 * i], &large[0][2 * i], 16};
    shmemx_putmem_batch(blocks, 10, (me + 1) % n);
    shmemx_getmem_batch(blocks, 10, (me + 1) % n);
  }
  if (strcmp(mode, "large") == 0) {
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, large[0], large[1], kLarge);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, large[0], large[1], kLarge, 0);
  }
  if (strcmp(mode, "late") == 0) come_late(me);
  if (strcmp(mode, "lose") == 0) {
    char piece[32];
    snprintf(piece, sizeof piece, "t.json.pe-%d", me);
    remove(piece);
  }
  if (strcmp(mode, "differ") == 0 && me == 0) shmem_barrier_all();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, data, data, 16);
  shmem_finalize();
  return 0;
}

int main(int argc, char **argv) {
  int status = argc > 1 ? 0 : run("plain");
  for (int i = 1; i < argc; ++i) status |= run(argv[i]);
  return status;
}

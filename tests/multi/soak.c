// SPDX-License-Identifier: Apache-2.0
// Random operations against a model: `soak SEED SECONDS`. All PEs draw the same sequence of rounds from the seed. In a round each PE owns
// a part of every PE's array that nobody else writes, does random operations on it, and keeps a model of what must be there; after a
// barrier everyone compares what is in its own memory with what the writers' models say. Blocks come and go meanwhile.
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PART = 128, MOST_PES = 16, BLOCKS = 8 };

static int me, n;
static uint64_t seed;
static uint64_t shared_random, own_random;

static uint64_t next(uint64_t *state) {
  uint64_t x = (*state += 0x9e3779b97f4a7c15u);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
static int below(uint64_t *state, int limit) { return (int)(next(state) % (uint64_t)limit); }

static int64_t model[MOST_PES][PART]; // of my part at each PE
static int64_t buffer[PART], fetched[PART];
static int64_t counters[4], drawn[4];  // everyone's, at PE 0
static long lock_word;
static int64_t locked_sum;
static uint64_t signal_word;
static uint64_t signals_sent[MOST_PES];

static void die(const char *what, int pe, int index, int64_t seen, int64_t wanted) {
  printf("PE %d, seed %llu: %s at PE %d, element %d: %lld, not %lld\n", me, (unsigned long long)seed, what, pe, index, (long long)seen,
         (long long)wanted);
  fflush(stdout);
  shmem_global_exit(1);
}

/// One operation on my part of `array` at a random PE; `array` has a part for each PE.
static void operate(int64_t *array) {
  const int pe = below(&own_random, n), from = below(&own_random, PART), count = 1 + below(&own_random, PART - from);
  int64_t *there = array + me * PART + from, *mine = model[pe] + from;
  for (int i = 0; i < count; ++i) buffer[i] = (int64_t)next(&own_random);
  switch (below(&own_random, 12)) {
    case 0:
      shmem_int64_put(there, buffer, (size_t)count, pe);
      memcpy(mine, buffer, (size_t)count * 8);
      break;
    case 1:
      shmem_int64_put_nbi(there, buffer, (size_t)count, pe);
      memcpy(mine, buffer, (size_t)count * 8);
      break;
    case 2:
      shmem_int64_p(there, buffer[0], pe);
      mine[0] = buffer[0];
      break;
    case 3: {
      const int step = 1 + below(&own_random, 4), blocks = (count - 1) / step + 1;
      shmem_int64_iput(there, buffer, step, 1, (size_t)blocks, pe);
      for (int i = 0; i < blocks; ++i) mine[i * step] = buffer[i];
      break;
    }
    case 4:
      shmem_int64_get(fetched, there, (size_t)count, pe);
      for (int i = 0; i < count; ++i)
        if (fetched[i] != mine[i]) die("get", pe, from + i, fetched[i], mine[i]);
      break;
    case 5:
      if (shmem_int64_g(there, pe) != mine[0]) die("g", pe, from, shmem_int64_g(there, pe), mine[0]);
      break;
    case 6:
      shmem_int64_atomic_add(there, buffer[0], pe);
      mine[0] = (int64_t)((uint64_t)mine[0] + (uint64_t)buffer[0]);
      break;
    case 7: {
      const int64_t before = shmem_int64_atomic_fetch_add(there, 3, pe);
      if (before != mine[0]) die("fetch_add", pe, from, before, mine[0]);
      mine[0] = (int64_t)((uint64_t)mine[0] + 3u);
      break;
    }
    case 8: {
      const int64_t before = shmem_int64_atomic_compare_swap(there, mine[0], buffer[0], pe);
      if (before != mine[0]) die("compare_swap", pe, from, before, mine[0]);
      mine[0] = buffer[0];
      break;
    }
    case 9: {
      const int k = below(&own_random, 4);
      shmem_int64_atomic_add(&counters[k], 1, 0);
      ++drawn[k];
      break;
    }
    case 10:
      shmem_int64_put_signal(there, buffer, (size_t)count, &signal_word, 1, SHMEM_SIGNAL_ADD, pe);
      memcpy(mine, buffer, (size_t)count * 8);
      ++signals_sent[pe];
      break;
    default:
      shmem_set_lock(&lock_word);
      shmem_int64_p(&locked_sum, shmem_int64_g(&locked_sum, 0) + 1, 0);
      shmem_clear_lock(&lock_word);
      ++drawn[0];
      shmem_int64_atomic_add(&counters[0], 1, 0);
      break;
  }
  shmem_quiet(); // the next operation may hit the same words
}

/// What lies in my memory, held against the models of those who wrote it.
static void compare(const int64_t *array) {
  static int64_t theirs[PART];
  static int64_t published[MOST_PES][PART];
  memcpy(published, model, sizeof model);
  shmem_barrier_all();
  for (int writer = 0; writer < n; ++writer) {
    shmem_int64_get(theirs, published[me], PART, writer);
    for (int i = 0; i < PART; ++i)
      if (array[writer * PART + i] != theirs[i]) die("memory", me, writer * PART + i, array[writer * PART + i], theirs[i]);
  }
  shmem_barrier_all();
}

/// Sums over all PEs must agree with what each one did.
static void compare_counts(void) {
  static int64_t all[4];
  shmem_int64_sum_reduce(SHMEM_TEAM_WORLD, all, drawn, 4);
  for (int k = 0; k < 4; ++k)
    if (me == 0 && counters[k] != all[k]) die("counter", 0, k, counters[k], all[k]);
  static uint64_t expected[MOST_PES];
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, expected, signals_sent, (size_t)n);
  shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, expected[me]);
  shmem_barrier_all();
}

/// Teams and collectives against what each member can compute for itself.
static void collectives(uint64_t round) {
  static int64_t in[MOST_PES * 4], out[MOST_PES * 4];
  const int stride = 1 + below(&shared_random, 2), size = (n - 1) / stride + 1;
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, stride, size, NULL, 0, &team);
  if (team != SHMEM_TEAM_INVALID) {
    const int rank = shmem_team_my_pe(team), root = below(&shared_random, size);
    for (int i = 0; i < 4; ++i) in[i] = (int64_t)round * 100 + rank * 10 + i;
    shmem_int64_fcollect(team, out, in, 4);
    for (int i = 0; i < 4 * size; ++i)
      if (out[i] != (int64_t)round * 100 + i / 4 * 10 + i % 4) die("fcollect", me, i, out[i], (int64_t)round * 100 + i / 4 * 10 + i % 4);
    shmem_int64_broadcast(team, out, in, 4, root);
    if (out[3] != (int64_t)round * 100 + root * 10 + 3) die("broadcast", me, 3, out[3], (int64_t)round * 100 + root * 10 + 3);
    shmem_team_sync(team);
    shmem_team_destroy(team);
  } else {
    below(&shared_random, size);
  }
}

int main(int argc, char **argv) {
  if (argc != 3) return 99;
  seed = strtoull(argv[1], NULL, 10);
  const double seconds = atof(argv[2]);
  shmem_init();
  me = shmem_my_pe();
  n = shmem_n_pes();
  if (n > MOST_PES) return 99;
  shared_random = seed;
  own_random = seed * 1000 + (uint64_t)me + 1;
  int64_t *blocks[BLOCKS] = {0};
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  static int go_on = 1, all_go_on;
  uint64_t round = 0;
  do {
    const int which = below(&shared_random, BLOCKS);
    if (blocks[which] != NULL && below(&shared_random, 3) == 0) {
      shmem_free(blocks[which]);
      blocks[which] = NULL;
    }
    int64_t *array = blocks[which] = blocks[which] == NULL ? shmem_malloc((size_t)n * PART * 8) : shmem_realloc(blocks[which], (size_t)n * PART * 8);
    if (array == NULL) die("malloc", me, 0, 0, 0);
    memset(array, 0, (size_t)n * PART * 8);
    memset(model, 0, sizeof model);
    shmem_barrier_all();
    for (int i = 0; i < 60; ++i) operate(array);
    compare(array);
    compare_counts();
    collectives(round++);
    clock_gettime(CLOCK_MONOTONIC, &now);
    go_on = (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) * 1e-9 < seconds;
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, &all_go_on, &go_on, 1);
  } while (all_go_on);
  if (me == 0) printf("%llu rounds on %d PEs, seed %llu\n", (unsigned long long)round, n, (unsigned long long)seed);
  shmem_finalize();
  return 0;
}

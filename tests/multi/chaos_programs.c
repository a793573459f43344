// SPDX-License-Identifier: Apache-2.0
// The programs of docs/debugging.md, each once with a mistake and once without: `chaos_programs CASE wrong|right [ROUNDS]`.
// The mistakes cost nothing on a machine with shared memory, until SHOAL_CHAOS makes them show. Status 1: wrong values were seen.
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64 };

static long data[N], flag, source[N];
static int me, npes, right;
static long rounds; // a mistake shows in the first few, unless the machine is very busy

/// Ends the job with status 1 where it is not so.
static void all_are(const long *values, long wanted) {
  for (int i = 0; i < N; ++i)
    if (values[i] != wanted) {
      printf("PE %d: element %d is %ld, not %ld\n", me, i, values[i], wanted);
      fflush(stdout);
      shmem_global_exit(1);
    }
}

static void fill(long *values, long value) {
  for (int i = 0; i < N; ++i) values[i] = value;
}

/// Data, and a flag that says that they are there: a fence must stand between.
static void fence(void) {
  for (long round = 1; round <= rounds; ++round) {
    if (me == 0) {
      fill(source, round);
      shmem_long_put(data, source, N, 1);
      if (right) shmem_fence();
      shmem_long_p(&flag, round, 1);
    }
    if (me == 1) {
      shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
      all_are(data, round);
    }
    shmem_barrier_all();
  }
}

/// sync_all lets PEs meet, but completes no puts: that is barrier_all, or a quiet before.
static void sync(void) {
  for (long round = 1; round <= rounds; ++round) {
    fill(source, round * 100 + me);
    shmem_long_put(data, source, N, (me + 1) % npes);
    if (right) shmem_quiet();
    shmem_sync_all();
    all_are(data, round * 100 + (me + npes - 1) % npes);
    shmem_barrier_all();
  }
}

/// The same where only PE 0 puts, which over nodes is the one that lets PE 1, of its node, go on.
static void neighbour(void) {
  for (long round = 1; round <= rounds; ++round) {
    fill(source, round);
    if (me == 0) shmem_long_put(data, source, N, 1);
    if (right) shmem_quiet();
    shmem_sync_all();
    if (me == 1) all_are(data, round);
    shmem_barrier_all();
  }
}

/// The source of a put without blocking is read until quiet.
static void reuse(void) {
  for (long round = 1; round <= rounds; ++round) {
    fill(source, round);
    shmem_long_put_nbi(data, source, N, (me + 1) % npes);
    if (right) shmem_quiet();
    fill(source, -1);
    shmem_barrier_all();
    all_are(data, round);
    shmem_barrier_all();
  }
}

/// What a get without blocking brings is there after quiet.
static void get(void) {
  for (long round = 1; round <= rounds; ++round) {
    fill(source, round * 100 + me);
    shmem_barrier_all();
    shmem_long_get_nbi(data, source, N, (me + 1) % npes);
    if (right) shmem_quiet();
    all_are(data, round * 100 + (me + 1) % npes);
    shmem_barrier_all();
  }
}

/// So is what atomics without blocking bring.
static void fetch(void) {
  long back[N];
  const int other = (me + 1) % npes;
  for (long round = 1; round <= rounds; ++round) {
    const long wanted = round * 100 + other;
    fill(source, round * 100 + me);
    shmem_barrier_all();
    fill(back, -1);
    for (int i = 0; i < N; ++i) {
      if (i % 3 == 0) shmem_long_atomic_fetch_nbi(&back[i], &source[i], other);
      if (i % 3 == 1) shmem_long_atomic_fetch_add_nbi(&back[i], &source[i], 0, other);
      if (i % 3 == 2) shmem_long_atomic_compare_swap_nbi(&back[i], &source[i], wanted, wanted, other);
    }
    if (right) shmem_quiet();
    all_are(back, wanted);
    shmem_barrier_all();
  }
}

/// A barrier completes what was put on the default context.
static void context(void) {
  shmem_ctx_t ctx;
  shmem_ctx_create(0, &ctx);
  for (long round = 1; round <= rounds; ++round) {
    fill(source, round * 100 + me);
    shmem_ctx_long_put(ctx, data, source, N, (me + 1) % npes);
    if (right) shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    all_are(data, round * 100 + (me + npes - 1) % npes);
    shmem_barrier_all();
  }
  shmem_ctx_destroy(ctx);
}

/// A collective completes no puts but its own.
static void reduce(void) {
  static long sum[2];
  for (long round = 1; round <= rounds; ++round) {
    fill(source, round);
    shmem_long_put(data, source, N, (me + 1) % npes);
    if (right) shmem_quiet();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum[0], &sum[1], 1);
    all_are(data, round);
    shmem_barrier_all();
  }
}

/// Two puts to the same words may arrive in either order, unless a fence stands between.
static void twice(void) {
  for (long round = 1; round <= rounds; ++round) {
    for (long step = 1; step <= 3; ++step) {
      fill(source, round * 100 + step);
      shmem_long_put(data, source, N, (me + 1) % npes);
      if (right) shmem_fence();
    }
    shmem_barrier_all();
    all_are(data, round * 100 + 3);
    shmem_barrier_all();
  }
}

/// A get brings what this PE itself has put only after a quiet.
static void own(void) {
  long back[N];
  for (long round = 1; round <= rounds; ++round) {
    fill(source, round);
    shmem_long_put(data, source, N, (me + 1) % npes);
    if (right) shmem_quiet();
    shmem_long_get(back, data, N, (me + 1) % npes);
    all_are(back, round);
    shmem_barrier_all();
  }
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {{"fetch", fetch}, {"context", context}, {"reduce", reduce}, {"fence", fence}, {"sync", sync}, {"neighbour", neighbour}, {"reuse", reuse}, {"get", get}, {"twice", twice}, {"own", own}};

int main(int argc, char **argv) {
  if (argc < 3) return 99;
  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  right = strcmp(argv[2], "right") == 0;
  rounds = argc > 3 ? atol(argv[3]) : right ? 40 : 400;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(argv[1], cases[i].name) != 0) continue;
    cases[i].run();
    shmem_finalize();
    return 0;
  }
  return 99;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What shoal-perf compare runs under each OpenSHMEM library: portable from 1.4 on, with the routines of 1.5 where they
 * exist. usage: portable [max-bytes] Prints lines "test,bytes,nanoseconds": medians of samples of some milliseconds.
 * One-sided operations are PE 0's towards PE 1, while the others wait in a barrier; collectives are the whole world's,
 * and take as long as the slowest PE. */
#define _GNU_SOURCE
#include <sched.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
#define NEW_API 1
#else
#define NEW_API 0
#endif

enum { SAMPLES = 9 };
static const double kSampleSeconds = 2e-3;

static int me, npes, peer;
static size_t most;
static char *source, *dest;
static long *agreed, *counter;
static double* times;
static uint64_t *flag, *table;
static uint64_t sequence, random_state;
enum { TABLE_WORDS = 1 << 21 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

/* Everybody gets PE 0's value. */
static long agree(long value) {
  shmem_barrier_all();
  if (me == 0)
    for (int pe = 0; pe < npes; ++pe) shmem_long_p(agreed, value, pe);
  shmem_barrier_all();
  return *agreed;
}

typedef void (*body)(long count, size_t bytes);
typedef enum { PE0, PAIR, ALL } who;

static double once(who runs, body run, long count, size_t bytes) {
  shmem_barrier_all();
  double time = seconds();
  if (runs == ALL || me == 0 || (runs == PAIR && me == 1)) run(count, bytes);
  time = seconds() - time;
  if (runs == ALL) {
    shmem_double_p(&times[me], time, 0);
    shmem_barrier_all();
    for (int pe = 0; me == 0 && pe < npes; ++pe)
      if (times[pe] > time) time = times[pe];
  }
  shmem_barrier_all();
  return time;
}

static void measure(const char* test, who runs, body run, size_t bytes, double scale) {
  double samples[SAMPLES];
  long count = 1;
  for (;;) {
    const double first = once(runs, run, count, bytes), second = once(runs, run, count, bytes);
    const double time = (first < second ? first : second) + 1e-9;
    long next = 0;
    if (me == 0) {
      const long enough = (long)(kSampleSeconds / (time / (double)count)) + 1;
      next = time >= kSampleSeconds / 4 || count >= 1L << 22 ? -enough : count * 8 < enough ? count * 8 : enough;
    }
    next = agree(next);
    count = next < 0 ? -next : next;
    if (next < 0) break;
  }
  for (int i = 0; i < SAMPLES; ++i) samples[i] = once(runs, run, count, bytes) / (double)count;
  qsort(samples, SAMPLES, sizeof *samples, by_value);
  if (me == 0) {
    printf("%s,%zu,%.6g\n", test, bytes, samples[SAMPLES / 2] * 1e9 * scale);
    fflush(stdout);
  }
}

/* ---- one-sided ---- */

static void put_quiet(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) {
    shmem_putmem(dest, source, bytes, peer);
    shmem_quiet();
  }
}

static void put_stream(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) {
    shmem_putmem_nbi(dest, source, bytes, peer);
    if (i % 64 == 63) shmem_quiet();
  }
  shmem_quiet();
}

static void get(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) shmem_getmem(dest, source, bytes, peer);
}

static void iput(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) {
    shmem_iput64(dest, source, 2, 2, bytes / 16, peer);
    shmem_quiet();
  }
}

static void p(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) shmem_double_p((double*)dest + i % 512, 1.0, peer);
  shmem_quiet();
}

static volatile double sink;
static void g(long count, size_t bytes) {
  (void)bytes;
  double sum = 0;
  for (long i = 0; i < count; ++i) sum += shmem_double_g((double*)source + i % 512, peer);
  sink = sum;
}

static void fetch_add(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) (void)shmem_long_atomic_fetch_add(counter, 1, peer);
}

static void compare_swap(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) (void)shmem_long_atomic_compare_swap(counter, 0, 0, peer);
}

static void inc(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) shmem_long_atomic_inc(counter, peer);
  shmem_quiet();
}

static void fetch_add_contended(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) (void)shmem_long_atomic_fetch_add(counter, 1, 0);
}

static void gups(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    shmem_uint64_atomic_xor(&table[random_state % TABLE_WORDS], random_state,
                            (int)((random_state >> 40) % (uint64_t)npes));
  }
  shmem_quiet();
}

/* ---- two PEs in turn ---- */

static void send_signal(size_t bytes, uint64_t value) {
#if NEW_API
  shmem_putmem_signal(dest, source, bytes, flag, value, SHMEM_SIGNAL_SET, peer);
#else
  shmem_putmem(dest, source, bytes, peer);
  shmem_fence();
  shmem_uint64_p(flag, value, peer);
#endif
}

static void signal_pingpong(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) {
    const uint64_t value = ++sequence;
    if (me == 0) send_signal(bytes, value);
    shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, value);
    if (me == 1) send_signal(bytes, value);
  }
}

static void p_pingpong(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) {
    const uint64_t value = ++sequence;
    if (me == 0) shmem_uint64_p(flag, value, peer);
    shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, value);
    if (me == 1) shmem_uint64_p(flag, value, peer);
  }
}

/* ---- all ---- */

static void barrier_all(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) shmem_barrier_all();
}

static void sync_all(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) shmem_sync_all();
}

static void lock(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) {
    shmem_set_lock(counter + 1);
    shmem_clear_lock(counter + 1);
  }
}

#if NEW_API
static void reduce(long count, size_t bytes) {
  for (long i = 0; i < count; ++i)
    shmem_float_sum_reduce(SHMEM_TEAM_WORLD, (float*)dest, (const float*)source, bytes / 4);
}
static void broadcast(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, bytes, (int)(i % npes));
}
static void fcollect(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, bytes);
}
static void alltoall(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, bytes);
}
#else
/* Work arrays take turns: one may still be in use by a slower PE when the next call begins. */
enum { TURNS = 4 };
static long reduce_sync[TURNS][SHMEM_REDUCE_SYNC_SIZE], broadcast_sync[TURNS][SHMEM_BCAST_SYNC_SIZE];
static long collect_sync[TURNS][SHMEM_COLLECT_SYNC_SIZE], alltoall_sync[TURNS][SHMEM_ALLTOALL_SYNC_SIZE];
static float* work[TURNS];
static long turn;

static void reduce(long count, size_t bytes) {
  for (long i = 0; i < count; ++i, ++turn)
    shmem_float_sum_to_all((float*)dest, (float*)source, (int)(bytes / 4), 0, 0, npes, work[turn % TURNS],
                           reduce_sync[turn % TURNS]);
}
static void broadcast(long count, size_t bytes) {
  for (long i = 0; i < count; ++i, ++turn)
    shmem_broadcast32(dest, source, bytes / 4, (int)(i % npes), 0, 0, npes, broadcast_sync[turn % TURNS]);
}
static void fcollect(long count, size_t bytes) {
  for (long i = 0; i < count; ++i, ++turn)
    shmem_fcollect32(dest, source, bytes / 4, 0, 0, npes, collect_sync[turn % TURNS]);
}
static void alltoall(long count, size_t bytes) {
  for (long i = 0; i < count; ++i, ++turn)
    shmem_alltoall32(dest, source, bytes / 4, 0, 0, npes, alltoall_sync[turn % TURNS]);
}
static void prepare(void) {
  for (int t = 0; t < TURNS; ++t) {
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) reduce_sync[t][i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; ++i) broadcast_sync[t][i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_COLLECT_SYNC_SIZE; ++i) collect_sync[t][i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_ALLTOALL_SYNC_SIZE; ++i) alltoall_sync[t][i] = SHMEM_SYNC_VALUE;
    work[t] = shmem_malloc((most / 8 + SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1) * sizeof(float));
  }
}
#endif

/* A wrong sum is no result. */
static void check_reduce(size_t bytes) {
  shmem_barrier_all();
  for (size_t i = 0; i < bytes / 4; i += 61)
    if (((float*)dest)[i] != (float)(npes * (1 + (int)(i % 7)))) {
      fprintf(stderr, "PE %d: wrong sum at element %zu of %zu\n", me, i, bytes / 4);
      shmem_global_exit(1);
    }
  shmem_barrier_all();
}

static void pin(void) {
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int which = me % CPU_COUNT(&allowed);
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && which-- == 0) {
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      sched_setaffinity(0, sizeof one, &one);
    }
}

static void* symmetric(size_t bytes) {
  void* memory = shmem_align(4096, bytes);
  if (memory == NULL) {
    fprintf(stderr, "no %zu bytes of symmetric heap\n", bytes);
    shmem_global_exit(1);
  }
  memset(memory, 0, bytes);
  return memory;
}

static void one_sided(void) {
  static const size_t sizes[] = {8, 4096, 65536, 1 << 20, 4 << 20, 40000000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= most; ++i) {
    measure("put + quiet", PE0, put_quiet, sizes[i], 1);
    measure("put_nbi, quiet every 64", PE0, put_stream, sizes[i], 1);
    measure("get", PE0, get, sizes[i], 1);
    if (sizes[i] >= 4096) measure("iput, stride 2, + quiet", PE0, iput, sizes[i], 1);
  }
  measure("double_p", PE0, p, 0, 1);
  measure("double_g", PE0, g, 0, 1);
  measure("atomic_fetch_add", PE0, fetch_add, 0, 1);
  measure("atomic_compare_swap", PE0, compare_swap, 0, 1);
  measure("atomic_inc", PE0, inc, 0, 1);
  measure("atomic_fetch_add, all on one word", ALL, fetch_add_contended, 0, 1);
  measure("random atomic_xor", ALL, gups, 0, 1);
}

static void in_turn(void) {
  if (npes < 2) return;
  measure("put with signal, half round trip", PAIR, signal_pingpong, 8, 0.5);
  measure("put with signal, half round trip", PAIR, signal_pingpong, 4096, 0.5);
  measure("p + wait_until, half round trip", PAIR, p_pingpong, 0, 0.5);
}

static void together(void) {
  static const size_t sizes[] = {8, 4000, 400000, 4000000, 40000000};
  *counter = 0;
  measure("barrier_all", ALL, barrier_all, 0, 1);
  measure("sync_all", ALL, sync_all, 0, 1);
  measure("lock, uncontended", PE0, lock, 0, 1);
  measure("lock, contended", ALL, lock, 0, 1);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= most; ++i) {
    measure("float sum reduce", ALL, reduce, sizes[i], 1);
    check_reduce(sizes[i]);
    measure("broadcast", ALL, broadcast, sizes[i], 1);
    if (sizes[i] * (size_t)npes > most) continue;
    measure("fcollect", ALL, fcollect, sizes[i], 1);
    measure("alltoall", ALL, alltoall, sizes[i], 1);
  }
}

int main(int argc, char** argv) {
  most = argc > 1 ? strtoul(argv[1], NULL, 10) : 40000000;
  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  peer = (me ^ 1) < npes ? me ^ 1 : me;
  pin();
  source = symmetric(most + 4096);
  dest = symmetric(most + 4096);
  agreed = symmetric(128);
  counter = symmetric(128);
  flag = symmetric(128);
  times = symmetric((size_t)npes * sizeof *times);
  table = symmetric(TABLE_WORDS * sizeof *table);
  for (size_t i = 0; i < most / 4; ++i) ((float*)source)[i] = (float)(1 + (int)(i % 7));
  random_state = UINT64_C(0x9E3779B97F4A7C15) * (uint64_t)(me + 1);
#if !NEW_API
  prepare();
#endif
  shmem_barrier_all();
  one_sided();
  in_turn();
  together();
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}

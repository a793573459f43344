/* SPDX-License-Identifier: Apache-2.0 */
/* The counterpart of portable.c in MPI-3, for shoal-perf compare: the same tests under the same names, as far as MPI
 * has their like. One-sided operations are passive-target, in one epoch that lasts (lock_all), completed by a flush.
 * usage: portable_mpi [max-bytes] */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 9 };
static const double kSampleSeconds = 2e-3;

static int me, npes, peer;
static size_t most;
static char *source, *dest;
static char* target; /* this rank's window: data, then a counter on a line of its own */
static MPI_Win window;
static MPI_Aint counter_at;

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

typedef void (*body)(long count, size_t bytes);
typedef enum { PE0, PAIR, ALL } who;

static double once(who runs, body run, long count, size_t bytes) {
  MPI_Barrier(MPI_COMM_WORLD);
  double time = MPI_Wtime(), slowest = 0;
  if (runs == ALL || me == 0 || (runs == PAIR && me == 1)) run(count, bytes);
  time = MPI_Wtime() - time;
  if (runs != ALL && me != 0) time = 0;
  MPI_Allreduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static void measure(const char* test, who runs, body run, size_t bytes, double scale) {
  double samples[SAMPLES];
  long count = 1;
  for (;;) { /* all ranks see the same times, so they agree */
    const double first = once(runs, run, count, bytes), second = once(runs, run, count, bytes);
    const double time = (first < second ? first : second) + 1e-9;
    const long enough = (long)(kSampleSeconds / (time / (double)count)) + 1;
    const int done = time >= kSampleSeconds / 4 || count >= 1L << 22;
    count = done ? enough : count * 8 < enough ? count * 8 : enough;
    if (done) break;
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
    MPI_Put(source, (int)bytes, MPI_BYTE, peer, 0, (int)bytes, MPI_BYTE, window);
    MPI_Win_flush(peer, window);
  }
}

static void put_stream(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) {
    MPI_Put(source, (int)bytes, MPI_BYTE, peer, 0, (int)bytes, MPI_BYTE, window);
    if (i % 64 == 63) MPI_Win_flush(peer, window);
  }
  MPI_Win_flush(peer, window);
}

static void get(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) {
    MPI_Get(dest, (int)bytes, MPI_BYTE, peer, 0, (int)bytes, MPI_BYTE, window);
    MPI_Win_flush(peer, window);
  }
}

static void g(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) {
    MPI_Get(dest, 1, MPI_DOUBLE, peer, (i % 512) * 8, 1, MPI_DOUBLE, window);
    MPI_Win_flush(peer, window);
  }
}

static void p(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) MPI_Put(source, 1, MPI_DOUBLE, peer, (i % 512) * 8, 1, MPI_DOUBLE, window);
  MPI_Win_flush(peer, window);
}

static void fetch_add_on(int pe, long count) {
  const int64_t one = 1;
  int64_t result;
  for (long i = 0; i < count; ++i) {
    MPI_Fetch_and_op(&one, &result, MPI_INT64_T, pe, counter_at, MPI_SUM, window);
    MPI_Win_flush(pe, window);
  }
}

static void fetch_add(long count, size_t bytes) {
  (void)bytes;
  fetch_add_on(peer, count);
}

static void fetch_add_contended(long count, size_t bytes) {
  (void)bytes;
  fetch_add_on(0, count);
}

static void compare_swap(long count, size_t bytes) {
  (void)bytes;
  const int64_t zero = 0;
  int64_t result;
  for (long i = 0; i < count; ++i) {
    MPI_Compare_and_swap(&zero, &zero, &result, MPI_INT64_T, peer, counter_at, window);
    MPI_Win_flush(peer, window);
  }
}

static void inc(long count, size_t bytes) {
  (void)bytes;
  const int64_t one = 1;
  for (long i = 0; i < count; ++i)
    MPI_Accumulate(&one, 1, MPI_INT64_T, peer, counter_at, 1, MPI_INT64_T, MPI_SUM, window);
  MPI_Win_flush(peer, window);
}

/* ---- messages: the two-sided way to do what a signal does ---- */

static void pingpong(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) {
    if (me == 0) MPI_Send(source, (int)bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(dest, (int)bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 1) MPI_Send(source, (int)bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
  }
}

/* ---- all ---- */

static void barrier_all(long count, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < count; ++i) MPI_Barrier(MPI_COMM_WORLD);
}
static void reduce(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) MPI_Allreduce(source, dest, (int)(bytes / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void broadcast(long count, size_t bytes) {
  for (long i = 0; i < count; ++i) MPI_Bcast(dest, (int)bytes, MPI_BYTE, (int)(i % npes), MPI_COMM_WORLD);
}
static void fcollect(long count, size_t bytes) {
  for (long i = 0; i < count; ++i)
    MPI_Allgather(source, (int)bytes, MPI_BYTE, dest, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void alltoall(long count, size_t bytes) {
  for (long i = 0; i < count; ++i)
    MPI_Alltoall(source, (int)bytes, MPI_BYTE, dest, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
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

static void* buffer(size_t bytes) {
  void* memory = NULL;
  if (posix_memalign(&memory, 4096, bytes) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(memory, 0, bytes);
  return memory;
}

int main(int argc, char** argv) {
  static const size_t sizes[] = {8, 4096, 65536, 1 << 20, 4 << 20, 40000000};
  static const size_t contributions[] = {8, 4000, 400000, 4000000, 40000000};
  most = argc > 1 ? strtoul(argv[1], NULL, 10) : 40000000;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &npes);
  peer = (me ^ 1) < npes ? me ^ 1 : me;
  pin();
  source = buffer(most + 4096);
  dest = buffer(most + 4096);
  counter_at = (MPI_Aint)((most + 4096) / 4096 * 4096);
  MPI_Win_allocate(counter_at + 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &target, &window);
  memset(target, 0, (size_t)counter_at + 4096);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= most; ++i) {
    measure("put + quiet", PE0, put_quiet, sizes[i], 1);
    measure("put_nbi, quiet every 64", PE0, put_stream, sizes[i], 1);
    measure("get", PE0, get, sizes[i], 1);
  }
  measure("double_p", PE0, p, 0, 1);
  measure("double_g", PE0, g, 0, 1);
  measure("atomic_fetch_add", PE0, fetch_add, 0, 1);
  measure("atomic_compare_swap", PE0, compare_swap, 0, 1);
  measure("atomic_inc", PE0, inc, 0, 1);
  measure("atomic_fetch_add, all on one word", ALL, fetch_add_contended, 0, 1);
  MPI_Win_unlock_all(window);
  if (npes > 1) {
    measure("put with signal, half round trip", PAIR, pingpong, 8, 0.5);
    measure("put with signal, half round trip", PAIR, pingpong, 4096, 0.5);
  }
  measure("barrier_all", ALL, barrier_all, 0, 1);
  for (size_t i = 0; i < sizeof contributions / sizeof *contributions && contributions[i] <= most; ++i) {
    measure("float sum reduce", ALL, reduce, contributions[i], 1);
    measure("broadcast", ALL, broadcast, contributions[i], 1);
    if (contributions[i] * (size_t)npes > most) continue;
    measure("fcollect", ALL, fcollect, contributions[i], 1);
    measure("alltoall", ALL, alltoall, contributions[i], 1);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}

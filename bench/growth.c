/* SPDX-License-Identifier: Apache-2.0
 * growth pes | nodes | start | teams | allocations [COUNT]: what costs as the job grows. PE 0 prints one line of JSON; bench/growth.py and
 * bench/scaling.py run this for many job sizes and say what each figure is. */
#define _GNU_SOURCE
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { ROUNDS = 200 };

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[count / 2];
}

/* Kilobytes behind `label` in a file of /proc. */
static double proc_kb(const char *path, const char *label) {
  FILE *file = fopen(path, "r");
  char line[256];
  long kb = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, label, strlen(label)) == 0) kb = strtol(line + strlen(label), NULL, 10);
  if (file != NULL) fclose(file);
  return (double)kb;
}

static double largest(double mine) {
  static double in, out;
  in = mine;
  shmem_double_max_reduce(SHMEM_TEAM_WORLD, &out, &in, 1);
  return out;
}

/* What this process has to itself, and its page tables. */
static double own_kb(void) {
  return proc_kb("/proc/self/smaps_rollup", "Pss:") + proc_kb("/proc/self/status", "VmPTE:");
}

static double barrier_us(void) {
  double times[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    const double start = now_us();
    for (int k = 0; k < 10; k++) shmem_barrier_all();
    times[i] = (now_us() - start) / 10;
  }
  return median(times, ROUNDS);
}

static double reduce_us(size_t count) {
  float *source = shmem_calloc(count, sizeof *source), *dest = shmem_calloc(count, sizeof *dest);
  double times[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    const double start = now_us();
    shmem_float_sum_reduce(SHMEM_TEAM_WORLD, dest, source, count);
    times[i] = now_us() - start;
  }
  shmem_free(source);
  shmem_free(dest);
  return median(times, ROUNDS);
}

static void measure_pes(double before_kb, double init_us) {
  const double after_kb = own_kb();
  const double init = largest(init_us), memory = largest(after_kb - before_kb);
  const double barrier = barrier_us(), small = reduce_us(1024), large = reduce_us(1 << 18);
  if (shmem_my_pe() == 0)
    printf("{\"pes\": %d, \"init_us\": %.1f, \"memory_kb\": %.0f, \"barrier_us\": %.3f, \"reduce_4k_us\": %.3f, \"reduce_1m_us\": %.2f}\n",
           shmem_n_pes(), init, memory, barrier, small, large);
}

/* Open sockets of this process. */
static int sockets(void) {
  int count = 0;
  struct stat about;
  for (int fd = 0; fd < 4096; fd++) count += fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode);
  return count;
}

/* A job over several nodes: what collectives take and which connections they open, then what a connection to everyone costs. */
static void measure_nodes(double before_kb, double init_us) {
  static long word;
  const int at_start = sockets();
  const double after_kb = own_kb();
  const double init = largest(init_us), memory = largest(after_kb - before_kb);
  const double barrier = barrier_us(), word_us = reduce_us(2), small = reduce_us(1024), large = reduce_us(1 << 18);
  const int opened = sockets() - at_start;
  const double with_these_kb = own_kb();
  const double connections = largest(opened);
  for (int pe = 0; pe < shmem_n_pes(); pe++) word += shmem_long_g(&word, pe);
  shmem_barrier_all();
  const int more = sockets() - at_start - opened;
  const double each = largest(more > 0 ? (own_kb() - with_these_kb) / more : 0);
  if (shmem_my_pe() == 0)
    printf("{\"pes\": %d, \"init_us\": %.1f, \"memory_kb\": %.0f, \"connections\": %.0f, \"connection_kb\": %.1f, \"barrier_us\": %.3f, "
           "\"reduce_8_us\": %.3f, \"reduce_4k_us\": %.3f, \"reduce_1m_us\": %.2f}\n",
           shmem_n_pes(), init, memory, connections, each, barrier, word_us, small, large);
}

/* Teams of 2, 4, 8 ... of the job's PEs: making one, and meeting in it. */
static void measure_teams(void) {
  for (int size = 2; size <= shmem_n_pes(); size *= 2) {
    double split[20], sync[ROUNDS];
    for (int i = 0; i < 20; i++) {
      shmem_team_t team;
      const double start = now_us();
      shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, size, NULL, 0, &team);
      split[i] = now_us() - start;
      for (int k = 0; i == 0 && team != SHMEM_TEAM_INVALID && k < ROUNDS; k++) {
        const double begin = now_us();
        shmem_team_sync(team);
        sync[k] = now_us() - begin;
      }
      shmem_team_destroy(team);
      shmem_barrier_all();
    }
    if (shmem_my_pe() == 0)
      printf("{\"pes\": %d, \"team\": %d, \"split_us\": %.2f, \"sync_us\": %.3f}\n", shmem_n_pes(), size, median(split, 20), median(sync, ROUNDS));
  }
}

/* Many small objects: the time of one more, and of one freed, as their number grows. */
static void measure_allocations(size_t count) {
  void **blocks = malloc(count * sizeof *blocks);
  for (size_t made = 0, next = 1000; made < count; next = next * 10 < count ? next * 10 : count) {
    const double start = now_us();
    const size_t first = made;
    for (; made < next; made++)
      if ((blocks[made] = shmem_malloc(48)) == NULL) shmem_global_exit(2);
    if (shmem_my_pe() == 0)
      printf("{\"pes\": %d, \"allocations\": %zu, \"malloc_us\": %.4f}\n", shmem_n_pes(), made, (now_us() - start) / (double)(made - first));
  }
  const double start = now_us();
  for (size_t i = 0; i < count; i++) shmem_free(blocks[(i * 7919) % count]);
  if (shmem_my_pe() == 0) printf("{\"pes\": %d, \"frees\": %zu, \"free_us\": %.4f}\n", shmem_n_pes(), count, (now_us() - start) / (double)count);
  free(blocks);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  const double before_kb = own_kb(), start = now_us();
  shmem_init();
  const double init_us = now_us() - start;
  if (strcmp(mode, "pes") == 0)
    measure_pes(before_kb, init_us);
  else if (strcmp(mode, "nodes") == 0)
    measure_nodes(before_kb, init_us);
  else if (strcmp(mode, "teams") == 0)
    measure_teams();
  else if (strcmp(mode, "allocations") == 0)
    measure_allocations(argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000);
  else if (strcmp(mode, "start") != 0)  /* which only starts and ends */
    shmem_global_exit(2);
  shmem_finalize();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Init and finalize, many times: `repeat_init TIMES`. Descriptors, mappings of files and threads must not become more. The
// C library's and a sanitizer's allocators take and return memory as they like: fewer than one mapping of it in ten times.
#include <dirent.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int entries(const char *folder) {
  DIR *open = opendir(folder);
  int count = 0;
  while (readdir(open) != NULL) ++count;
  closedir(open);
  return count;
}

typedef struct {
  int descriptors, files, memory, threads;
} Held;

static Held held(void) {
  Held now = {entries("/proc/self/fd"), 0, 0, entries("/proc/self/task")};
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[8192];
  while (fgets(line, sizeof line, maps) != NULL) {
    if (strchr(line, '/') != NULL) ++now.files; // memfds too: their names are "/memfd:..."
    else ++now.memory;
  }
  fclose(maps);
  return now;
}

static long word;

int main(int argc, char **argv) {
  const int times = argc > 1 ? atoi(argv[1]) : 10;
  Held before = {0, 0, 0, 0};
  for (int i = 0; i < times; ++i) {
    shmem_init();
    long *block = shmem_malloc(64);
    const int me = shmem_my_pe(), n = shmem_n_pes();
    word = -1;
    shmem_barrier_all();
    shmem_long_p(&word, i, (me + 1) % n);
    shmem_long_p(block, i, (me + 1) % n);
    shmem_barrier_all();
    if (word != i || *block != i) return 1;
    shmem_finalize();
    if (i == 9) before = held(); // after what is made once
  }
  const Held after = held();
  if (after.descriptors > before.descriptors || after.files > before.files || after.threads > before.threads ||
      after.memory > before.memory + 2 + times / 10) {
    printf("after %d times: %d descriptors, %d mappings of files, %d of memory, %d threads more\n", times,
           after.descriptors - before.descriptors, after.files - before.files, after.memory - before.memory,
           after.threads - before.threads);
    return 2;
  }
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * hot_paths OPERATION COUNT: one PE does it COUNT times on itself, and nothing else. For counting instructions
 * (tests/multi/instructions_test.py), which does not depend on what else the machine is doing. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t words[8], sink;
static uint64_t signal_word;

static void do_p(void) { shmem_uint64_p(words, 1, 0); }
static void do_g(void) { sink += shmem_uint64_g(words, 0); }
static void do_put8(void) { shmem_putmem(words, &sink, 8, 0); }
static void do_get8(void) { shmem_getmem(&sink, words, 8, 0); }
static void do_put4k(void) {
  static char *block;
  static char source[4096];
  if (block == NULL) block = shmem_malloc(4096);
  shmem_putmem(block, source, 4096, 0);
}
static void do_quiet(void) { shmem_quiet(); }
static void do_fetch_add(void) { sink += shmem_uint64_atomic_fetch_add(words, 1, 0); }
static void do_compare_swap(void) { sink += shmem_uint64_atomic_compare_swap(words, 0, 0, 0); }
static void do_signal(void) { shmem_signal_set(&signal_word, 1, 0); }
static void do_wait(void) { shmem_uint64_wait_until(&signal_word, SHMEM_CMP_GE, 0); }
static void do_barrier(void) { shmem_barrier_all(); }

/* The same on the heap, which the fast path knows; the words above are static data, found by a search. */
static uint64_t *heap;
static void do_heap_p(void) { shmem_uint64_p(heap, 1, 0); }
static void do_heap_g(void) { sink += shmem_uint64_g(heap, 0); }
static void do_heap_put8(void) { shmem_putmem(heap, &sink, 8, 0); }
static void do_heap_get8(void) { shmem_getmem(&sink, heap, 8, 0); }
static void do_heap_iput(void) { shmem_uint64_iput(heap, words, 2, 2, 4, 0); }
static void do_heap_fetch_add(void) { sink += shmem_uint64_atomic_fetch_add(heap, 1, 0); }
static void do_heap_signal(void) { shmem_signal_set(heap, 1, 0); }
static void do_heap_wait(void) { shmem_uint64_wait_until(heap, SHMEM_CMP_GE, 0); }

static const struct {
  const char *name;
  void (*run)(void);
} operations[] = {
    {"p", do_heap_p},           {"g", do_heap_g},         {"put8", do_heap_put8},
    {"get8", do_heap_get8},     {"put4k", do_put4k},      {"quiet", do_quiet},
    {"iput", do_heap_iput},     {"fetch_add", do_heap_fetch_add}, {"signal", do_heap_signal}, {"wait", do_heap_wait},
    {"barrier", do_barrier},    {"static_p", do_p},       {"static_g", do_g},
    {"static_put8", do_put8},   {"static_get8", do_get8}, {"static_fetch_add", do_fetch_add},
    {"static_compare_swap", do_compare_swap}, {"static_signal", do_signal}, {"static_wait", do_wait},
};

int main(int argc, char **argv) {
  const int count = argc == 3 ? atoi(argv[2]) : -1;
  for (size_t k = 0; k < sizeof operations / sizeof *operations; k++) {
    if (argc != 3 || strcmp(operations[k].name, argv[1]) != 0) continue;
    shmem_init();
    heap = shmem_calloc(8, sizeof *heap);
    for (int i = 0; i < count; i++) operations[k].run();
    shmem_finalize();
    return 0;
  }
  fprintf(stderr, "usage: hot_paths OPERATION COUNT, where OPERATION is one of:");
  for (size_t k = 0; k < sizeof operations / sizeof *operations; k++) fprintf(stderr, " %s", operations[k].name);
  fputc('\n', stderr);
  return 2;
}

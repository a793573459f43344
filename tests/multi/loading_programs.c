// SPDX-License-Identifier: Apache-2.0
// `loading_programs CASE PLUGIN`, for loading_test.py: what one thread does while another loads PLUGIN, whose constructor calls in_constructor.
// The loader holds a lock meanwhile, as for any constructor.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long word;
static int crashes;
static atomic_int stage;
static void reach(int next) { atomic_store(&stage, next); }
static void wait_for(int wanted) {
  while (atomic_load(&stage) < wanted) sched_yield();
}

static void *first_call(void *unused) {
  shmem_long_p(&word, 4, 0);
  return unused;
}
__attribute__((visibility("default"))) void in_constructor(void) {
  reach(2);
  wait_for(3);
  shmem_long_p(&word, 3, 0);
  pthread_t fresh;
  pthread_create(&fresh, NULL, first_call, NULL);
  pthread_join(fresh, NULL);
}
static void *work(void *unused) {
  static long *volatile nowhere;
  shmem_long_p(&word, 1, 0);
  reach(1);
  wait_for(2);
  if (crashes) *nowhere = 1;  // wrong
  shmem_long_p(&word, 2, 0);  // at a place that is new, beside code that is
  reach(3);
  return unused;
}

int main(int argc, char **argv) {
  int provided;
  if (argc < 3 || shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0) return 97;
  crashes = strcmp(argv[1], "crash") == 0;
  pthread_t other;
  pthread_create(&other, NULL, work, NULL);
  wait_for(1);
  if (dlopen(argv[2], RTLD_NOW) == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 96;
  }
  pthread_join(other, NULL);
  shmem_finalize();
  return 0;
}

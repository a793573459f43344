// SPDX-License-Identifier: Apache-2.0
// Crashes, one a run, for crash_test.py: `crash_programs CASE`. PE 1 crashes on the line that ends with the comment "wrong". A case that
// comes back gives status 98.
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int me;
static long word, *heap;

static void crash(void) {
  static long *volatile nowhere;
  if (me == 1) *nowhere = 1; // wrong
  shmem_barrier_all();
}
static void crash_in_put(void) {
  if (me == 1) shmem_long_put(heap, (long *)sysconf(_SC_PAGESIZE) - 1, 1, 0); // wrong
  shmem_barrier_all();
}
static void crash_by_kill(void) {
  if (me == 1) kill(getpid(), SIGSEGV); // wrong
  shmem_barrier_all();
}
static void crash_null_call(void) {
  static void (*volatile nothing)(void);
  if (me == 1) nothing(); // wrong
  shmem_barrier_all();
}
static int deep(int depth);
static void limit_stack(void) {
  const struct rlimit limit = {1 << 20, 1 << 20};
  setrlimit(RLIMIT_STACK, &limit);
}
static void crash_overflow(void) {
  limit_stack();
  if (me == 1) deep(0);
  shmem_barrier_all();
}
static void *call_deep(void *unused) {
  shmem_long_p(&word, 1, 0);
  deep(0);
  return unused;
}
static void crash_overflow_thread(void) {
  pthread_t other;
  if (me == 1) {
    pthread_create(&other, NULL, call_deep, NULL);
    pthread_join(other, NULL);
  }
  shmem_barrier_all();
}
static int deep(int depth) { volatile char room[1000]; room[0] = 1; return depth < 0 ? 0 : deep(depth + 1) + room[0]; } // wrong
static void crash_malloc_damaged(void) {
  static long *volatile nowhere;
  char *volatile p = malloc(64);
  if (me == 1) memset(p, 0x41, (size_t)((char *)sbrk(0) - p));
  if (me == 1) *nowhere = 1; // wrong
  shmem_barrier_all();
}
static void *pause_for_ever(void *unused) {
  for (;;) pause();
  return unused;
}
static void crash_in_malloc(void) { // which holds its lock then, since there is another thread
  pthread_t other;
  pthread_create(&other, NULL, pause_for_ever, NULL);
  char *volatile before = malloc(2000), *volatile p = malloc(2000), *volatile q = malloc(2000);
  if (me == 1 && before != NULL && q != NULL) {
    void **volatile damaged = (void **)p;
    free(p);
    damaged[1] = (void *)8;
    q = malloc(3000); // wrong
  }
  shmem_barrier_all();
}
static struct sigaction former;
static void hear_first(int number, siginfo_t *info, void *context) { former.sa_sigaction(number, info, context); }
static void crash_chained(void) { // another library's handler, which calls the one before it
  struct sigaction mine = {.sa_flags = SA_SIGINFO};
  mine.sa_sigaction = hear_first;
  sigaction(SIGSEGV, &mine, &former);
  static long *volatile nowhere;
  if (me == 1) *nowhere = 1; // wrong
  shmem_barrier_all();
}
static void crash_of_child(void) { // which is no PE: this one goes on
  int status = 0;
  const pid_t child = me == 1 ? fork() : -1;
  if (child == 0) {
    raise(SIGFPE);
    _exit(0);
  }
  if (me == 1 && (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGFPE)) exit(96);
  shmem_barrier_all();
}
static void hear_crash(int number) { _exit(number); }
static void crash_heard(void) {
  signal(SIGSEGV, hear_crash);
  crash();
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {{"crash", crash},
             {"crash_in_put", crash_in_put},
             {"crash_by_kill", crash_by_kill},
             {"crash_null_call", crash_null_call},
             {"crash_overflow", crash_overflow},
             {"crash_overflow_thread", crash_overflow_thread},
             {"crash_malloc_damaged", crash_malloc_damaged},
             {"crash_in_malloc", crash_in_malloc},
             {"crash_chained", crash_chained},
             {"crash_of_child", crash_of_child},
             {"crash_heard", crash_heard}};

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc < 2 || strcmp(argv[1], cases[i].name) != 0) continue;
    int provided;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0) return 97;
    me = shmem_my_pe();
    heap = shmem_calloc(64, sizeof *heap);
    cases[i].run();
    shmem_finalize();
    return 98;
  }
  fprintf(stderr, "no such case\n");
  return 99;
}

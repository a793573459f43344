// SPDX-License-Identifier: Apache-2.0
// Crashes, one a run, for crash_test.py: `crash_programs CASE`. PE 1, or one alone, crashes on the line that ends with the
// comment "wrong". A case that comes back gives status 98.
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *program;
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
static void await_crash(int thread) { // until it is being told, which takes a child
  char path[64], pids[16];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", thread);
  for (;;) {
    const int file = open(path, O_RDONLY);
    const ssize_t n = read(file, pids, sizeof pids);
    close(file);
    if (n > 0) return;
    sched_yield();
  }
}
static void *lift(void *page) {
  await_crash(getpid());
  mprotect(page, 1, PROT_READ | PROT_WRITE);
  return NULL;
}
static void crash_transient(void) { // a fault that another thread ends
  long *volatile page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t other;
  pthread_create(&other, NULL, lift, page);
  if (me == 1) *page = 1; // wrong
  shmem_barrier_all();
}
static void *crash_here(void *thread) {
  atomic_store((atomic_int *)thread, gettid());
  static long *volatile nowhere;
  *nowhere = 1; // wrong
  return NULL;
}
static void crash_in_thread(void) { // and the others go on
  static atomic_int thread;
  pthread_t other;
  if (me != 1) return;
  pthread_create(&other, NULL, crash_here, &thread);
  while (atomic_load(&thread) == 0) sched_yield();
  await_crash(atomic_load(&thread));
}
static void crash_at_exit(void) {
  crash_in_thread();
  exit(0);
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
static int stay(struct dl_phdr_info *info, size_t bytes, void *stays) {
  atomic_store((atomic_int *)stays, info != NULL && bytes != 0);
  pause_for_ever(NULL);
  return 0;
}
static void *hold_loader(void *stays) {
  dl_iterate_phdr(stay, stays);
  return NULL;
}
static void crash_while_loading(void) { // another thread holds the loader's lock
  static atomic_int stays;
  pthread_t other;
  pthread_create(&other, NULL, hold_loader, &stays);
  while (!atomic_load(&stays)) sched_yield();
  crash();
}
static void crash_on_stack(char *memory, size_t bytes) { // the program's own for handlers
  const stack_t stack = {.ss_sp = memory, .ss_size = bytes};
  if (sigaltstack(&stack, NULL) != 0) exit(96);
  static long *volatile nowhere;
  if (me == 1) *nowhere = 1; // wrong
  shmem_barrier_all();
}
static void crash_on_small_stack(void) {
  const size_t bytes = 8192, page = (size_t)sysconf(_SC_PAGESIZE);
  char *memory = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) exit(96);
  crash_on_stack(memory + page, bytes);
}
static void crash_on_symmetric_stack(void) {
  static char memory[64 * 1024];
  crash_on_stack(memory, sizeof memory);
}
static void crash_below_stack(void) { // of handlers, which the library has provided
  stack_t stack;
  sigaltstack(NULL, &stack);
  if (me == 1) ((volatile char *)stack.ss_sp)[-1] = 1; // wrong
  shmem_barrier_all();
}
static void crash_deleted(void) { // the program has been built anew meanwhile
  shmem_barrier_all();
  if (me == 1 && unlink(program) != 0) exit(96);
  crash();
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
             {"crash_transient", crash_transient},
             {"crash_in_thread", crash_in_thread},
             {"crash_at_exit", crash_at_exit},
             {"crash_while_loading", crash_while_loading},
             {"crash_on_small_stack", crash_on_small_stack},
             {"crash_on_symmetric_stack", crash_on_symmetric_stack},
             {"crash_below_stack", crash_below_stack},
             {"crash_deleted", crash_deleted},
             {"crash_heard", crash_heard}};

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc < 2 || strcmp(argv[1], cases[i].name) != 0) continue;
    int provided;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0) return 97;
    me = shmem_n_pes() > 1 ? shmem_my_pe() : 1;
    program = argv[0];
    heap = shmem_calloc(64, sizeof *heap);
    cases[i].run();
    shmem_finalize();
    return 98;
  }
  fprintf(stderr, "no such case\n");
  return 99;
}

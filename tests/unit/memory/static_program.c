/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose static data moves: `static_program NAME` runs one check, without a name all. Built PIE and not, by
 * several linkers. C, so that stdout and environ are copy relocations where the compiler makes them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "static_shim.hpp"

extern char** environ;

enum { kBig = 8 << 20, kThreads = 4 };

static int initialised = 42;
static int zero;
static int* volatile pointer = &initialised; /* relocated at load */
static char big_bss[kBig];
static volatile int big_data[1 << 18] = {1, 2, 3};
static const char* volatile text = "text";
static char stdio_buffer[BUFSIZ];
FILE* volatile output;

#define CHECK(condition)                                                                         \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      fprintf(stderr, "%s:%d: failed: %s (%s)\n", __FILE__, __LINE__, #condition, shim_error()); \
      exit(1);                                                                                   \
    }                                                                                            \
  } while (0)

/* Where the other mapping of the file shows `address`. */
static char* begin;
static size_t bytes;
static char* view;
static void* in_view(const volatile void* address) { return view + ((const volatile char*)address - begin); }

static void attach(void) {
  char* fresh = NULL;
  CHECK(shim_attach(&fresh, 20000) == 0);
  view = fresh;
}
static void detach(void) { CHECK(shim_detach() == 0); }

static int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

static int count_entries(const char* path) {
  DIR* directory = opendir(path);
  int count = 0;
  CHECK(directory != NULL);
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

/* Mappings of files, memfds among them, or of memory. */
static int count_mappings(int of_files) {
  FILE* file = fopen("/proc/self/maps", "r");
  char line[8192];
  int count = 0;
  while (fgets(line, sizeof line, file)) count += (strchr(line, '/') != NULL) == of_files;
  fclose(file);
  return count;
}

/* ---- the checks ---- */

static void range_covers_the_variables(void) {
  const void* const inside[] = {
      &initialised,      &zero, big_bss, big_bss + kBig - 1, (const void*)big_data, (const void*)&pointer,
      (const void*)&text};
  for (size_t i = 0; i < sizeof inside / sizeof inside[0]; ++i)
    CHECK((const char*)inside[i] >= begin && (const char*)inside[i] < begin + bytes);
  CHECK((uintptr_t)begin % (uintptr_t)sysconf(_SC_PAGESIZE) == 0 && bytes % (size_t)sysconf(_SC_PAGESIZE) == 0);
  /* Not the heap, not the stack, not the code, and nothing that is read-only. */
  char* heap = malloc(16);
  CHECK(heap < begin || heap >= begin + bytes);
  CHECK((char*)&heap < begin || (char*)&heap >= begin + bytes);
  CHECK((char*)(uintptr_t)&count_mappings < begin || (char*)(uintptr_t)&count_mappings >= begin + bytes);
  free(heap);
}

static void only_programs_linked_against_the_library_count(void) {
  void* other = NULL;
  size_t size = 0;
  CHECK(shim_find("libmemory_static_shim.so", &other, &size) == 0 && other == begin && size == bytes);
  CHECK(shim_find("libshoal.so", &other, &size) == -1);
  CHECK(shim_find("libmemory_static_shim.so.7", &other, &size) == -1);
}

static void contents_move_both_ways(void) {
  memset(big_bss, 'x', kBig / 2);
  zero = 0;
  initialised = 42;
  attach();
  CHECK(initialised == 42 && zero == 0 && *pointer == 42 && big_data[2] == 3 && big_data[3] == 0);
  CHECK(big_bss[kBig / 2 - 1] == 'x' && big_bss[kBig / 2] == 0);
  CHECK(strcmp(text, "text") == 0);
  /* Ours to theirs and theirs to ours. */
  initialised = 43;
  CHECK(*(volatile int*)in_view(&initialised) == 43);
  *(volatile int*)in_view(&zero) = 7;
  CHECK(*(volatile int*)&zero == 7);
  *(volatile char*)in_view(big_bss + kBig - 1) = 'y';
  CHECK(*(volatile char*)(big_bss + kBig - 1) == 'y');
  detach();
  CHECK(*(volatile int*)&initialised == 43 && *(volatile int*)&zero == 7 && *pointer == 43);
  CHECK(big_bss[0] == 'x' && big_bss[kBig / 2] == 0 && big_bss[kBig - 1] == 'y');
}

static void untouched_pages_stay_uncommitted(void) {
  static char sparse[64 << 20];
  sparse[0] = 1;
  attach();
  unsigned char* resident = malloc(sizeof sparse / 4096);
  char* first = in_view(sparse);
  first += (4096 - (uintptr_t)first % 4096) % 4096;
  CHECK(mincore(first, sizeof sparse - 4096, resident) == 0);
  size_t present = 0;
  for (size_t i = 0; i < sizeof sparse / 4096 - 1; ++i) present += resident[i] & 1;
  CHECK(present < 64);
  free(resident);
  detach();
}

static void stdio_and_environment_survive(void) {
  char path[] = "/tmp/shoal-static-XXXXXX";
  const int fd = mkstemp(path);
  CHECK(fd >= 0);
  unlink(path);
  FILE* file = fdopen(fd, "w+");
  setvbuf(file, stdio_buffer, _IOFBF, sizeof stdio_buffer); /* a buffer that moves while it is full */
  output = file;
  FILE* const out = stdout;
  char** const variables = environ;
  fputs("before ", output);
  attach();
  CHECK(stdout == out && environ == variables);
  fputs("during ", output);
  printf("%s", "");
  CHECK(setenv("SHOAL_STATIC_TEST", "set", 1) == 0 && strcmp(getenv("SHOAL_STATIC_TEST"), "set") == 0);
  detach();
  fputs("after", output);
  CHECK(fflush(output) == 0);
  rewind(file);
  char line[64] = "";
  CHECK(fgets(line, sizeof line, file) != NULL && strcmp(line, "before during after") == 0);
  fclose(file);
  CHECK(strcmp(getenv("SHOAL_STATIC_TEST"), "set") == 0 && stdout == out);
}

static void the_heap_goes_on_growing(void) {
  attach();
  char* blocks[200];
  for (int i = 0; i < 200; ++i) {
    blocks[i] = malloc(50000);
    memset(blocks[i], i, 50000);
  }
  detach();
  for (int i = 0; i < 200; ++i) {
    CHECK(blocks[i][49999] == (char)i);
    free(blocks[i]);
  }
}

static void a_child_has_its_own_copy(void) {
  initialised = 1;
  attach();
  volatile int* const seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int round = 0; round < 20; ++round) {
    initialised = round;
    const pid_t child = fork();
    if (child == 0) {
      if (initialised != round || *pointer != round || big_data[2] != 3) _exit(1);
      initialised = -1;
      memset(big_bss, 'c', kBig);
      /* Neither sees the other's writes from now on. */
      for (*seen = round + 1; *seen > 0;) usleep(100);
      if (initialised != -1) _exit(2);
      if (*(volatile int*)in_view(&initialised) != round + 1000) _exit(3);
      /* A grandchild, and a child that detaches what isn't attached to it. */
      const pid_t grandchild = fork();
      if (grandchild == 0) {
        initialised = -2;
        _exit(big_bss[5] == 'c' ? 0 : 1);
      }
      if (wait_for(grandchild) != 0 || initialised != -1) _exit(4);
      if (shim_detach() != 0 || initialised != -1) _exit(5);
      _exit(0);
    }
    while (*seen != round + 1) usleep(100);
    CHECK(initialised == round && big_bss[5] != 'c');
    initialised = round + 1000;
    *seen = 0;
    CHECK(wait_for(child) == 0);
    CHECK(initialised == round + 1000);
  }
  detach();
  const pid_t child = fork(); /* and nothing special after detach */
  if (child == 0) {
    initialised = 5;
    _exit(0);
  }
  CHECK(wait_for(child) == 0 && initialised == 1019);
  munmap((void*)seen, 4096);
}

static int fork_notes;
static void note_prepare(void) { fork_notes += 1; }
static void note_parent(void) { fork_notes += 10; }
static void note_child(void) { fork_notes += 100; }

/* The program's own fork handlers see the memory that they are to see, whatever the order of registration. */
static void fork_handlers_of_the_program_work(void) {
  static int registered;
  if (!registered++) CHECK(pthread_atfork(note_prepare, note_parent, note_child) == 0);
  attach();
  fork_notes = 0;
  const pid_t child = fork();
  if (child == 0) _exit(fork_notes == 101 ? 0 : fork_notes);
  CHECK(wait_for(child) == 0);
  CHECK(fork_notes == 11);
  detach();
}

static void a_child_can_execute_a_program(void) {
  attach();
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/true", "true", (char*)NULL);
    _exit(1);
  }
  CHECK(wait_for(child) == 0);
  CHECK(system("exit 3") == 3 << 8);
  detach();
}

/* Threads that write without pause: what they count in private and in static memory must stay equal. */
static volatile int stop;
static struct {
  volatile unsigned long count;
  char padding[4088];
} counters[kThreads];

static void* count_up(void* argument) {
  const size_t me = (size_t)(uintptr_t)argument;
  unsigned long mine = counters[me].count;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) counters[me].count = ++mine;
  return (void*)(counters[me].count == mine ? (uintptr_t)1 : 0);
}

static void no_write_of_a_running_thread_is_lost(void) {
  pthread_t threads[kThreads];
  stop = 0;
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, count_up, (void*)(uintptr_t)i) == 0);
  for (int round = 0; round < 30; ++round) {
    attach();
    detach();
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < kThreads; ++i) {
    void* result = NULL;
    CHECK(pthread_join(threads[i], &result) == 0 && result != NULL);
  }
}

/* Threads that allocate, print, fork and come and go hold every lock there is at some time. */
static void* be_busy(void* argument) {
  for (unsigned round = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++round) {
    void* blocks[8];
    for (int i = 0; i < 8; ++i) blocks[i] = malloc(1u + (round * 7919u) % 200000u);
    for (int i = 0; i < 8; ++i) free(blocks[i]);
    char line[64];
    snprintf(line, sizeof line, "%u", round);
    if (argument != NULL && round % 64 == 0) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      if (child > 0 && wait_for(child) != 0) return NULL;
    }
  }
  return (void*)1;
}
static void* end_at_once(void* argument) { return argument; }
static void* start_others(void* argument) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    pthread_t other;
    if (pthread_create(&other, NULL, end_at_once, NULL) != 0) return NULL;
    pthread_join(other, NULL);
  }
  return argument;
}

static void busy_threads_can_be_held(void) {
  pthread_t threads[4];
  stop = 0;
  CHECK(pthread_create(&threads[0], NULL, be_busy, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, be_busy, NULL) == 0);
  CHECK(pthread_create(&threads[2], NULL, start_others, (void*)1) == 0);
#ifdef SHOAL_TEST_SANITIZED
  CHECK(pthread_create(&threads[3], NULL, be_busy, NULL) == 0); /* TSan dislikes forks of many threads */
#else
  CHECK(pthread_create(&threads[3], NULL, be_busy, (void*)1) == 0);
#endif
  for (int round = 0; round < 30; ++round) {
    attach();
    detach();
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 4; ++i) {
    void* result = NULL;
    CHECK(pthread_join(threads[i], &result) == 0 && result != NULL);
  }
}

/* A thread that blocks all signals and sleeps is no obstacle; one that runs is named. */
static void* block_signals(void* argument) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  pthread_setname_np(pthread_self(), "stubborn");
  __atomic_store_n((int*)argument, 2, __ATOMIC_SEQ_CST);
  while (__atomic_load_n((int*)argument, __ATOMIC_SEQ_CST) == 2) usleep(200000);
  __atomic_store_n((int*)argument, 4, __ATOMIC_SEQ_CST);
  while (__atomic_load_n((int*)argument, __ATOMIC_SEQ_CST) == 4) {
  }
  return NULL;
}

static void threads_that_block_signals(void) {
  int* const state = calloc(1, sizeof *state);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, block_signals, state) == 0);
  while (__atomic_load_n(state, __ATOMIC_SEQ_CST) != 2) usleep(1000);
  initialised = 9;
  for (int round = 0; round < 5; ++round) {
    attach();
    detach();
  }
  __atomic_store_n(state, 3, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(state, __ATOMIC_SEQ_CST) != 4) usleep(1000);
  char* ignored = NULL;
  CHECK(shim_attach(&ignored, 500) == -1);
  CHECK(strstr(shim_error(), "(stubborn)") != NULL && strstr(shim_error(), "SHOAL_STATIC_DATA=0") != NULL);
  CHECK(initialised == 9);
  __atomic_store_n(state, 5, __ATOMIC_SEQ_CST);
  pthread_join(thread, NULL);
  attach();
  CHECK(initialised == 9);
  detach();
  free(state);
}

static void signal_dispositions_are_as_before(void) {
  struct sigaction before[65], after;
  pthread_t thread;
  stop = 0;
  CHECK(pthread_create(&thread, NULL, count_up, NULL) == 0);
  for (int i = 1; i <= 64; ++i)
    if (sigaction(i, NULL, &before[i]) != 0) before[i].sa_handler = SIG_ERR;
  attach();
  for (int i = 1; i <= 64; ++i)
    if (before[i].sa_handler != SIG_ERR) {
      CHECK(sigaction(i, NULL, &after) == 0);
      CHECK(after.sa_handler == before[i].sa_handler);
    }
  detach();
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
}

static void a_thousand_times_leave_nothing_behind(void) {
  attach();
  detach();
  const int descriptors = count_entries("/proc/self/fd"), files = count_mappings(1), memory = count_mappings(0);
  for (int round = 0; round < 1000; ++round) {
    initialised = round;
    attach();
    CHECK(initialised == round);
    detach();
  }
  CHECK(count_entries("/proc/self/fd") == descriptors);
  CHECK(count_mappings(1) == files);
  CHECK(count_mappings(0) <= memory + 50); /* malloc's, and a sanitizer's: far fewer than the rounds */
}

static void limits_are_errors_that_change_nothing(void) {
#ifdef SHOAL_TEST_SANITIZED
  return; /* UBSan itself needs descriptors to look at an exception */
#endif
  struct rlimit before, none;
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  none = before;
  none.rlim_cur = 0;
  initialised = 77;
  CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
  char* ignored = NULL;
  const int result = shim_attach(&ignored, 20000);
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(result == -1 && initialised == 77);
  attach();
  detach();
}

static void the_build_is_identified(void) {
  CHECK(strncmp(shim_build_id(), "build-id:", 9) == 0 || strncmp(shim_build_id(), "file:", 5) == 0);
  CHECK(strlen(shim_build_id()) > 12);
}

static const struct {
  const char* name;
  void (*run)(void);
} checks[] = {
#define ROW(f) \
  { #f, f }
    ROW(range_covers_the_variables),
    ROW(only_programs_linked_against_the_library_count),
    ROW(contents_move_both_ways),
    ROW(untouched_pages_stay_uncommitted),
    ROW(stdio_and_environment_survive),
    ROW(the_heap_goes_on_growing),
    ROW(a_child_has_its_own_copy),
    ROW(fork_handlers_of_the_program_work),
    ROW(a_child_can_execute_a_program),
    ROW(no_write_of_a_running_thread_is_lost),
    ROW(busy_threads_can_be_held),
    ROW(threads_that_block_signals),
    ROW(signal_dispositions_are_as_before),
    ROW(a_thousand_times_leave_nothing_behind),
    ROW(limits_are_errors_that_change_nothing),
    ROW(the_build_is_identified),
};

/* Each in a process of its own, so that none finds pages that another has touched. */
static int run_all(const char* program) {
  int failed = 0;
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", program, checks[i].name, (char*)NULL);
      _exit(127);
    }
    const int status = wait_for(child);
    if (status != 0) fprintf(stderr, "FAILED %s (wait status %#x)\n", checks[i].name, (unsigned)status);
    failed += status != 0;
  }
  return failed != 0;
}

int main(int argc, char** argv) {
  if (argc < 2) return run_all(argv[0]);
  void* found = NULL;
  CHECK(shim_find("libmemory_static_shim.so", &found, &bytes) == 0);
  begin = found;
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; ++i) {
    if (strcmp(argv[1], checks[i].name) != 0) continue;
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    checks[i].run();
    clock_gettime(CLOCK_MONOTONIC, &t1);
    printf("ok %s (%.0f ms)\n", checks[i].name,
           (double)(t1.tv_sec - t0.tv_sec) * 1e3 + (double)(t1.tv_nsec - t0.tv_nsec) * 1e-6);
    return 0;
  }
  fprintf(stderr, "no check is called %s\n", argv[1]);
  return 2;
}

// SPDX-License-Identifier: Apache-2.0
// What every conformance program shares: start and end, checks that say where and what, a deadline, a printed seed.
// The first check that fails ends the whole job with status 1. Valid C11 and C++17. Not thread-safe except CHECK*().
#pragma once
#include <shmem.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEST_UNUSED __attribute__((unused))

static TEST_UNUSED int me = -1;
static TEST_UNUSED int npes = 0;
static TEST_UNUSED const char *test_name = "?";
static TEST_UNUSED const char *volatile test_section = "start";
static TEST_UNUSED uint64_t test_random_state = 1;

/// Seconds until a program that has not ended is taken for hung; SHOAL_TEST_DEADLINE overrides it (emulators, sanitizers).
#ifndef TEST_DEADLINE
#define TEST_DEADLINE 100
#endif

static inline void test_append(char *line, size_t size, const char *text) {
  size_t used = strlen(line);
  while (*text != '\0' && used + 1 < size) line[used++] = *text++;
  line[used] = '\0';
}

/// Only async-signal-safe calls: the program is stuck anywhere when this runs.
static inline void test_deadline_passed(int signal_number) {
  (void)signal_number;
  char line[256] = "deadline passed: PE ";
  char digits[12] = "";
  int value = me < 0 ? 0 : me, at = 10;
  do digits[at--] = (char)('0' + value % 10); while ((value /= 10) != 0);
  test_append(line, sizeof line, digits + at + 1);
  test_append(line, sizeof line, " of ");
  test_append(line, sizeof line, test_name);
  test_append(line, sizeof line, " hangs in section: ");
  test_append(line, sizeof line, test_section);
  test_append(line, sizeof line, "\n");
  if (write(2, line, strlen(line)) < 0) _exit(125);
  _exit(124);
}

static inline void test_set_deadline(const char *name) {
  test_name = name;
  const char *text = getenv("SHOAL_TEST_DEADLINE");
  const int seconds = text != NULL ? atoi(text) : 0;
  signal(SIGALRM, test_deadline_passed);
  alarm((unsigned)(seconds > 0 ? seconds : TEST_DEADLINE));
}

/// Names what runs now, for the deadline's message.
static inline void section(const char *name) { test_section = name; }

static inline void test_fail(void) {
  fflush(stderr);
  shmem_global_exit(1);
  _exit(1);
}

static inline void test_check(int ok, const char *text, const char *file, int line) {
  if (ok) return;
  fprintf(stderr, "PE %d: %s:%d: [%s] does not hold: %s\n", me, file, line, test_section, text);
  test_fail();
}

/// long double holds every value of every type that the library moves (64-bit integers, float, double) exactly.
static inline void test_check_equal(long double got, long double wanted, const char *text, const char *file, int line) {
  if (got == wanted) return;
  fprintf(stderr, "PE %d: %s:%d: [%s] %s: got %.21Lg, wanted %.21Lg\n", me, file, line, test_section, text, got, wanted);
  test_fail();
}

static inline void test_check_bytes(const void *got, const void *wanted, size_t bytes, const char *text, const char *file,
                                    int line) {
  if (bytes == 0 || memcmp(got, wanted, bytes) == 0) return;
  const unsigned char *a = (const unsigned char *)got, *b = (const unsigned char *)wanted;
  size_t at = 0;
  while (a[at] == b[at]) ++at;
  fprintf(stderr, "PE %d: %s:%d: [%s] %s: byte %zu of %zu: got 0x%02x, wanted 0x%02x\n", me, file, line, test_section, text,
          at, bytes, a[at], b[at]);
  test_fail();
}

#define CHECK(condition) test_check(!!(condition), #condition, __FILE__, __LINE__)
/// Numbers of any real type; each argument is evaluated once.
#define CHECK_EQ(got, wanted) test_check_equal((long double)(got), (long double)(wanted), #got, __FILE__, __LINE__)
#define CHECK_BYTES(got, wanted, bytes) test_check_bytes(got, wanted, bytes, #got, __FILE__, __LINE__)

/// splitmix64: 64 even bits, the same on every PE until a PE calls it on its own.
static inline uint64_t test_mix(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}
static inline uint64_t test_random(void) { return test_mix(test_random_state++); }
/// Even in [low, high].
static inline int test_random_in(int low, int high) {
  return low + (int)(test_random() % (uint64_t)(high - low + 1));
}

/// Collective. All PEs take PE 0's seed: SHOAL_TEST_SEED, or one from the clock; it is printed.
static inline void test_seed(void) {
  uint64_t *seed = (uint64_t *)shmem_malloc(sizeof *seed);
  CHECK(seed != NULL);
  if (me == 0) {
    const char *text = getenv("SHOAL_TEST_SEED");
    const uint64_t value = text != NULL ? strtoull(text, NULL, 0) : test_mix((uint64_t)time(NULL) ^ ((uint64_t)getpid() << 32));
    printf("%s: SHOAL_TEST_SEED=%llu\n", test_name, (unsigned long long)value);
    fflush(stdout);
    for (int pe = 0; pe < npes; ++pe) shmem_putmem(seed, &value, sizeof value, pe);
  }
  shmem_barrier_all();
  test_random_state = *seed;
  shmem_free(seed);
}

/// A bound for a loop that polls; the deadline's alarm ends what an error in the bound itself would leave running.
static inline double test_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void test_begin(const char *name) {
  test_set_deadline(name);
  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
}

/// Collective; the value is main's.
static inline int test_end(void) {
  section("end");
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}

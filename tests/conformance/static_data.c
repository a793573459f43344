// SPDX-License-Identifier: Apache-2.0
// Chapter "Memory model": global and static variables of the program are symmetric: initialised, zeroed, local statics, small
// and large. Built as a position-independent executable and not; the argument says which, and is checked.
#define _GNU_SOURCE
#include "support.h"
#include <sys/wait.h>

enum { kBig = 3 << 20 };

int initialised = 42;
int zeroed;
long array[1000] = {1, 2, 3};
static char big_zeroed[kBig];
static char big_initialised[100000] = "start";
static double number = 2.5;
static struct {
  char tag;
  uint64_t words[5];
  short tail;
} record = {'r', {1, 2, 3, 4, 5}, -6};
_Alignas(64) static unsigned char aligned[64] = {9};
static const int constant = 17;
static int *const pointer_constant = &initialised;
static int *pointer = &zeroed;
static int (*function)(const char *) = atoi;
static const char *text = "text";
static uint64_t signal_word;
static long lock;
static int left, right;

static int *local_static(void) {
  static int value = 11;
  return &value;
}

/// What main's caller set up is still there after the move to shared memory.
static void test_initial_values(void) {
  section("initial values survive init");
  CHECK_EQ(initialised, 42);
  CHECK_EQ(zeroed, 0);
  CHECK_EQ(array[0] + array[1] * 10 + array[2] * 100 + array[999] * 1000, 321);
  CHECK_EQ(strcmp(big_initialised, "start"), 0);
  for (int i = 0; i < kBig; i += 4096) CHECK_EQ(big_zeroed[i], 0);
  CHECK_EQ(number, 2.5);
  CHECK_EQ(record.tag + (int)record.words[4] + record.tail, 'r' + 5 - 6);
  CHECK_EQ(aligned[0], 9);
  CHECK_EQ((uintptr_t)aligned % 64, 0);
  CHECK_EQ(constant, 17);
  CHECK(pointer_constant == &initialised && pointer == &zeroed);
  CHECK_EQ(function("123"), 123);
  CHECK_EQ(strcmp(text, "text"), 0);
  CHECK_EQ(*local_static(), 11);
  CHECK(getenv("PATH") != NULL);
}

static void test_position_independence(const char *wanted) {
  section("position independence");
  extern const char __executable_start[] __attribute__((weak));
  const int pie = (uintptr_t)__executable_start > UINT64_C(0x10000000);
  if (strcmp(wanted, "pie") == 0) CHECK_EQ(pie, 1);
  if (strcmp(wanted, "no-pie") == 0) CHECK_EQ(pie, 0);
}

static void test_put_get(void) {
  section("put, get, p, g");
  const int forty = 1000 + me;
  const uint64_t words[5] = {10, 20, 30, 40, (uint64_t)me};
  char *block = malloc(kBig);
  CHECK(block != NULL);
  shmem_barrier_all();
  shmem_int_p(&initialised, forty, right);
  shmem_int_put(&zeroed, &forty, 1, right);
  shmem_int_p(local_static(), forty + 1, right);
  shmem_double_p(&number, forty + 0.25, right);
  shmem_uint64_put(record.words, words, 5, right);
  shmem_long_p(&array[999], forty, right);
  memset(block, 'a' + me, kBig);
  shmem_char_put(big_zeroed + 1, block, kBig - 2, right);
  shmem_char_put_nbi(big_initialised + 50000, block, 50000, right);
  shmem_barrier_all();
  CHECK_EQ(initialised, 1000 + left);
  CHECK_EQ(zeroed, 1000 + left);
  CHECK_EQ(*local_static(), 1001 + left);
  CHECK_EQ(number, 1000.25 + left);
  CHECK_EQ(record.words[4] + record.words[0], (uint64_t)left + 10);
  CHECK_EQ(record.tag, 'r');
  CHECK_EQ(record.tail, -6);
  CHECK_EQ(array[999], 1000 + left);
  CHECK_EQ(array[998], 0);
  CHECK_EQ(big_zeroed[0], 0);
  CHECK_EQ(big_zeroed[kBig - 1], 0);
  for (int i = 1; i < kBig - 1; ++i) CHECK(big_zeroed[i] == (char)('a' + left));
  CHECK_EQ(strcmp(big_initialised, "start"), 0);
  CHECK_EQ(big_initialised[99999], 'a' + left);
  shmem_char_get(block, big_zeroed, kBig, right);
  CHECK_EQ(block[0], 0);
  CHECK_EQ(block[1], 'a' + me);
  CHECK_EQ(block[kBig - 2], 'a' + me);
  CHECK_EQ(shmem_int_g(&initialised, right), 1000 + me);
  // The pointers of the program see the same variables.
  CHECK_EQ(*pointer_constant, 1000 + left);
  CHECK_EQ(*pointer, 1000 + left);
  free(block);
  shmem_barrier_all();
}

static void test_synchronization(void) {
  section("atomics, signals, locks and waits");
  zeroed = 0;
  signal_word = 0;
  shmem_barrier_all();
  for (int i = 0; i < 50; ++i) shmem_int_atomic_inc(&zeroed, 0);
  shmem_int_p(&initialised, -5, right);
  shmem_putmem_signal(aligned + 32, "data", 5, &signal_word, 3, SHMEM_SIGNAL_ADD, right);
  CHECK_EQ(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 3), 3);
  CHECK_EQ(strcmp((char *)aligned + 32, "data"), 0);
  shmem_int_wait_until(&initialised, SHMEM_CMP_EQ, -5);
  shmem_barrier_all();
  CHECK_EQ(shmem_int_atomic_fetch(&zeroed, 0), 50 * npes);
  shmem_barrier_all();
  zeroed = 0;
  shmem_barrier_all();
  for (int i = 0; i < 20; ++i) {
    shmem_set_lock(&lock);
    shmem_int_p(&zeroed, shmem_int_g(&zeroed, 0) + 1, 0);
    shmem_clear_lock(&lock);
  }
  shmem_barrier_all();
  CHECK_EQ(shmem_int_g(&zeroed, 0), 20 * npes);
  shmem_barrier_all();
}

/// Asked by the leak sanitizer, which would take what only the stacks of its parent's threads point to for leaks of a child's.
static volatile int is_child;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return is_child; }

/// A child has its own copy from the moment fork returns: neither sees the other's writes, nor other PEs the child's.
static void test_fork(void) {
  section("a forked child keeps private copies");
  initialised = 500 + me;
  big_zeroed[5000] = 1;
  int go[2], done[2];
  CHECK_EQ(pipe(go) + pipe(done), 0);
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    int ok = initialised == 500 + me && big_zeroed[5000] == 1;
    initialised = -1; // not seen by anybody else
    big_zeroed[5000] = 2;
    char c = 'w';
    ok = ok && write(done[1], &c, 1) == 1 && read(go[0], &c, 1) == 1;
    ok = ok && initialised == -1 && big_zeroed[5000] == 2; // the put of the PE on the left went to the parent
    _exit(ok ? 0 : 1);
  }
  char c;
  CHECK_EQ(read(done[0], &c, 1), 1);
  CHECK_EQ(initialised, 500 + me);
  CHECK_EQ(big_zeroed[5000], 1);
  shmem_barrier_all();
  shmem_int_p(&initialised, 600 + me, right);
  shmem_barrier_all();
  CHECK_EQ(initialised, 600 + left);
  CHECK_EQ(write(go[1], "g", 1), 1);
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(initialised, 600 + left);
  CHECK_EQ(big_zeroed[5000], 1);
  close(go[0]), close(go[1]), close(done[0]), close(done[1]);
  shmem_barrier_all();
}

/// Children may run another program, or end by exit() with all that the library registered for it: the job goes on.
static void test_children_that_end(void) {
  section("children exec and exit");
  for (int way = 0; way < 3; ++way) {
    fflush(stdout);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      if (way == 0) execl("/bin/true", "true", (char *)NULL);
      is_child = 1;
      if (way == 1) exit(0);
      _exit(way == 2 ? 0 : 1);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    shmem_barrier_all();
  }
  CHECK_EQ(system("true"), 0);
  shmem_barrier_all();
}

int main(int argc, char **argv) {
  test_begin("static_data");
  right = (me + 1) % npes;
  left = (me + npes - 1) % npes;
  test_initial_values();
  if (argc > 1) test_position_independence(argv[1]);
  test_put_get();
  test_synchronization();
  test_fork();
  test_children_that_end();
  const int status = test_end();
  // The variables outlive the library.
  return status == 0 && initialised == 600 + left && strcmp(text, "text") == 0 ? 0 : 1;
}

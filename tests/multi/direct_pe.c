/* SPDX-License-Identifier: Apache-2.0 */
/* A PE that starts as its arguments say, shifts a number round the ring, and ends. With a second word it does something else:
 *   direct_pe env [times]           by what is in the environment, so many times in turn
 *   direct_pe id PE N FILE          PE N-1 makes the unique id and writes it to FILE; the others wait for that file
 *   direct_pe rdzv PE N WHERE       meets at WHERE
 *   direct_pe acl PE N WHERE        the same by aclshmemx_init_attr, with a heap of 8 MiB, for 3 s; and then again as the environment says
 *   direct_pe alone PE HOW          fails in init on that PE alone, by an "option", a thread "level" or a "limit"; once more without that
 *   direct_pe threads FILE          two threads of PE 0 call init at once: the first fails, and makes FILE when the second has begun
 * Before that: "tls INFO": aclshmemx_set_conf_store_tls(true, INFO, 0).
 * After that: "die PE": that one is killed in the middle; "hang": PE 0 says "ready" and does nothing more, the others wait for
 * it; "flood": PE 0 says "ready" and puts for ever; "exit PE STATUS": shmem_global_exit;
 * "return PE STATUS": exit in the middle. Before these: "forked FILE": each PE has a child that stays while FILE is there. */
#define _GNU_SOURCE
#include <aclshmemx.h>
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long from_left = -1;

static void shift(void) {
  int me = shmem_my_pe(), n = shmem_n_pes();
  shmem_barrier_all();
  shmem_long_p(&from_left, 1000 + me, (me + 1) % n);
  shmem_barrier_all();
  if (from_left != 1000 + (me + n - 1) % n) shmem_global_exit(99);
}

static void fork_child(const char *file) {
  if (fork() != 0) return;
  close(STDOUT_FILENO);  /* others wait for their end */
  close(STDERR_FILENO);
  for (int i = 0; i < 3000 && access(file, F_OK) == 0; ++i) nanosleep(&(struct timespec){0, 20000000}, NULL);
  _exit(0);
}

static void behave(int argc, char **argv, int at) {
  int me = shmem_my_pe(), n = shmem_n_pes();
  shift();
  if (at < argc && strcmp(argv[at], "forked") == 0) {
    fork_child(argv[at + 1]);
    at += 2;
  }
  if (at < argc && strcmp(argv[at], "die") == 0) {
    if (me == atoi(argv[at + 1])) raise(SIGKILL);
    while (1) pause();
  }
  if (at < argc && (strcmp(argv[at], "hang") == 0 || strcmp(argv[at], "flood") == 0)) {
    static char block[1 << 20];
    if (me != 0) shmem_barrier_all();
    puts("ready");
    fflush(stdout);
    if (argv[at][0] == 'h') pause();
    for (int i = 1;; ++i) {
      shmem_putmem(block, block, sizeof block, n - 1);
      if (i % 64 == 0) shmem_quiet();  /* more than the kernels' buffers hold */
    }
  }
  if (at < argc && strcmp(argv[at], "exit") == 0) {
    if (me == atoi(argv[at + 1])) shmem_global_exit(atoi(argv[at + 2]));
    while (1) pause();
  }
  if (at < argc && strcmp(argv[at], "return") == 0) {
    if (me == atoi(argv[at + 1])) exit(atoi(argv[at + 2]));
    while (1) pause();
  }
}

static int carry(const char *path, int maker, shmemx_uniqueid_t *id) {
  char part[4096];
  snprintf(part, sizeof part, "%s.part", path);
  if (maker) {
    if (shmemx_get_uniqueid(id) != 0) return 1;
    FILE *to = fopen(part, "wb");
    if (to == NULL || fwrite(id, sizeof *id, 1, to) != 1 || fclose(to) != 0 || rename(part, path) != 0) return 1;
    return 0;
  }
  for (int i = 0; i < 20000; ++i) {
    FILE *from = fopen(path, "rb");
    if (from != NULL) return fread(id, sizeof *id, 1, from) != 1;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  return 1;
}

static int fail_alone(const char *how) {
  struct rlimit was, less;
  int provided;
  getrlimit(RLIMIT_FSIZE, &was);
  less = was;
  less.rlim_cur = 4096;
  if (strcmp(how, "limit") == 0) setrlimit(RLIMIT_FSIZE, &less);
  if (strcmp(how, "option") == 0) setenv("SHOAL_SPIN", "often", 1);
  if (shmem_init_thread(strcmp(how, "level") == 0 ? 77 : SHMEM_THREAD_SINGLE, &provided) == 0) return 70;
  setrlimit(RLIMIT_FSIZE, &was);
  unsetenv("SHOAL_SPIN");
  if (shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) != 0) return 71;
  shift();
  printf("PE %d of %d\n", shmem_my_pe(), shmem_n_pes());
  shmem_finalize();
  return 0;
}

struct starter {
  pthread_t thread;
  atomic_int id, code;  /* code -1: it has not come back */
};
static void *start(void *argument) {
  struct starter *self = argument;
  int provided;
  atomic_store(&self->id, (int)gettid());
  atomic_store(&self->code, shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided));
  return NULL;
}
/* Until the thread has slept for a while, or has come back. */
static void begin(struct starter *one) {
  atomic_init(&one->id, 0);
  atomic_init(&one->code, -1);
  pthread_create(&one->thread, NULL, start, one);
  for (int asleep = 0, looks = 0; asleep < 20 && looks < 2000 && atomic_load(&one->code) == -1; ++looks) {
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&one->id));
    FILE *from = atomic_load(&one->id) == 0 ? NULL : fopen(path, "r");
    if (from != NULL && fgets(text, sizeof text, from) == NULL) text[0] = 0;
    if (from != NULL) fclose(from);
    const char *state = strrchr(text, ')');
    asleep = state != NULL && state[2] == 'S' ? asleep + 1 : 0;
    nanosleep(&(struct timespec){0, 5000000}, NULL);
  }
}
static int init_twice_at_once(const char *file) {
  const char *me = getenv("SHOAL_PE");
  int provided;
  if (me == NULL || strcmp(me, "0") != 0) {
    for (int i = 0; i < 20000 && access(file, F_OK) != 0; ++i) nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0) return 70;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0) return 71;
  } else {
    struct starter first, second;
    setenv("SHOAL_SPIN", "often", 1);
    begin(&first);  /* and waits for PE 1, to tell it */
    unsetenv("SHOAL_SPIN");
    begin(&second);
    fclose(fopen(file, "w"));
    pthread_join(first.thread, NULL);
    pthread_join(second.thread, NULL);
    if (atomic_load(&first.code) == 0 || atomic_load(&second.code) != 0) return 72;
  }
  shift();
  printf("PE %d of %d\n", shmem_my_pe(), shmem_n_pes());
  shmem_finalize();
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[1], "tls") == 0) {
    if (aclshmemx_set_conf_store_tls(true, argv[2], 0) != 0) return 66;
    argc -= 2, argv += 2;
  }
  if (argc > 1 && strcmp(argv[1], "env") == 0) {
    int times = argc > 2 && atoi(argv[2]) > 0 ? atoi(argv[2]) : 1;
    for (int i = 0; i < times; ++i) {
      shmem_init();
      behave(argc, argv, argc > 2 && atoi(argv[2]) > 0 ? 3 : 2);
      if (i + 1 == times) printf("PE %d of %d\n", shmem_my_pe(), shmem_n_pes());
      shmem_finalize();
    }
    return 0;
  }
  if (argc == 4 && strcmp(argv[1], "alone") == 0) {
    const char *me = getenv("SHOAL_PE");
    return fail_alone(me != NULL && strcmp(me, argv[2]) == 0 ? argv[3] : "not");
  }
  if (argc == 3 && strcmp(argv[1], "threads") == 0) return init_twice_at_once(argv[2]);
  if (argc < 5) return 64;
  if (strcmp(argv[1], "acl") == 0) {
    aclshmemx_init_attr_t given;
    memset(&given, 0, sizeof given);
    given.tls_enabled = true;
    given.heap_size = 8 << 20;
    given.timeout_s = 3;
    given.ip_port = argv[4];
    given.my_pe = atoi(argv[2]);
    given.n_pes = atoi(argv[3]);
    const int failed = aclshmemx_init_attr(&given, 0, NULL);
    if (failed != 0) return failed;
    shift();
    if (shmem_malloc(16 << 20) != NULL) return 67;
    printf("PE %d of %d\n", shmem_my_pe(), shmem_n_pes());
    if (aclshmemx_finalize(0, NULL) != 0) return 68;
    if (aclshmemx_init_attr(NULL, 0, NULL) != 0 || shmem_n_pes() != 1 || shmem_malloc(16 << 20) == NULL) return 69;
    return aclshmemx_finalize(0, NULL);
  }
  shmemx_uniqueid_t id;
  shmemx_init_attr_t attr = {.pe = atoi(argv[2]), .n_pes = atoi(argv[3])};
  if (strcmp(argv[1], "id") == 0) {
    if (carry(argv[4], attr.pe == attr.n_pes - 1, &id) != 0) return 65;
    attr.id = &id;
  } else {
    attr.rdzv = argv[4];
  }
  int provided, code = shmemx_init_attr(&attr, SHMEM_THREAD_MULTIPLE, &provided);
  if (code != 0) return code;
  behave(argc, argv, 5);
  printf("PE %d of %d\n", shmem_my_pe(), shmem_n_pes());
  shmem_finalize();
  return 0;
}

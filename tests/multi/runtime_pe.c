/* SPDX-License-Identifier: Apache-2.0
 * The PE of runtime_test.py. runtime_pe barriers: a few meetings. forgotten: a barrier that PE 0 never
 * enters. second: on every PE a second thread waits for ever, after the first thread has waited. handler: PE 0
 * ends in the middle of finalize, by a signal handler. two_copies FILE: loads that before init. splits: two threads
 * split two teams again and again and use what they get. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long never, often, lock;

static void *wait_for_ever(void *unused) {
  (void)unused;
  shmem_long_wait_until(&never, SHMEM_CMP_EQ, -5);
  return NULL;
}

static void exit_with_0(int unused) {
  (void)unused;
  exit(0);
}

static long turn[2][64];

/* Members take turns in writing what all must see after the barrier: a slot that two teams share lets one go early. */
static void *split_and_meet(void *argument) {
  const long which = (long)argument;
  shmem_team_t parent = which == 0 ? SHMEM_TEAM_WORLD : SHMEM_TEAM_SHARED;
  for (long round = 1; round <= 300; round++) {
    shmem_team_t team;
    if (shmem_team_split_strided(parent, 0, 1, shmem_n_pes(), NULL, 0, &team) != 0) {
      fprintf(stderr, "no team in round %ld\n", round);
      shmem_global_exit(4);
    }
    for (int i = 1; i <= 5; i++) {
      const int me = shmem_my_pe(), right = (me + 1) % shmem_n_pes(), left = (me + shmem_n_pes() - 1) % shmem_n_pes();
      shmem_long_p(&turn[which][me], round * 10 + i, right);
      shmem_quiet();
      shmem_team_sync(team);
      const long seen = *(volatile long *)&turn[which][left];
      if (seen != round * 10 + i) {
        fprintf(stderr, "PE %d, thread %ld: a barrier let it go early: %ld instead of %ld\n", me, which, seen, round * 10 + i);
        shmem_global_exit(5);
      }
      shmem_team_sync(team);
    }
    shmem_team_destroy(team);
  }
  return NULL;
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  int provided;
  if (strcmp(mode, "two_copies") == 0 && dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) == NULL) return 4;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0) return 3;
  if (strcmp(mode, "barriers") == 0) {
    for (int i = 0; i < 100; i++) shmem_barrier_all();
    if (shmem_my_pe() == 0) puts("met");
  } else if (strcmp(mode, "forgotten") == 0) {
    if (shmem_my_pe() != 0) shmem_barrier_all();
  } else if (strcmp(mode, "second") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    usleep(20000);
    shmem_long_atomic_inc(&often, shmem_my_pe());
    shmem_long_wait_until(&often, SHMEM_CMP_GE, 1);
    pthread_join(thread, NULL);
  } else if (strcmp(mode, "exit0") == 0) {
    if (shmem_my_pe() == 1) exit(0);
    shmem_barrier_all();
  } else if (strcmp(mode, "handler") == 0) {
    if (shmem_my_pe() == 0) {
      signal(SIGALRM, exit_with_0);
      alarm(1);
      shmem_finalize();
    }
    wait_for_ever(NULL);
  } else if (strcmp(mode, "child") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      shmem_barrier_all();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    shmem_barrier_all();
    printf("child ended with %d\n", WEXITSTATUS(status));
  } else if (strcmp(mode, "steal") == 0) {
    if (shmem_my_pe() == 0) shmem_set_lock(&lock);
    shmem_barrier_all();
    if (shmem_my_pe() == 1) shmem_clear_lock(&lock);
    shmem_barrier_all();
  } else if (strcmp(mode, "team_lock") == 0) {
    shmem_team_t team;
    const int n = shmem_n_pes(), first = n - 2;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, first, 1, 2, NULL, 0, &team);
    if (team != SHMEM_TEAM_INVALID) {
      shmemx_heap_t heap;
      const shmemx_heap_attr_t attr = {.size = 1 << 20, .alignment = 0, .team = team};
      if (shmemx_heap_create(&attr, &heap) != 0) shmem_global_exit(6);
      long *words = shmemx_heap_malloc(heap, 100 * sizeof(long));
      for (int i = 0; i < 100; i++) words[i] = 0;
      shmem_team_sync(team);
      for (int i = 0; i < 99; i++) {
        shmem_set_lock(&words[i]);
        shmem_long_p(&words[99], shmem_long_g(&words[99], first) + 1, first);
        shmem_clear_lock(&words[i]);
      }
      shmem_team_sync(team);
      shmem_team_destroy(team);
    }
  } else if (strcmp(mode, "splits") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, split_and_meet, (void *)1);
    split_and_meet((void *)0);
    pthread_join(thread, NULL);
  }
  shmem_finalize();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// One wrong call a run, for errors_test.py: `errors_bad_calls CASE`. The last PE makes the mistake while the others are in a
// barrier; mistakes in collective calls are made by all. A case that comes back where it should have ended says so: status 98.
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me, npes;
static long word, other_word;
static long *heap;
static long source[64];

/* ---- PE numbers ---- */
static void pe_minus_one(void) { shmem_int_p((int *)heap, 1, -1); }
static void pe_n_put(void) { shmem_long_put(heap, source, 4, npes); }
static void pe_n_get(void) { shmem_long_get(source, heap, 4, npes); }
static void pe_n_g(void) { (void)shmem_long_g(heap, npes); }
static void pe_n_iput(void) { shmem_long_iput(heap, source, 1, 1, 4, npes); }
static void pe_n_ibget(void) { shmem_long_ibget(source, heap, 2, 2, 1, 2, npes); }
static void pe_n_nbi(void) { shmem_putmem_nbi(heap, source, 4, npes + 1000); }
static void pe_n_atomic(void) { shmem_long_atomic_inc(heap, npes); }
static void pe_n_fetch(void) { (void)shmem_long_atomic_fetch(heap, npes); }
static void pe_n_cswap(void) { (void)shmem_long_atomic_compare_swap(heap, 0, 1, INT32_MIN); }
static void pe_n_signal(void) { shmem_signal_set((uint64_t *)heap, 1, npes); }
static void pe_n_put_signal(void) { shmem_putmem_signal(heap, source, 8, (uint64_t *)&heap[4], 1, SHMEM_SIGNAL_SET, npes); }
static void pe_n_quiet(void) { shmem_pe_quiet(&npes, 1); }
static void pe_n_zero(void) { shmem_putmem(NULL, NULL, 0, npes); }
static void pe_of_team(void) {
  shmem_ctx_t ctx;
  if (shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &ctx) != 0) _exit(97);
  shmem_ctx_long_p(ctx, heap, 1, npes);
}

/* ---- addresses ---- */
static void address_stack(void) {
  int local = 0, value = 1;
  shmem_int_put(&local, &value, 1, 0);
}
static void address_null(void) { shmem_long_p(NULL, 1, 0); }
static void address_null_get(void) { shmem_getmem(source, NULL, 8, 0); }
static void address_malloc(void) { shmem_long_atomic_add(malloc(8), 1, 0); }
static void address_constant(void) {
  static const char text[] = "constant";
  shmem_putmem((void *)(uintptr_t)text, source, 4, 0);
}
static void address_past_end(void) { shmem_putmem(heap, source, (size_t)1 << 40, 0); }
static void address_past_end_get(void) { shmem_getmem(source, heap, (size_t)1 << 40, 0); }
static void address_wraps(void) { shmem_long_put(heap, source, ((size_t)1 << 61) + 1, 0); } // 8 bytes modulo 2^64
static void address_wraps_mem(void) { shmem_putmem(heap, source, SIZE_MAX, 0); }
static void address_strided(void) { shmem_long_iput(heap, source, (ptrdiff_t)1 << 40, 1, 2, 0); }
static void address_strided_wraps(void) { shmem_long_iput(heap, source, (ptrdiff_t)1 << 60, 1, 17, 0); }
static void address_blocks(void) { shmem_long_ibput(heap, source, (ptrdiff_t)1 << 40, 2, 1, 2, 0); }
static void address_signal(void) {
  uint64_t local = 0;
  shmem_putmem_signal(heap, source, 8, &local, 1, SHMEM_SIGNAL_SET, 0);
}
/// Few bytes, which the others need not read where they are, and many.
static void fcollect_private(void) { shmem_fcollectmem(SHMEM_TEAM_WORLD, heap, calloc(1, 8), 8); }
static void fcollect_null(void) { shmem_fcollectmem(SHMEM_TEAM_WORLD, heap, NULL, 8); }
static void fcollect_private_much(void) { shmem_fcollectmem(SHMEM_TEAM_WORLD, shmem_malloc(3 << 20), calloc(1, 1 << 20), 1 << 20); }
static void alltoall_private(void) { shmem_alltoallmem(SHMEM_TEAM_WORLD, heap, calloc(1, 64), 8); }
static void broadcast_private(void) { shmem_broadcastmem(SHMEM_TEAM_WORLD, heap, calloc(1, 8), 8, 0); }
static void reduce_private(void) { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, calloc(1, 8), 1); }
static void scan_private(void) { shmem_long_sum_inscan(SHMEM_TEAM_WORLD, heap, calloc(1, 8), 1); }
static void collect_private(void) { shmem_collectmem(SHMEM_TEAM_WORLD, heap, calloc(1, 8), 8); }
static void lock_private(void) {
  static __thread long local = 5; // no symmetric object: nobody could update it
  shmem_set_lock(&local);
}
static void stride_zero(void) { shmem_long_iput(heap, source, 0, 1, 2, 0); }
static void stride_negative(void) { shmem_long_iget(source, heap, 1, -3, 2, 0); }

/* ---- alignment ---- */
static void misaligned_add(void) { shmem_long_atomic_add((long *)(void *)((char *)heap + 4), 1, 0); }
static void misaligned_fetch(void) { (void)shmem_int_atomic_fetch((int *)(void *)((char *)heap + 2), 0); }
static void misaligned_cswap(void) { (void)shmem_int_atomic_compare_swap((int *)(void *)((char *)heap + 1), 0, 1, 0); }
static void misaligned_signal(void) { shmem_signal_add((uint64_t *)(void *)((char *)heap + 4), 1, 0); }

/* ---- handles ---- */
static void ctx_invalid(void) { shmem_ctx_long_p(SHMEM_CTX_INVALID, heap, 1, 0); }
static void ctx_destroyed(void) {
  shmem_ctx_t ctx;
  if (shmem_ctx_create(0, &ctx) != 0) _exit(97);
  shmem_ctx_destroy(ctx);
  shmem_ctx_long_put(ctx, heap, source, 1, 0);
}
static void ctx_destroyed_twice(void) {
  shmem_ctx_t ctx;
  if (shmem_ctx_create(0, &ctx) != 0) _exit(97);
  shmem_ctx_destroy(ctx);
  shmem_ctx_destroy(ctx);
}
static void ctx_garbage(void) { (void)shmem_ctx_long_atomic_fetch((shmem_ctx_t)(uintptr_t)0xdeadbeef, heap, 0); }
static void ctx_default_destroyed(void) { shmem_ctx_destroy(SHMEM_CTX_DEFAULT); }
static void team_garbage(void) { (void)shmem_team_n_pes((shmem_team_t)(uintptr_t)0xdeadbeef); }
static void team_destroyed(void) {
  shmem_team_t team;
  if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team) != 0) _exit(97);
  shmem_team_destroy(team);
  shmem_barrier_all();
  (void)shmem_team_sync(team);
}
static void heap_sizes(void) {
  shmemx_heap_t made;
  const shmemx_heap_attr_t attr = {.size = (size_t)4096 << me, .alignment = 0, .team = SHMEM_TEAM_WORLD};
  (void)shmemx_heap_create(&attr, &made);
}
/// int routines answer; they don't end the job.
static void team_invalid(void) {
  shmem_ctx_t ctx;
  shmem_team_t team = SHMEM_TEAM_WORLD;
  int ok = shmem_team_sync(SHMEM_TEAM_INVALID) != 0;
  ok = ok && shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1;
  ok = ok && shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0;
  ok = ok && shmem_long_broadcast(SHMEM_TEAM_INVALID, heap, heap, 1, 0) != 0;
  ok = ok && shmem_long_sum_reduce(SHMEM_TEAM_INVALID, heap, heap, 1) != 0;
  ok = ok && shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0 && team == SHMEM_TEAM_INVALID;
  ok = ok && shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1;
  shmem_team_destroy(SHMEM_TEAM_INVALID);
  shmem_barrier_all();
  shmem_finalize();
  exit(ok ? 0 : 97);
}

/* ---- memory ---- */
static void free_twice(void) {
  void *p = shmem_malloc(100);
  shmem_free(p);
  shmem_free(p);
}
static void free_stack(void) {
  int local;
  shmem_free(&local);
}
static void free_inside(void) { shmem_free((char *)heap + 16); }
static void free_static(void) { shmem_free(&word); }
static void realloc_stack(void) {
  int local;
  (void)!shmem_realloc(&local, 100);
}
static void realloc_freed(void) {
  void *p = shmem_malloc(100);
  shmem_free(p);
  (void)!shmem_realloc(p, 200);
}
/// NULL, and all goes on.
static void exhausted(void) {
  int ok = shmem_malloc((size_t)1 << 50) == NULL;
  long *p = shmem_malloc(sizeof *p);
  ok = ok && p != NULL;
  shmem_long_p(p, 1, (me + 1) % npes);
  shmem_barrier_all();
  ok = ok && *p == 1;
  shmem_finalize();
  exit(ok ? 0 : 97);
}

/* ---- constants and locks ---- */
static void cmp_wait(void) { shmem_long_wait_until(&word, 77, 0); }
static void cmp_test(void) { (void)shmem_int_test((int *)heap, -1, 0); }
static void cmp_any(void) { (void)shmem_long_test_any(heap, 2, NULL, 6, 0); }
static void cmp_signal(void) { (void)shmem_signal_wait_until((uint64_t *)heap, 42, 0); }
static void signal_op(void) { shmem_putmem_signal(heap, source, 8, (uint64_t *)&heap[4], 1, 9, 0); }
static void lock_twice(void) {
  shmem_set_lock(&word);
  shmem_set_lock(&word);
}
static void lock_not_held(void) { shmem_clear_lock(&word); }

/* ---- ends ---- */
static void die_kill(void) { raise(SIGKILL); }
static void die_segv(void) {
  signal(SIGSEGV, SIG_DFL); // a sanitizer would print and exit instead
  raise(SIGSEGV);
}
static void die_abort(void) {
  signal(SIGABRT, SIG_DFL);
  abort();
}
static void die_exit(void) { exit(3); }
static void die_exit_at_once(void) { _exit(4); }
static void die_silently(void) { _exit(0); }
static void global_exit_5(void) { shmem_global_exit(5); }
static void global_exit_0(void) { shmem_global_exit(0); }

/* ---- outside of init ... finalize ---- */
static void early_my_pe(void) { (void)shmem_my_pe(); }
static void early_malloc(void) { (void)!shmem_malloc(8); }
static void early_barrier(void) { shmem_barrier_all(); }
static void early_put(void) { shmem_long_p(&word, 1, 0); }
static void early_atomic(void) { shmem_long_atomic_inc(&word, 0); }
static void early_wait(void) { shmem_long_wait_until(&word, SHMEM_CMP_EQ, 0); }
static void early_lock(void) { shmem_set_lock(&word); }
static void early_quiet(void) { shmem_quiet(); }
static void early_ctx(void) {
  shmem_ctx_t ctx;
  (void)shmem_ctx_create(0, &ctx);
}
static void early_team(void) { (void)shmem_team_n_pes(SHMEM_TEAM_WORLD); }
static void early_reduce(void) { (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &word, &other_word, 1); }
static void early_query_thread(void) {
  int level;
  shmem_query_thread(&level);
}

typedef struct {
  const char *name;
  void (*run)(void);
  int collective;
} Case;
#define ONE(name) {#name, name, 0}
#define ALL(name) {#name, name, 1}

static const Case cases[] = {
    ONE(pe_minus_one), ONE(pe_n_put), ONE(pe_n_get), ONE(pe_n_g), ONE(pe_n_iput), ONE(pe_n_ibget), ONE(pe_n_nbi),
    ONE(pe_n_atomic), ONE(pe_n_fetch), ONE(pe_n_cswap), ONE(pe_n_signal), ONE(pe_n_put_signal), ONE(pe_n_quiet),
    ONE(pe_n_zero), ONE(pe_of_team), ONE(address_stack), ONE(address_null), ONE(address_null_get), ONE(address_malloc),
    ONE(address_constant), ONE(address_past_end), ONE(address_past_end_get), ONE(address_wraps), ONE(address_wraps_mem),
    ONE(address_strided), ONE(address_strided_wraps), ONE(address_blocks), ONE(address_signal), ONE(lock_private),
    ALL(fcollect_private), ALL(fcollect_null), ALL(fcollect_private_much), ALL(alltoall_private), ALL(broadcast_private),
    ALL(reduce_private), ALL(scan_private), ALL(collect_private),
    ONE(stride_zero), ONE(stride_negative), ONE(misaligned_add), ONE(misaligned_fetch), ONE(misaligned_cswap),
    ONE(misaligned_signal), ONE(ctx_invalid), ONE(ctx_destroyed), ONE(ctx_destroyed_twice), ONE(ctx_garbage),
    ONE(ctx_default_destroyed), ONE(team_garbage), ALL(team_destroyed), ALL(team_invalid), ALL(heap_sizes), ALL(free_twice),
    ALL(free_stack), ALL(free_inside), ALL(free_static), ALL(realloc_stack), ALL(realloc_freed), ALL(exhausted),
    ONE(cmp_wait), ONE(cmp_test), ONE(cmp_any), ONE(cmp_signal), ONE(signal_op), ONE(lock_twice), ONE(lock_not_held),
    ONE(die_kill), ONE(die_segv), ONE(die_abort), ONE(die_exit), ONE(die_exit_at_once), ONE(die_silently),
    ONE(global_exit_5), ONE(global_exit_0)};

static const Case early_cases[] = {ALL(early_my_pe), ALL(early_malloc), ALL(early_barrier), ALL(early_put), ALL(early_atomic),
                                   ALL(early_wait), ALL(early_lock), ALL(early_quiet), ALL(early_ctx), ALL(early_team),
                                   ALL(early_reduce), ALL(early_query_thread)};

static const Case *find(const Case *list, size_t n, const char *name) {
  for (size_t i = 0; i < n; ++i)
    if (strcmp(list[i].name, name) == 0) return &list[i];
  return NULL;
}

static void start(const char *how) {
  int provided;
  if (strcmp(how, "init") == 0) shmem_init();
  else if (strcmp(how, "init_thread") == 0) { if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0) exit(96); }
  else start_pes(0);
}

/// mix INIT FINALIZE END: any way to start, none, one or two finalizes, return or exit.
static int mix(const char *init, const char *finalize, const char *end) {
  start(init);
  shmem_barrier_all();
  const int times = strcmp(finalize, "twice") == 0 ? 2 : strcmp(finalize, "once") == 0 ? 1 : 0;
  for (int i = 0; i < times; ++i) shmem_finalize();
  if (strcmp(end, "exit") == 0) exit(0);
  return 0;
}

/// startup HOW: for bad options. init_thread's answer becomes the status.
static int startup(const char *how) {
  if (strcmp(how, "init_thread") == 0) {
    int provided = -1;
    const int answer = shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    printf("init_thread answered %s\n", answer == 0 ? "zero" : "nonzero");
    if (answer != 0) {
      int initialized = -1;
      shmem_query_initialized(&initialized);
      printf("initialized: %d\n", initialized);
      return 95;
    }
  } else {
    start(how);
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}

static int bad_level(void) {
  int provided = -1;
  const int low = shmem_init_thread(-1, &provided), high = shmem_init_thread(1000, &provided);
  return low != 0 && high != 0 ? 0 : 97;
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  if (argc == 5 && strcmp(name, "mix") == 0) return mix(argv[2], argv[3], argv[4]);
  if (argc == 3 && strcmp(name, "startup") == 0) return startup(argv[2]);
  if (strcmp(name, "bad_level") == 0) return bad_level();
  const Case *early = find(early_cases, sizeof early_cases / sizeof *early_cases, name);
  if (early != NULL) {
    if (argc > 2) { // "after": the same, but after finalize
      shmem_init();
      shmem_finalize();
    }
    early->run();
    return 98;
  }
  const Case *wrong = find(cases, sizeof cases / sizeof *cases, name);
  if (wrong == NULL) {
    fprintf(stderr, "no such case: %s\n", name);
    return 99;
  }
  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  heap = shmem_calloc(64, sizeof *heap);
  if (heap == NULL) return 97;
  if (wrong->collective || me == npes - 1) {
    wrong->run();
    return 98;
  }
  shmem_barrier_all(); // never complete: the last PE doesn't come
  return 98;
}

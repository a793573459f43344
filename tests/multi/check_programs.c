// SPDX-License-Identifier: Apache-2.0
// Mistakes that SHOAL_CHECK=1 finds, one a run, for check_test.py: `check_programs CASE`. Each wrong call stands on a line that
// ends with a comment naming it, "wrong"; the test looks for its number. A case that comes back gives status 98.
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, npes;
static long word, source[64], dest[64], lock;
static long psync[SHMEM_COLLECT_SYNC_SIZE], other_psync[SHMEM_COLLECT_SYNC_SIZE];
static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long *heap;

/* ---- calls that must agree ---- */
static void malloc_sizes(void) {
  void *p = shmem_malloc(me == 1 ? 200 : 100); // wrong
  shmem_free(p);
}
static void malloc_calls(void) {
  if (me == 1) shmem_barrier_all(); // wrong
  else shmem_malloc(64);
}
static void free_other(void) {
  long *a = shmem_malloc(64), *b = shmem_malloc(64);
  shmem_free(me == 1 ? a : b); // wrong
}
static void free_in_other_heap(void) {
  shmemx_heap_t heaps[2];
  void *blocks[2];
  for (int i = 0; i < 2; ++i) {
    const shmemx_heap_attr_t attributes = {.size = 1 << 16, .team = SHMEM_TEAM_WORLD};
    if (shmemx_heap_create(&attributes, &heaps[i]) != 0) exit(96);
    blocks[i] = shmemx_heap_malloc(heaps[i], 100);
  }
  shmemx_heap_free(heaps[me == 1], blocks[me == 1]); // wrong
}
static void destroy_other_heap(void) {
  shmemx_heap_t heaps[2];
  const shmemx_heap_attr_t attributes = {.size = 1 << 16, .team = SHMEM_TEAM_WORLD};
  for (int i = 0; i < 2; ++i)
    if (shmemx_heap_create(&attributes, &heaps[i]) != 0) exit(96);
  shmemx_heap_destroy(heaps[me == 1]); // wrong
}
static void alignments(void) {
  shmem_align(me == 1 ? 4096 : 64, 100); // wrong
}
static void strides(void) {
  shmem_long_alltoalls(SHMEM_TEAM_WORLD, dest, source, me == 1 ? 2 : 1, 1, 2); // wrong
}
static void splits(void) {
  shmem_team_t pair;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, me == 1 ? 3 : 2, NULL, 0, &pair); // wrong
}
static void active_sets(void) {
  shmem_long_sum_to_all(dest, source, 1, 0, 0, me == 1 ? 2 : 3, work, psync); // wrong
}
static void operations(void) {
  if (me == 1) shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest, source, 4); // wrong
  else shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 4);
}
static void types(void) {
  if (me == 2) shmem_int_sum_reduce(SHMEM_TEAM_WORLD, (int *)dest, (int *)source, 4); // wrong
  else shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 4);
}
static void counts(void) {
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, me == 1 ? 5 : 4); // wrong
}
static void roots(void) {
  shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, 4, me == 2 ? 1 : 0); // wrong
}
static void addresses(void) {
  shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, me == 1 ? source + 8 : source, 2); // wrong
}
static void team(void) {
  shmem_team_t pair;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &pair);
  if (me == 1) shmem_team_sync(pair); // wrong
  else shmem_barrier_all();
}
static void never(void) {
  if (me == 1) return; // and finalizes
  shmem_barrier_all(); // wrong
}
static void locks(void) {
  if (me < 2) {
    static long a, b;
    shmem_set_lock(me == 0 ? &a : &b);
    shmem_sync(0, 0, 2, psync);
    shmem_set_lock(me == 0 ? &b : &a); // wrong
  }
  shmem_barrier_all();
}

/* ---- memory ---- */
static void freed_put(void) {
  long *p = shmem_malloc(64);
  shmem_free(p);
  if (me == 1) shmem_long_p(p, 1, 0); // wrong
  shmem_barrier_all();
}
static void freed_fetch(void) {
  long *p = shmem_malloc(64);
  shmem_free(p);
  if (me == 1) shmem_long_atomic_fetch_add_nbi(p, heap, 1, 0); // wrong
  shmem_barrier_all();
}
static void freed_source(void) {
  long *p = shmem_malloc(64);
  shmem_free(p);
  if (me == 1) shmem_long_put(dest, p, 4, 0); // wrong
  shmem_barrier_all();
}
static void never_allocated(void) {
  if (me == 1) shmem_long_atomic_inc(heap + 4096, 0); // wrong
  shmem_barrier_all();
}
static void past_block(void) {
  if (me == 1) shmem_long_put(heap + 60, source, 8, 0); // wrong
  shmem_barrier_all();
}
static void past_block_batch(void) {
  const shmemx_block_t blocks[] = {{heap, source, 8}, {heap + 60, source, 64}};
  if (me == 1) shmemx_putmem_batch(blocks, 2, 0); // wrong
  shmem_barrier_all();
}
static void past_block_get(void) {
  if (me == 1) shmem_long_iget(source, heap, 1, 10, 8, 0); // wrong
  shmem_barrier_all();
}
static void stride_wraps(void) { // to the same element, if nobody looks
  if (me == 1) shmem_long_iput(heap, source, 1, (ptrdiff_t)1 << 61, 3, 0); // wrong
  shmem_barrier_all();
}
static void stride_wraps_get(void) {
  if (me == 1) shmem_long_iget(dest, heap, (ptrdiff_t)1 << 60, 1, 2, 0); // wrong
  shmem_barrier_all();
}
static void wait_freed(void) {
  long *p = shmem_calloc(1, 64);
  shmem_free(p);
  if (me == 1) shmem_long_wait_until(p, SHMEM_CMP_EQ, 5); // wrong
  shmem_barrier_all();
}
static void past_block_collect(void) {
  shmem_long_collect(SHMEM_TEAM_WORLD, heap, source, me == 1 ? 40 : 20); // wrong
}
static void freed_collect(void) {
  long *p = shmem_malloc(64);
  shmem_free(p);
  shmem_long_collect(SHMEM_TEAM_WORLD, dest, p, 4); // wrong
}
static void freed_alltoalls(void) {
  long *p = shmem_malloc(256);
  shmem_free(p);
  shmem_long_alltoalls(SHMEM_TEAM_WORLD, p, source, 2, 1, 2); // wrong
}
static void overrun_last(void) {
  if (me == 1) heap[64] = 1;
}
static void overrun(void) {
  if (me == 1) heap[64] = 1;
  shmem_barrier_all(); // wrong
}
static void overrun_covered(void) { // by the guard of the next block, which comes right behind
  long *p = shmem_malloc(64);
  if (me == 1 && p != NULL) p[8] = 1;
  p = shmem_malloc(64); // wrong
}
static void underrun(void) {
  char *p = shmem_malloc(1000), *q = shmem_malloc(1000);
  if (me == 1 && p != NULL) q[-3] = 1;
  shmem_barrier_all(); // wrong
}
static void underrun_first(void) { // of the heap
  if (me == 1) heap[-1] = 1;
  shmem_barrier_all(); // wrong
}
static void underrun_first_of_team_heap(void) {
  shmemx_heap_t extra;
  const shmemx_heap_attr_t attributes = {.size = 1 << 16, .team = SHMEM_TEAM_WORLD};
  if (shmemx_heap_create(&attributes, &extra) != 0) exit(96);
  char *p = shmemx_heap_malloc(extra, 100);
  if (me == 0) p[-2] = 1;
  shmem_barrier_all(); // wrong
}
static void underrun_near(void) { // into what guards the end of the block before, too
  char *p = shmem_malloc(64), *q = shmem_malloc(64);
  if (me == 1 && p != NULL) q[-1] = 1;
  shmem_free(p); // wrong
}
static void overrun_freed(void) {
  char *p = shmem_malloc(100);
  if (me == 1) p[102] = 1;
  shmem_free(p); // wrong
}

static void overrun_team_heap(void) {
  shmemx_heap_t extra;
  const shmemx_heap_attr_t attributes = {.size = 1 << 16, .team = SHMEM_TEAM_WORLD};
  if (shmemx_heap_create(&attributes, &extra) != 0) exit(96);
  char *p = shmemx_heap_malloc(extra, 100);
  if (me == 1) p[103] = 1;
  shmem_barrier_all(); // wrong
}

static void overrun_destroyed(void) {
  shmemx_heap_t extra;
  const shmemx_heap_attr_t attributes = {.size = 1 << 16, .team = SHMEM_TEAM_WORLD};
  if (shmemx_heap_create(&attributes, &extra) != 0) exit(96);
  char *p = shmemx_heap_malloc(extra, 100);
  if (me == 1) p[101] = 1;
  shmemx_heap_destroy(extra); // wrong
}
static void overrun_team_destroyed(void) {
  shmem_team_t all;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &all);
  shmemx_heap_t extra;
  const shmemx_heap_attr_t attributes = {.size = 1 << 16, .team = all};
  if (shmemx_heap_create(&attributes, &extra) != 0) exit(96);
  char *p = shmemx_heap_malloc(extra, 100);
  if (me == 1) p[101] = 1;
  shmem_team_destroy(all); // wrong
}

/* ---- the same once many right calls have been made: what they showed to be good is good no longer ---- */
static long *used_block(void) {
  long *p = shmem_calloc(8, sizeof *p);
  for (int i = 0; i < 200; ++i) {
    shmem_long_p(p, 1, 0);
    shmem_long_put(p, source, 8, (me + 1) % npes);
    shmem_long_put(dest, p, 8, 0);
    shmem_long_get(dest + 8, p, 8, 0);
    shmem_long_atomic_add(p, 1, 0);
    shmem_long_wait_until(p, SHMEM_CMP_GE, 0);
  }
  shmem_barrier_all();
  return p;
}
static void freed_put_later(void) {
  long *p = used_block();
  shmem_free(p);
  if (me == 1) shmem_long_p(p, 1, 0); // wrong
  shmem_barrier_all();
}
static void freed_source_later(void) {
  long *p = used_block();
  shmem_free(p);
  if (me == 1) shmem_long_put(dest, p, 8, 0); // wrong
  shmem_barrier_all();
}
static void freed_atomic_later(void) {
  long *p = used_block();
  shmem_free(p);
  if (me == 1) shmem_long_atomic_add(p, 1, 0); // wrong
  shmem_barrier_all();
}
static void past_block_later(void) {
  long *p = used_block();
  if (me == 1) shmem_long_put(p + 1, source, 8, 0); // wrong
  shmem_barrier_all();
}
static void overlap_put_later(void) {
  long *p = used_block();
  if (me == 1) shmem_long_put(p, p + 2, 4, me); // wrong
  shmem_barrier_all();
}
static void wait_freed_later(void) {
  long *p = used_block();
  shmem_free(p);
  if (me == 1) shmem_long_wait_until(p, SHMEM_CMP_EQ, 5); // wrong
  shmem_barrier_all();
}

/* ---- alignment ---- */
static void *off(void *p) { return (char *)p + 4; }
static void misaligned_put(void) {
  if (me == 1) shmem_long_put(off(heap), source, 4, 0); // wrong
  shmem_barrier_all();
}
static void misaligned_put_later(void) {
  long *p = used_block();
  if (me == 1) shmem_long_put(off(p), dest, 1, 0); // wrong
  shmem_barrier_all();
}
static void misaligned_source(void) {
  if (me == 1) shmem_long_put_signal(heap, off(source), 4, (uint64_t *)&heap[8], 1, SHMEM_SIGNAL_SET, 0); // wrong
  shmem_barrier_all();
}
static void misaligned_get(void) {
  if (me == 1) shmem_long_get_nbi(off(dest), heap, 4, 0); // wrong
  shmem_barrier_all();
}
static void misaligned_p(void) {
  if (me == 1) shmem_long_p(off(heap), 1, 0); // wrong
  shmem_barrier_all();
}
static void misaligned_strided(void) {
  if (me == 1) shmem_double_iget((double *)dest, off(heap), 1, 2, 4, 0); // wrong
  shmem_barrier_all();
}
static void misaligned_reduce(void) {
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, off(source), 4); // wrong
}
static void misaligned_to_all(void) {
  shmem_long_sum_to_all(dest, off(source), 1, 0, 0, npes, work, psync); // wrong
}
static void misaligned_collect(void) {
  shmem_long_fcollect(SHMEM_TEAM_WORLD, off(dest), source, 4); // wrong
}

/* ---- overlap ---- */
static void overlap_put(void) {
  if (me == 1) shmem_long_put(heap, heap + 2, 4, me); // wrong
  shmem_barrier_all();
}
static void overlap_reduce(void) {
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap + 2, 4); // wrong
}
static void overlap_broadcast(void) {
  shmem_long_broadcast(SHMEM_TEAM_WORLD, heap, heap + 2, 4, 1); // wrong
}
static void overlap_fcollect(void) {
  shmem_long_fcollect(SHMEM_TEAM_WORLD, heap, heap, 2); // wrong
}

/* ---- work arrays ---- */
static void psync_again(void) {
  shmem_broadcast64(dest, source, 4, 0, 0, 0, npes, psync);
  shmem_broadcast64(dest, source, 4, 0, 0, 0, npes, psync); // wrong
}
static void psync_again_reduce(void) {
  shmem_long_sum_to_all(dest, source, 1, 0, 0, npes, work, psync);
  shmem_long_max_to_all(dest, source, 1, 0, 0, npes, work, psync); // wrong
}
static void psync_third(void) {
  shmem_broadcast64(dest, source, 4, 0, 0, 0, npes, psync);
  shmem_broadcast64(dest, source, 4, 0, 0, 0, npes, other_psync);
  shmem_broadcast64(dest, source, 4, 0, 0, 0, npes, other_psync); // wrong
}
static void psync_again_for_two(void) { // PEs 0 and 1 meet in between, but not PE 2
  shmem_long_sum_to_all(dest, source, 1, 0, 0, npes, work, psync);
  if (me < 2) shmem_long_sum_to_all(dest, source, 1, 0, 0, 2, work, other_psync);
  shmem_long_sum_to_all(dest, source, 1, 0, 0, npes, work, psync); // wrong
}
static void psync_around_ctx(void) { // to make a context orders nothing
  shmem_ctx_t ctx;
  shmem_long_sum_to_all(dest, source, 1, 0, 0, npes, work, psync);
  if (shmem_ctx_create(0, &ctx) != 0) exit(96);
  shmem_long_sum_to_all(dest, source, 1, 0, 0, npes, work, psync); // wrong
}
static void psync_unset(void) {
  psync[1] = 17;
  shmem_broadcast64(dest, source, 4, 0, 0, 0, npes, psync); // wrong
}

/* ---- threads ---- */
static void *call_put(void *unused) {
  shmem_long_p(&word, 1, 0); // wrong
  return unused;
}
static void in_thread(void *(*call)(void *)) {
  pthread_t other;
  if (me == 1) {
    pthread_create(&other, NULL, call, NULL);
    pthread_join(other, NULL);
  }
  shmem_barrier_all();
}
static void thread(void) { in_thread(call_put); }
static void *call_create(void *unused) {
  shmem_ctx_t ctx;
  shmem_ctx_create(0, &ctx); // wrong
  return unused;
}
static void thread_create(void) { in_thread(call_create); }
static void *call_team_create(void *unused) {
  shmem_ctx_t ctx;
  shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &ctx); // wrong
  return unused;
}
static void thread_team_create(void) { in_thread(call_team_create); }
static void *call_session(void *unused) {
  shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0); // wrong
  return unused;
}
static void thread_session(void) { in_thread(call_session); }
static void *call_wait(void *unused) {
  shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
  return unused;
}
static void serialized(void) {
  pthread_t other;
  if (me == 1) {
    pthread_create(&other, NULL, call_wait, NULL);
    for (;;) shmem_long_atomic_add(heap, 1, 0); // wrong
  }
  shmem_barrier_all();
}

/* ---- handles, locks, blocks and PEs that are not what the call needs: told always, and with the line here ---- */
static void lock_of_other(void) {
  if (me == 0) shmem_set_lock(&lock);
  shmem_barrier_all();
  if (me == 1) shmem_clear_lock(&lock); // wrong
  shmem_barrier_all();
}
static void lock_twice(void) {
  if (me == 1) shmem_set_lock(&lock);
  if (me == 1) shmem_set_lock(&lock); // wrong
  shmem_barrier_all();
}
static void team_destroyed(void) {
  shmem_team_t all;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &all);
  shmem_team_destroy(all);
  shmem_team_sync(all); // wrong
}
static void ctx_destroyed(void) {
  shmem_ctx_t ctx;
  if (shmem_ctx_create(0, &ctx) != 0) exit(96);
  shmem_ctx_destroy(ctx);
  shmem_ctx_long_p(ctx, &word, 1, 0); // wrong
}
static void free_twice(void) {
  long *p = shmem_malloc(64);
  shmem_free(p);
  shmem_free(p); // wrong
}
static void free_inside(void) {
  char *p = shmem_malloc(100);
  shmem_free(p + 8); // wrong
}
static void free_private(void) {
  shmem_free(malloc(8)); // wrong
}
static void pe_out_of_range(void) {
  shmem_long_p(&word, 1, npes); // wrong
}

/* ---- what is right ---- */
static void exact_heap(void) { // guards take none of the room that a heap was asked for
  shmemx_heap_t exact;
  const shmemx_heap_attr_t attributes = {.size = 64 + 4096 + 128, .alignment = 64, .team = SHMEM_TEAM_WORLD};
  if (shmemx_heap_create(&attributes, &exact) != 0) exit(96);
  if (shmemx_heap_size(exact) != 64 + 4096 + 128) exit(95);
  char *a = shmemx_heap_malloc(exact, 1), *b = shmemx_heap_malloc(exact, 4096), *c = shmemx_heap_malloc(exact, 100);
  if (a == NULL || b == NULL || c == NULL || shmemx_heap_malloc(exact, 1) != NULL) exit(94);
  if (shmemx_heap_used(exact) != 64 + 4096 + 128) exit(93);
  shmem_putmem(c, source, 100, (me + 1) % npes);
  shmemx_heap_free(exact, b);
  b = shmemx_heap_align(exact, 1024, 1024);
  if (b == NULL || (uintptr_t)b % 1024 != 0) exit(92);
  memset(b, 1, 1024);
  shmemx_heap_destroy(exact);
}
static void right(void) {
  long *p = shmem_malloc(100);
  p[11] = 1;
  shmem_long_put(heap, source, 64, (me + 1) % npes);
  shmem_long_put(heap, heap, 64, me); // the same memory is no overlap
  shmem_long_iput(heap, source, 3, 1, 21, (me + 1) % npes);
  shmem_putmem(off(heap), off(source), 100, (me + 1) % npes); // of no type
  shmem_put64(off(heap), off(source), 1, (me + 1) % npes);
  shmem_int_p(off(heap), 1, (me + 1) % npes);
  shmem_broadcastmem(SHMEM_TEAM_WORLD, off(dest), off(source), 4, 1);
  if (me == 1) shmem_long_put(off(heap), source, 0, 0);
  shmem_putmem(p, source, 100, (me + 1) % npes);
  shmem_barrier_all();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, dest, 4);
  shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, dest, 4, 1);
  shmem_long_atomic_fetch_nbi(&dest[0], &dest[0], me);
  shmem_long_atomic_swap_nbi(&heap[1], &heap[0], 1, (me + 1) % npes);
  shmem_quiet();
  shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, (size_t)me);
  p = shmem_realloc(p, 1000);
  shmem_putmem(p, p, 1000, me);
  p = shmem_realloc(p, 10);
  shmem_broadcast64(dest, source, 4, 0, 0, 0, npes, psync);
  shmem_barrier_all();
  shmem_broadcast64(dest, source, 4, 1, 0, 0, npes, psync);
  shmem_barrier_all();
  for (int i = 0; i < 4; ++i) shmem_long_sum_to_all(dest, source, 1, 0, 0, npes, work, i % 2 == 0 ? psync : other_psync);
  for (int i = 0; i < 3; ++i) shmem_sync(0, 0, npes, psync);
  for (int i = 0; i < 3; ++i) {  // what frees the array: its set within another, a signal, nobody else in the set
    if (me < 2) shmem_long_sum_to_all(dest, source, 1, 0, 0, 2, work, psync);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 1);
  }
  for (int i = 0; i < 3 && me < 2; ++i) {
    shmem_broadcast64(dest, source, 4, 0, 0, 0, 2, other_psync);
    shmem_long_p(&word, i + 1, 1 - me);
    shmem_long_wait_until(&word, SHMEM_CMP_GE, i + 1);
  }
  shmem_barrier_all();
  for (int i = 0; i < 3 && me < 2; ++i) {  // nor does it matter what the signal is sent by
    source[1] = 10 + i;
    shmem_broadcast64(dest, source, 4, 0, 0, 0, 2, other_psync);
    shmem_long_put(&word, &source[1], 1, 1 - me);
    shmem_long_wait_until(&word, SHMEM_CMP_GE, 10 + i);
  }
  shmem_barrier_all();
  for (int i = 0; i < 3; ++i) shmem_long_sum_to_all(dest, source, 1, me, 0, 1, work, psync);
  shmem_long_alltoalls(SHMEM_TEAM_WORLD, dest, dest + 1, 2, 2, 2);  // one between the other's elements
  shmem_set_lock(&lock);
  shmem_clear_lock(&lock);
  shmem_ctx_t ctx;
  if (shmem_ctx_create(0, &ctx) != 0) exit(91);
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  shmem_ctx_session_stop(ctx);
  shmem_ctx_destroy(ctx);
  shmem_free(p);
  exact_heap();
  if (me == 0) shmem_putmem(dest, source, 0, 0);
  shmem_finalize();
  exit(0);
}
/// Each meeting looks at the blocks of all heaps: those that another thread destroys, too.
static void *make_heaps(void *team) {
  const shmemx_heap_attr_t attributes = {.size = 1 << 16, .team = *(shmem_team_t *)team};
  for (int round = 0; round < 300; ++round) {
    shmemx_heap_t one;
    if (shmemx_heap_create(&attributes, &one) != 0) exit(96);
    for (int i = 0; i < 30; ++i) shmemx_heap_malloc(one, 100);
    shmemx_heap_destroy(one);
  }
  return NULL;
}
static void right_heaps(void) {
  shmem_team_t teams[2];
  for (int i = 0; i < 2; ++i) shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &teams[i]);
  pthread_t other;
  pthread_create(&other, NULL, make_heaps, &teams[0]);
  for (int i = 0; i < 3000; ++i) shmem_team_sync(teams[1]);
  pthread_join(other, NULL);
  shmem_finalize();
  exit(0);
}

static const struct {
  const char *name;
  void (*run)(void);
  int level;
} cases[] = {
#define CASE(name) {#name, name, SHMEM_THREAD_FUNNELED}
    CASE(malloc_sizes), CASE(malloc_calls), CASE(free_other), CASE(free_in_other_heap), CASE(destroy_other_heap), CASE(alignments), CASE(strides),
    CASE(splits), CASE(active_sets), CASE(past_block_collect), CASE(freed_collect), CASE(freed_alltoalls), CASE(overrun_last),
    CASE(psync_again_for_two), CASE(operations), CASE(types), CASE(counts), CASE(roots),
    CASE(addresses), CASE(team), CASE(never), CASE(locks), CASE(freed_put), CASE(freed_source), CASE(never_allocated), CASE(past_block),
    CASE(past_block_get), CASE(stride_wraps), CASE(stride_wraps_get), CASE(past_block_batch), CASE(wait_freed), CASE(freed_put_later), CASE(freed_source_later), CASE(freed_atomic_later),
    CASE(past_block_later), CASE(overlap_put_later), CASE(wait_freed_later), CASE(overrun), CASE(overrun_covered), CASE(overrun_freed), CASE(underrun), CASE(underrun_first), CASE(underrun_first_of_team_heap), CASE(underrun_near), CASE(freed_fetch), CASE(overlap_broadcast), CASE(overrun_team_heap), CASE(overrun_destroyed), CASE(overrun_team_destroyed), CASE(overlap_put), CASE(overlap_reduce),
    CASE(overlap_fcollect), CASE(psync_again), CASE(psync_again_reduce), CASE(psync_third), CASE(psync_around_ctx), CASE(psync_unset), CASE(thread), CASE(thread_create), CASE(thread_team_create), CASE(thread_session),
    CASE(lock_of_other), CASE(lock_twice), CASE(team_destroyed), CASE(ctx_destroyed), CASE(free_twice), CASE(free_inside), CASE(free_private),
    CASE(pe_out_of_range), CASE(misaligned_put), CASE(misaligned_put_later), CASE(misaligned_source), CASE(misaligned_get), CASE(misaligned_p),
    CASE(misaligned_strided), CASE(misaligned_reduce), CASE(misaligned_to_all), CASE(misaligned_collect),
    {"serialized", serialized, SHMEM_THREAD_SERIALIZED}, CASE(right), {"right_heaps", right_heaps, SHMEM_THREAD_MULTIPLE}};

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc < 2 || strcmp(argv[1], cases[i].name) != 0) continue;
    int provided;
    if (shmem_init_thread(cases[i].level, &provided) != 0) return 97;
    me = shmem_my_pe();
    npes = shmem_n_pes();
    heap = shmem_calloc(64, sizeof *heap);
    cases[i].run();
    shmem_finalize();
    return 98;
  }
  fprintf(stderr, "no such case\n");
  return 99;
}

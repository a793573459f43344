// SPDX-License-Identifier: Apache-2.0
// Extensions of shmemx.h: further symmetric heaps, of the whole job and of teams; their use can be asked.
#include "support.h"
#include <shmemx.h>

enum { kSize = 4 << 20 };

/// Everything a heap does, among the members of its team.
static void exercise(shmemx_heap_t heap, shmem_team_t team, size_t size, const char *name) {
  section(name);
  const int rank = shmem_team_my_pe(team), members = shmem_team_n_pes(team);
  const int to = shmem_team_translate_pe(team, (rank + 1) % members, SHMEM_TEAM_WORLD);
  const int from = shmem_team_translate_pe(team, (rank + members - 1) % members, SHMEM_TEAM_WORLD);
  CHECK(shmemx_heap_size(heap) >= size);
  const size_t used_at_start = shmemx_heap_used(heap);
  long *words = shmemx_heap_malloc(heap, 100 * sizeof *words);
  CHECK(words != NULL && (uintptr_t)words % 16 == 0);
  char *aligned = shmemx_heap_align(heap, 4096, 10000);
  CHECK(aligned != NULL && (uintptr_t)aligned % 4096 == 0);
  CHECK(shmemx_heap_used(heap) >= used_at_start + 10800);
  CHECK(shmemx_heap_used(heap) <= shmemx_heap_size(heap));
  memset(words, 0, 100 * sizeof *words);
  shmem_team_sync(team);
  // Puts, gets, atomics, signals, waits: all as on the first heap. PE numbers are the world's on the default context.
  shmem_long_p(&words[0], 1000 + rank, to);
  shmem_long_atomic_add(&words[1], 7, to);
  shmem_putmem_signal(aligned, "block", 6, (uint64_t *)&words[2], 5, SHMEM_SIGNAL_SET, to);
  CHECK_EQ(shmem_signal_wait_until((uint64_t *)&words[2], SHMEM_CMP_EQ, 5), 5);
  CHECK_EQ(strcmp(aligned, "block"), 0);
  shmem_long_wait_until(&words[1], SHMEM_CMP_EQ, 7);
  shmem_long_wait_until(&words[0], SHMEM_CMP_NE, 0);
  CHECK_EQ(words[0], 1000 + (rank + members - 1) % members);
  CHECK_EQ(shmem_addr_accessible(words, to), 1);
  CHECK(shmem_ptr(words, me) == words);
  shmem_quiet();
  shmem_team_sync(team);
  const long *there = shmem_ptr(words, from);
  if (there != NULL) CHECK_EQ(there[2], 5);
  shmem_team_sync(team); // all have looked
  // Members use more and more until there is no more: NULL on all, and everything works afterwards.
  void *blocks[80];
  int count = 0;
  const size_t step = size / 16;
  while (count < 80 && (blocks[count] = shmemx_heap_malloc(heap, step)) != NULL) {
    memset(blocks[count], count, step);
    ++count;
  }
  CHECK(count < 80);
  CHECK_EQ(count, 15); // of 16, as some of the heap is taken already
  CHECK(shmemx_heap_malloc(heap, step) == NULL);
  CHECK(shmemx_heap_malloc(heap, SIZE_MAX) == NULL);
  for (int i = 0; i < count; ++i) shmemx_heap_free(heap, blocks[i]);
  shmemx_heap_free(heap, NULL);
  CHECK(shmemx_heap_malloc(heap, 0) == NULL);
  CHECK_EQ(words[1], 7);
  shmemx_heap_free(heap, aligned);
  shmemx_heap_free(heap, words);
  CHECK_EQ(shmemx_heap_used(heap), used_at_start);
}

static void test_world(void) {
  for (int k = 0; k < 5; ++k) {
    shmemx_heap_t heap = SHMEMX_HEAP_INVALID, second = SHMEMX_HEAP_INVALID;
    const shmemx_heap_attr_t attr = {.size = kSize, .alignment = k % 2 ? 4096 : 0, .team = SHMEM_TEAM_WORLD};
    section("create");
    CHECK_EQ(shmemx_heap_create(&attr, &heap), 0);
    CHECK(heap != SHMEMX_HEAP_INVALID && heap != SHMEMX_HEAP_DEFAULT);
    CHECK_EQ(shmemx_heap_create(&attr, &second), 0);
    CHECK(second != heap);
    if (k % 2) {
      void *small[3]; // every object has the heap's alignment at least
      for (int i = 0; i < 3; ++i) small[i] = shmemx_heap_malloc(heap, 10);
      for (int i = 0; i < 3; ++i) CHECK(small[i] != NULL && (uintptr_t)small[i] % 4096 == 0);
      void *first = shmemx_heap_align(heap, (size_t)2 << 20, 64);
      CHECK(first != NULL && (uintptr_t)first % ((size_t)2 << 20) == 0);
      for (int i = 0; i < 3; ++i) shmemx_heap_free(heap, small[i]);
      shmemx_heap_free(heap, first);
    }
    exercise(heap, SHMEM_TEAM_WORLD, kSize, "a heap of the world");
    exercise(second, SHMEM_TEAM_WORLD, kSize, "a second one beside it");
    shmemx_heap_destroy(heap);
    exercise(second, SHMEM_TEAM_WORLD, kSize, "the second one alone");
    (void)shmemx_heap_malloc(second, 100); // goes with its heap
    shmemx_heap_destroy(second);
  }
}

static void test_default_heap(void) {
  section("the default heap by its handle");
  const size_t before = shmemx_heap_used(SHMEMX_HEAP_DEFAULT);
  void *p = shmem_malloc(100000);
  CHECK(p != NULL);
  CHECK(shmemx_heap_used(SHMEMX_HEAP_DEFAULT) >= before + 100000);
  void *q = shmemx_heap_malloc(SHMEMX_HEAP_DEFAULT, 5000);
  CHECK(q != NULL && q != p);
  shmemx_heap_free(SHMEMX_HEAP_DEFAULT, q);
  shmem_free(p);
  CHECK_EQ(shmemx_heap_used(SHMEMX_HEAP_DEFAULT), before);
  CHECK(shmemx_heap_size(SHMEMX_HEAP_DEFAULT) >= before);
}

/// Members only: others have another view, and are not asked. Odd and even PEs at the same time.
static void test_teams(void) {
  section("heaps of teams");
  if (npes < 2) return;
  shmem_team_t mine = SHMEM_TEAM_INVALID;
  for (int parity = 0; parity < 2; ++parity) {
    shmem_team_t team = SHMEM_TEAM_INVALID;
    const int size = (npes + 1 - parity) / 2;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, parity, size > 1 ? 2 : 1, size, NULL, 0, &team);
    if (me % 2 == parity) mine = team;
  }
  CHECK(mine != SHMEM_TEAM_INVALID);
  shmemx_heap_t heap = SHMEMX_HEAP_INVALID;
  // The sizes differ between the two teams: nothing needs to agree beyond a team.
  const size_t size = me % 2 == 0 ? (size_t)kSize : (size_t)kSize / 2;
  const shmemx_heap_attr_t attr = {.size = size, .alignment = 4096, .team = mine};
  CHECK_EQ(shmemx_heap_create(&attr, &heap), 0);
  exercise(heap, mine, size, "a heap of a team");
  long *object = shmemx_heap_malloc(heap, 64);
  CHECK(object != NULL);
  const int outsider = me % 2 == 0 ? 1 : 0;
  section("outsiders");
  CHECK_EQ(shmem_addr_accessible(object, outsider), 0);
  CHECK(shmem_ptr(object, outsider) == NULL);
  CHECK_EQ(shmem_addr_accessible(object, me), 1);
  shmem_barrier_all();
  shmemx_heap_destroy(heap);
  shmem_team_destroy(mine);
}

/// The one that destroys the team first must not take its heap from under those who still get from it.
static void test_heap_goes_with_its_team(void) {
  section("a heap that goes with its team");
  enum { kGets = 300 };
  shmem_team_t team = SHMEM_TEAM_INVALID;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team), 0);
  shmemx_heap_t heap = SHMEMX_HEAP_INVALID;
  const shmemx_heap_attr_t attr = {.size = kSize, .alignment = 0, .team = team};
  CHECK_EQ(shmemx_heap_create(&attr, &heap), 0);
  long *words = shmemx_heap_malloc(heap, sizeof *words);
  CHECK(words != NULL);
  *words = 100 + me;
  shmem_barrier_all();
  for (int k = 0; k < (me == 0 ? 0 : kGets); ++k) CHECK_EQ(shmem_long_g(words, 0), 100);
  shmem_team_destroy(team);
}

static void test_refusals(void) {
  section("what is refused");
  shmemx_heap_t heap = SHMEMX_HEAP_DEFAULT;
  const shmemx_heap_attr_t empty = {.size = 0, .alignment = 0, .team = SHMEM_TEAM_WORLD};
  CHECK(shmemx_heap_create(&empty, &heap) != 0);
  CHECK(heap == SHMEMX_HEAP_INVALID);
  const shmemx_heap_attr_t odd = {.size = 4096, .alignment = 24, .team = SHMEM_TEAM_WORLD};
  CHECK(shmemx_heap_create(&odd, &heap) != 0);
  const shmemx_heap_attr_t nobody = {.size = 4096, .alignment = 0, .team = SHMEM_TEAM_INVALID};
  CHECK(shmemx_heap_create(&nobody, &heap) != 0);
  const shmemx_heap_attr_t huge = {.size = SIZE_MAX / 2, .alignment = 0, .team = SHMEM_TEAM_WORLD};
  CHECK(shmemx_heap_create(&huge, &heap) != 0);
  CHECK(heap == SHMEMX_HEAP_INVALID);
  CHECK(shmemx_heap_malloc(SHMEMX_HEAP_INVALID, 10) == NULL);
  CHECK(shmemx_heap_align(SHMEMX_HEAP_INVALID, 64, 10) == NULL);
  CHECK_EQ(shmemx_heap_size(SHMEMX_HEAP_INVALID), 0);
  CHECK_EQ(shmemx_heap_used(SHMEMX_HEAP_INVALID), 0);
  shmemx_heap_destroy(SHMEMX_HEAP_INVALID);
}

int main(void) {
  test_begin("extensions_heaps");
  test_default_heap();
  test_world();
  test_teams();
  test_heap_goes_with_its_team();
  test_refusals();
  // One that is still there at the end goes with the job.
  shmemx_heap_t heap = SHMEMX_HEAP_INVALID;
  const shmemx_heap_attr_t attr = {.size = kSize, .alignment = 0, .team = SHMEM_TEAM_WORLD};
  CHECK_EQ(shmemx_heap_create(&attr, &heap), 0);
  CHECK(shmemx_heap_malloc(heap, 10) != NULL);
  return test_end();
}

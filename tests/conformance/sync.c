// SPDX-License-Identifier: Apache-2.0
// Chapter "Collectives": shmem_barrier_all, shmem_sync_all, shmem_team_sync. Nobody leaves before all have come; a
// barrier also completes what was put before it; teams do not disturb each other.
#include "support.h"

enum { kMaxPes = 64, kRounds = 300 };
static long arrivals[kMaxPes];  // one a PE: the round that it has entered last

static void compute(int rounds) {
  volatile unsigned long x = 1;
  for (int i = 0; i < rounds * 1000; ++i) x = x * 2862933555777941757ul + 3037000493ul;
}

static void announce(long round) {
  for (int pe = 0; pe < npes; ++pe) shmem_long_atomic_set(&arrivals[me], round, pe);
  shmem_quiet();
}

/// `meet` is a meeting of the members of `team`.
static void nobody_leaves_early(void (*meet)(void), shmem_team_t team, const char *name) {
  section(name);
  memset(arrivals, 0, sizeof arrivals);
  shmem_barrier_all();
  for (long round = 1; round <= kRounds; ++round) {
    if (round % 16 == 0 && (int)(round / 16) % npes == me) compute(200);  // someone is late
    announce(round);
    meet();
    // Who left knows that all had announced this round; the fast ones may be one round further, never two.
    for (int pe = 0; pe < npes; ++pe) {
      if (shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team) < 0) continue;
      const long seen = shmem_long_atomic_fetch(&arrivals[pe], me);
      CHECK(seen == round || seen == round + 1);
    }
  }
  shmem_barrier_all();
}

static void sync_world_team(void) { CHECK_EQ(shmem_team_sync(SHMEM_TEAM_WORLD), 0); }
static void sync_shared_team(void) { CHECK_EQ(shmem_team_sync(SHMEM_TEAM_SHARED), 0); }
static void mixed(void) {
  static int turn = 0;
  switch (turn++ % 3) {
    case 0:
      shmem_barrier_all();
      break;
    case 1:
      shmem_sync_all();
      break;
    default:
      sync_world_team();
  }
}

static void barrier_completes_puts(void) {
  section("barrier completes puts");
  enum { kWords = 500 };
  static long source[kWords];
  long *dest = (long *)shmem_malloc(sizeof(long) * kWords * (size_t)npes);
  long *count = (long *)shmem_calloc(1, sizeof(long));
  for (long round = 1; round <= 50; ++round) {
    for (int i = 0; i < kWords; ++i) source[i] = round * 1000000 + me * 1000 + i;
    for (int pe = 0; pe < npes; ++pe) {
      shmem_long_put_nbi(dest + (size_t)me * kWords, source, kWords, pe);
      shmem_long_atomic_add(count, 1, pe);
    }
    shmem_barrier_all();
    CHECK_EQ(*count, round * npes);
    for (int pe = 0; pe < npes; ++pe)
      for (int i = 0; i < kWords; ++i) CHECK(dest[pe * kWords + i] == round * 1000000 + pe * 1000 + i);
    shmem_sync_all();
  }
  shmem_free(dest);
  shmem_free(count);
}

/// A sync makes stores of the members visible to the others' gets and loads, although it completes no puts.
static void sync_publishes_stores(void) {
  section("sync publishes stores");
  long *mine = (long *)shmem_calloc(1, sizeof(long));
  for (long round = 1; round <= 200; ++round) {
    *mine = round * 100 + me;
    shmem_sync_all();
    const int pe = (me + (int)round) % npes;
    CHECK_EQ(shmem_long_g(mine, pe), round * 100 + pe);
    shmem_sync_all();
  }
  shmem_free(mine);
}

/// Two teams that share PEs, used in turn, and disjoint teams that meet at different rates.
static void teams_do_not_disturb_each_other(void) {
  section("teams side by side");
  shmem_team_t low = SHMEM_TEAM_INVALID, high = SHMEM_TEAM_INVALID, single = SHMEM_TEAM_INVALID;
  const int third = npes / 3;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes - third, NULL, 0, &low), 0);
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes - third, NULL, 0, &high), 0);
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, npes / 2, 0, 1, NULL, 0, &single), 0);
  for (int i = 0; i < 500; ++i) {
    if (low != SHMEM_TEAM_INVALID) CHECK_EQ(shmem_team_sync(low), 0);
    if (high != SHMEM_TEAM_INVALID && i % 3 == 0) CHECK_EQ(shmem_team_sync(high), 0);
    if (single != SHMEM_TEAM_INVALID && i % 7 == 0) CHECK_EQ(shmem_team_sync(single), 0);
    if (i % 50 == 0) shmem_sync_all();
  }
  shmem_team_destroy(low);
  shmem_team_destroy(high);
  shmem_team_destroy(single);

  shmem_team_t half = SHMEM_TEAM_INVALID, other = SHMEM_TEAM_INVALID;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (npes + 1) / 2, NULL, 0, &half), 0);
  if (npes > 1) CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, npes / 2, NULL, 0, &other), 0);
  for (int i = 0; i < (me % 2 ? 100 : 1000); ++i) CHECK_EQ(shmem_team_sync(me % 2 ? other : half), 0);
  shmem_team_destroy(me % 2 ? other : half);
  shmem_barrier_all();
}

int main(void) {
  test_begin("sync");
  CHECK(npes <= kMaxPes);
  nobody_leaves_early(shmem_barrier_all, SHMEM_TEAM_WORLD, "barrier_all");
  nobody_leaves_early(shmem_sync_all, SHMEM_TEAM_WORLD, "sync_all");
  nobody_leaves_early(sync_world_team, SHMEM_TEAM_WORLD, "team_sync of the world");
  nobody_leaves_early(sync_shared_team, SHMEM_TEAM_SHARED, "team_sync of the shared team");
  nobody_leaves_early(mixed, SHMEM_TEAM_WORLD, "barrier and sync in turn");
  barrier_completes_puts();
  sync_publishes_stores();
  teams_do_not_disturb_each_other();
  return test_end();
}

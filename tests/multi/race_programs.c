// SPDX-License-Identifier: Apache-2.0
// Programs whose accesses nothing orders, and programs that order them: `race_programs CASE` on 3 PEs, for race_test.py. What races
// stands on lines that end with "// race".
#include <aclshmemx.h>
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long data[8], source[8], got[8], flag, lock;
static uint64_t signal_word;
static int me;

/* ---- races ---- */
static void put_put(void) {
  if (me < 2) shmem_long_put(data, source, 8, 2); // race
  shmem_barrier_all();
}
static void all_put(void) {
  shmem_long_put(data, source, 8, 2); // race
  shmem_barrier_all();
}
static void put_get(void) {
  if (me == 0) shmem_long_p(&data[3], 1, 2); // race
  if (me == 1) shmem_long_get(got, data, 8, 2); // race
  shmem_barrier_all();
}
static void no_fence(void) {
  if (me == 0) {
    shmem_long_put(data, source, 8, 1); // race
    shmem_long_p(&flag, 1, 1);
  }
  if (me == 1) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_long_get(got, data, 8, 1); // race
  }
  shmem_barrier_all();
}
/// In the last bytes of much, of which other parts have been written, too, and read.
static void far_behind(void) {
  enum { kMany = 3 << 17 };
  long *block = shmem_calloc(kMany, sizeof *block);
  if (me == 2) shmem_long_p(&block[7], 1, 1);
  if (me == 2) shmem_long_iget(got, &block[100], 1, 3, 8, 1);
  shmem_barrier_all();
  if (me == 0) shmem_long_put(block, block, kMany, 1); // race
  if (me == 2) shmem_long_p(&block[kMany - 1], 1, 1); // race
  shmem_barrier_all();
}
static void sync_only(void) {
  if (me == 0) shmem_long_put(data, source, 8, 1); // race
  shmem_sync_all();
  if (me == 2) shmem_long_get(got, data, 8, 1); // race
  shmem_barrier_all();
}
/// What barriers and clear_lock complete is the default context's.
static void barrier_of_another(void) {
  shmem_ctx_t ctx;
  shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx);
  if (me == 0) shmem_ctx_long_put(ctx, data, source, 8, 1); // race
  shmem_barrier_all();
  if (me == 2) shmem_long_get(got, data, 8, 1); // race
  shmem_barrier_all();
  shmem_ctx_destroy(ctx);
}
static void fence_of_another(void) {
  shmem_ctx_t ctx;
  shmem_ctx_create(0, &ctx);
  if (me == 0) {
    shmem_ctx_long_put(ctx, data, source, 8, 1); // race
    shmem_fence();
    shmem_long_p(&flag, 1, 1);
  }
  if (me == 1) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_long_get(got, data, 8, 1); // race
  }
  shmem_ctx_destroy(ctx);
  shmem_barrier_all();
}
/// A fence of its context, but the flag goes on another.
static void flag_of_another(void) {
  shmem_ctx_t ctx;
  shmem_ctx_create(0, &ctx);
  if (me == 0) {
    shmem_ctx_long_put(ctx, data, source, 8, 1); // race
    shmem_ctx_fence(ctx);
    shmem_long_p(&flag, 1, 1);
  }
  if (me == 1) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_long_get(got, data, 8, 1); // race
  }
  shmem_ctx_destroy(ctx);
  shmem_barrier_all();
}
static void quiet_of_another(void) {
  shmem_ctx_t one, other;
  shmem_ctx_create(SHMEM_CTX_SERIALIZED, &one);
  shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &other);
  if (me == 0) shmem_ctx_long_put(one, data, source, 8, 1); // race
  shmem_ctx_quiet(other);
  shmem_quiet();
  shmem_sync_all();
  if (me == 2) shmem_long_get(got, data, 8, 1); // race
  shmem_barrier_all();
  shmem_ctx_destroy(one);
  shmem_ctx_destroy(other);
}
/// A broadcast orders what the root did before, and nothing else.
static void broadcast_leaf(void) {
  if (me == 1) shmem_long_p(&data[0], 1, 0); // race
  shmem_quiet();
  shmem_long_broadcast(SHMEM_TEAM_WORLD, got, source, 2, 0);
  if (me == 2) shmem_long_get(&got[4], data, 2, 0); // race
  shmem_barrier_all();
}
static void scan_from_behind(void) {
  if (me == 2) shmem_long_p(&data[0], 1, 1); // race
  shmem_quiet();
  shmem_long_sum_inscan(SHMEM_TEAM_WORLD, got, source, 2);
  if (me == 0) shmem_long_get(&got[4], data, 2, 1); // race
  shmem_barrier_all();
}
/// All enter before any leaves, but what they have put may still be under way.
static void reduce_only(void) {
  if (me == 0) shmem_long_put(data, source, 8, 1); // race
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, got, source, 2);
  if (me == 2) shmem_long_get(got, data, 8, 1); // race
  shmem_barrier_all();
}
/// Who leaves a collective knows of its own dest only, and of its own source.
static void dest_of_another(void) {
  shmem_long_fcollect(SHMEM_TEAM_WORLD, data, source, 2); // race
  if (me == 2) shmem_long_get(got, data, 2, 1); // race
  shmem_barrier_all();
}
static void source_of_another(void) {
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, data, source, 8); // race
  if (me == 2) shmem_long_p(&source[3], 2, 1); // race
  shmem_barrier_all();
}
static void no_elements(void) {
  if (me == 0) shmem_long_put(data, source, 8, 1); // race
  shmem_quiet();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, got, source, 0);
  shmem_free(NULL);
  shmem_malloc(0);
  if (me == 2) shmem_long_get(got, data, 8, 1); // race
  shmem_barrier_all();
}
/// What a call without blocking reads and writes is its own until quiet.
static void source_nbi(void) {
  if (me == 0) {
    shmem_long_put_nbi(data, source, 8, 1); // race
    shmem_long_get(source, got, 8, 2); // race
  }
  shmem_barrier_all();
}
static void dest_nbi(void) {
  if (me == 0) {
    shmem_long_get_nbi(got, source, 8, 2); // race
    shmem_fence();
    shmem_long_put(data, got, 8, 1); // race
  }
  shmem_barrier_all();
}
static void read_nbi(void) {
  if (me == 0) shmem_long_get_nbi(got, data, 8, 2); // race
  shmem_sync_all();
  if (me == 1) shmem_long_put(data, source, 8, 2); // race
  shmem_barrier_all();
}
static void result_nbi(void) {
  if (me == 0) {
    shmem_long_atomic_fetch_add_nbi(&got[0], &flag, 1, 2); // race
    shmem_long_put(data, got, 2, 1); // race
  }
  shmem_barrier_all();
}
static void other_team(void) {
  shmem_team_t pair;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &pair);
  if (me == 0) shmem_long_put(data, source, 8, 1); // race
  shmem_quiet();
  if (me < 2) shmem_team_sync(pair);
  if (me == 2) shmem_long_get(got, data, 8, 1); // race
  shmem_barrier_all();
}

/* ---- no races ---- */
static void barrier(void) {
  if (me == 0) shmem_long_put(data, source, 8, 1);
  shmem_barrier_all();
  if (me == 2) shmem_long_get(got, data, 8, 1);
  shmem_barrier_all();
  shmem_long_put(data, source, 8, me);
  shmem_barrier_all();
}
static void fence(void) {
  if (me == 0) {
    shmem_long_put(data, source, 8, 1);
    shmem_fence();
    shmem_long_p(&flag, 1, 1);
  }
  if (me == 1) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_long_get(got, data, 8, 1);
  }
  shmem_barrier_all();
}
static void signalled(void) {
  if (me == 0) shmem_long_put_signal(data, source, 8, &signal_word, 1, SHMEM_SIGNAL_SET, 1);
  if (me == 1) {
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
    shmem_long_get(got, data, 8, 1);
  }
  shmem_barrier_all();
}
static void polled(void) {
  if (me == 0) shmem_long_put_signal(data, source, 8, &signal_word, 1, SHMEM_SIGNAL_SET, 1);
  if (me == 1) {
    while (shmem_signal_fetch(&signal_word) != 1) continue;
    shmem_long_get(got, data, 8, 1);
  }
  shmem_barrier_all();
}
static void locked(void) {
  shmem_set_lock(&lock);
  const long value = shmem_long_g(&data[0], 0);
  shmem_long_p(&data[0], value + 1, 0);
  shmem_clear_lock(&lock);
  shmem_barrier_all();
}
static void counted(void) {
  if (me != 0) {
    shmem_long_put(&data[me], source, 1, 0);
    shmem_quiet();
    shmem_long_atomic_inc(&flag, 0);
  } else {
    while (shmem_long_atomic_fetch(&flag, 0) != 2) continue;
    shmem_long_get(got, data, 8, 0);
  }
  shmem_barrier_all();
}
static void apart(void) {
  shmem_long_p(&data[me], 1, 2);
  shmem_putmem((char *)&data[4] + me, source, 1, 2); // bytes of one word
  shmem_barrier_all();
}

static void met_by_two(void) {
  if (me == 0) shmem_long_put(data, source, 8, 1);
  if (me < 2) shmemx_sync_pe(1 - me);
  if (me == 1) shmem_long_get(got, data, 8, 1);
  shmem_barrier_all();
}
static void context_destroyed(void) {
  shmem_ctx_t ctx;
  shmem_ctx_create(0, &ctx);
  if (me == 0) shmem_ctx_long_put(ctx, data, source, 8, 1);
  shmem_ctx_destroy(ctx);
  shmem_sync_all();
  if (me == 2) shmem_long_get(got, data, 8, 1);
  shmem_barrier_all();
}
static void contexts(void) {
  shmem_ctx_t ctx;
  shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx);
  if (me == 0) {
    shmem_ctx_long_put(ctx, data, source, 4, 1);
    shmem_ctx_fence(ctx);
    shmem_ctx_long_atomic_set(ctx, &flag, 1, 1);
    shmem_ctx_long_put_signal(ctx, &data[4], source, 4, &signal_word, 1, SHMEM_SIGNAL_ADD, 1);
  }
  if (me == 1) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_long_get(got, data, 4, 1);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
    shmem_long_get(got, &data[4], 4, 1);
  }
  shmem_barrier_all();
  if (me == 2) shmem_ctx_long_put(ctx, data, source, 8, 1);
  shmem_ctx_quiet(ctx);
  shmem_barrier_all();
  shmem_long_get(got, data, 8, 1);
  shmem_barrier_all();
  shmem_ctx_destroy(ctx);
}
/// The contexts of a team are completed with it.
static void team_destroyed(void) {
  shmem_team_t team;
  shmem_team_config_t config = {.num_contexts = 1};
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), &config, SHMEM_TEAM_NUM_CONTEXTS, &team);
  shmem_ctx_t ctx;
  shmem_team_create_ctx(team, 0, &ctx);
  if (me == 0) shmem_ctx_long_put(ctx, data, source, 8, 1);
  shmem_team_destroy(team);
  shmem_sync_all();
  if (me == 2) shmem_long_get(got, data, 8, 1);
  shmem_barrier_all();
}
/// What collectives do order.
static void flows(void) {
  long *const there = &data[4];
  for (int round = 0; round < 3; ++round) {
    if (me == 1) shmem_long_put(data, source, 2, 2);
    if (me == 1) shmem_quiet();
    shmem_long_broadcast(SHMEM_TEAM_WORLD, got, source, 2, 1);
    if (me == 0) shmem_long_get(&got[2], data, 2, 2);
    shmem_long_fcollect(SHMEM_TEAM_WORLD, &got[4], source, 1);
    if (me == 0) shmem_long_put(there, source, 2, 1);
    shmem_quiet();
    shmem_long_sum_exscan(SHMEM_TEAM_WORLD, got, source, 2);
    if (me == 2) shmem_long_get(&got[2], there, 2, 1);
    shmem_long_alltoall(SHMEM_TEAM_WORLD, &got[4], source, 1);
    shmem_long_collect(SHMEM_TEAM_WORLD, got, source, me == 0 ? 0 : 1);
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, got, source, 1);
  }
  shmem_barrier_all();
}
/// Active sets, of which two share pSync arrays by turns.
static void active_sets(void) {
  static long sync[2][SHMEM_BCAST_SYNC_SIZE], barriers[SHMEM_BARRIER_SYNC_SIZE];
  for (int round = 0; round < 4; ++round) {
    if (me == 0) shmem_long_put(data, source, 4, 1);
    if (me == 0) shmem_quiet();
    shmem_broadcast64(&got[4], source, 2, 0, 0, 0, 3, sync[round % 2]);
    if (me == 2) shmem_long_get(got, data, 4, 1);
    shmem_barrier(0, 0, 3, barriers);
    if (me != 1) shmem_long_put(&data[4], source, 4, me == 0 ? 2 : 0);
    if (me != 1) shmem_barrier(0, 1, 2, barriers);
    if (me != 1) shmem_long_get(got, &data[4], 4, me);
    shmem_barrier_all();
  }
}
static void not_blocking(void) {
  if (me == 0) {
    shmem_long_put_nbi(data, source, 8, 1);
    shmem_long_put_nbi(data, source, 8, 2);
    shmem_long_get_nbi(got, data, 8, 0);
    shmem_quiet();
    shmem_long_get(source, got, 8, 2);
    shmem_long_put(data, got, 8, 1);
  }
  shmem_barrier_all();
  shmem_long_atomic_fetch_add_nbi(&got[me], &flag, 1, 0);
  shmem_long_get_nbi(&got[4], data, 2, (me + 1) % 3);
  shmem_barrier_all();
  shmem_long_put(&data[me], &got[me], 1, 1);
  shmem_barrier_all();
}
/// Whoever knows that a put with signal has arrived knows that its source has been read.
static void answered(void) {
  static uint64_t there, back;
  for (uint64_t round = 1; round < 4; ++round) {
    if (me == 0) {
      shmem_long_put_signal_nbi(data, source, 8, &there, round, SHMEM_SIGNAL_SET, 1);
      shmem_signal_wait_until(&back, SHMEM_CMP_EQ, round);
      shmem_long_get(source, got, 8, 2);
    }
    if (me == 1) {
      shmem_signal_wait_until(&there, SHMEM_CMP_EQ, round);
      shmem_long_get(got, data, 8, 1);
      shmem_signal_set(&back, round, 0);
    }
  }
  shmem_barrier_all();
}
/// A flag that is asked for without blocking.
static void polled_nbi(void) {
  if (me == 0) {
    shmem_long_put(data, source, 8, 1);
    shmem_fence();
    shmem_long_atomic_set(&flag, 1, 1);
  }
  if (me == 2) {
    long seen = 0;
    while (seen != 1) {
      shmem_long_atomic_fetch_nbi(&seen, &flag, 1);
      shmem_quiet();
    }
    shmem_long_get(got, data, 8, 1);
  }
  shmem_barrier_all();
}
/// Two halves by turns, with a count of what is there and of what is free again.
static void double_buffer(void) {
  static uint64_t filled[2], taken[2];
  for (uint64_t round = 0; round < 8; ++round) {
    const uint64_t turn = round / 2 + 1;
    long *const half = &data[4 * (round % 2)], *const from = &source[4 * (round % 2)];
    if (me == 0) {
      shmem_signal_wait_until(&taken[round % 2], SHMEM_CMP_GE, turn - 1);
      shmem_long_get(from, got, 4, 0);
      shmem_long_put_signal_nbi(half, from, 4, &filled[round % 2], 1, SHMEM_SIGNAL_ADD, 1);
    }
    if (me == 1) {
      shmem_signal_wait_until(&filled[round % 2], SHMEM_CMP_GE, turn);
      shmem_long_put(half, half, 4, 2);
      shmem_signal_add(&taken[round % 2], 1, 0);
    }
  }
  shmem_barrier_all();
}
/// The words of an array, as they come.
static void some_of_many(void) {
  static int flags[3];
  size_t found[3];
  for (int pe = 0; pe < 3; ++pe) shmem_long_put(&data[2 * me], source, 2, pe);
  shmem_fence();
  for (int pe = 0; pe < 3; ++pe) shmem_int_p(&flags[me], 1, pe);
  int done[3] = {0, 0, 0};
  for (size_t left = 3; left > 0;) {
    const size_t n = shmem_int_wait_until_some(flags, 3, found, done, SHMEM_CMP_EQ, 1);
    for (size_t i = 0; i < n; ++i) done[found[i]] = 1;
    left -= n;
  }
  shmem_long_get(got, data, 6, me);
  shmem_barrier_all();
}
/// A ring of fcollects, each of which lets its dest be written again only behind the next meeting.
static void pipeline(void) {
  for (int round = 0; round < 4; ++round) {
    shmem_long_fcollect(SHMEM_TEAM_WORLD, round % 2 == 0 ? data : got, source, 2);
    shmem_long_put_nbi(&source[4 + 2 * (round % 2)], round % 2 == 0 ? data : got, 2, (me + 1) % 3);
    shmem_barrier_all();
    shmem_long_get(source, &source[4 + 2 * (round % 2)], 2, me);
  }
  shmem_barrier_all();
}
static void tried(void) {
  while (shmem_test_lock(&lock) != 0) continue;
  shmem_long_p(&data[0], shmem_long_g(&data[0], 1) + 1, 1);
  shmem_clear_lock(&lock);
  shmem_barrier_all();
}
static void allocated(void) {
  if (me == 0) shmem_long_put(data, source, 8, 1);
  shmem_malloc(64);
  if (me == 2) shmem_long_get(got, data, 8, 1);
  shmem_barrier_all();
}
/// Large enough for leaders to put into each other's dest, where they are on several nodes.
static void collectives(void) {
  enum { kMany = 1 << 16 };
  static long many[2][kMany];
  for (int i = 0; i < 2; ++i) {
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, many[0], many[1], kMany);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, many[0], many[1], kMany, 0);
  }
  shmem_barrier_all();
}
static void semaphore(void) {
  static shmemx_sem_t full, taken;
  if (me == 0) {
    shmem_long_put(data, source, 8, 1);
    shmemx_sem_post(&full, 1);
    while (shmemx_sem_trywait(&taken, 0) != 0) continue;
    shmem_long_put(data, source, 8, 1);
  }
  if (me == 1) {
    shmemx_sem_wait(&full, 1);
    shmem_long_get(got, data, 8, 1);
    shmemx_sem_post(&taken, 0);
  }
  shmem_barrier_all();
}
/// PE 0 has more to note than it can: what it did after that is not known to order anything.
static void endless(void) {
  if (me == 0) {
    shmem_long_put(data, source, 8, 1);
    for (int i = 0; i < 450000; ++i) shmem_long_p(&data[4], i, i % 2 == 0 ? 0 : 2);
  }
  shmem_barrier_all();
  if (me == 1) shmem_long_put(data, source, 8, 1);
  shmem_barrier_all();
}
/// The pair's heap has a number in the table of its members that the whole job's has in PE 2's.
static void heaps(void) {
  shmem_team_t pair;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &pair);
  shmemx_heap_t heaps[2];
  shmemx_heap_attr_t attributes = {.size = 4096, .team = pair};
  if (me < 2) shmemx_heap_create(&attributes, &heaps[0]);
  attributes.team = SHMEM_TEAM_WORLD;
  shmemx_heap_create(&attributes, &heaps[1]);
  long *of_pair = me < 2 ? shmemx_heap_malloc(heaps[0], 64) : NULL, *of_all = shmemx_heap_malloc(heaps[1], 64);
  if (me == 1) shmem_long_p(of_pair, 1, 0);
  if (me == 2) shmem_long_p(of_all, 1, 0);
  shmem_barrier_all();
}

static void synced_the_other_way(void) {
  aclshmemx_team_t all;
  if (aclshmemx_team_get_default(&all) != 0) exit(96);
  if (me == 0) shmem_long_put(data, source, 8, 1);
  aclshmemx_team_sync(all);
  if (me == 2) shmem_long_get(got, data, 8, 1);
  shmem_barrier_all();
}

/// Two teams of the same members, each with a thread of its own: which of them has met first is not the same on both.
static void *use_team(void *team) {
  enum { kRounds = 200 };
  long *const mine = &data[team == NULL ? 0 : 4], *const from = &source[team == NULL ? 0 : 4];
  const shmem_team_t pair = team == NULL ? SHMEM_TEAM_WORLD : *(shmem_team_t *)team;
  for (int round = 0; round < kRounds; ++round) {
    if (me == 0) shmem_long_put(mine, from, 4, 1);
    if (me == 0) shmem_quiet();
    shmem_team_sync(pair);
    if (me == 1) shmem_long_get(&got[mine - data], mine, 4, 1);
    shmem_team_sync(pair);
  }
  return NULL;
}
static void teams_of_the_same(void) {
  shmem_team_t again;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &again);
  pthread_t other;
  if (pthread_create(&other, NULL, use_team, &again) != 0) exit(96);
  use_team(NULL);
  pthread_join(other, NULL);
  shmem_barrier_all();
}

/* ---- others ---- */
/// Many puts of much: minutes, if each word of them were looked at.
static void large(void) {
  enum { kBytes = 2 << 20 };
  char *block = shmem_malloc(kBytes);
  for (int i = 0; i < 2000; ++i)
    if (me == 0) shmem_putmem(block, block, kBytes, 1);
  shmem_barrier_all();
}
static void far_strides(void) { // 1 and 4 GiB behind the start
  long *block = shmem_malloc((4UL << 30) + sizeof *block);
  const ptrdiff_t gap = (3L << 30) / (ptrdiff_t)sizeof *block;
  if (block == NULL) exit(96);
  if (me == 0) shmem_long_iput(block + (1L << 30) / (ptrdiff_t)sizeof *block, source, gap, 1, 2, 2);
  if (me == 1) shmem_long_p(block, 5, 2);
  shmem_barrier_all();
}
static void strided(void) {
  enum { kMany = (1 << 18) + 1 };
  long *block = shmem_malloc(2 * kMany * sizeof *block);
  if (me == 0) shmem_long_iput(block, block, 2, 2, kMany, 1);
  shmem_barrier_all();
}
static void early(void) {
  put_put();
  if (me == 1) exit(3);
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {{"source_nbi", source_nbi}, {"dest_nbi", dest_nbi}, {"read_nbi", read_nbi}, {"result_nbi", result_nbi}, {"not_blocking", not_blocking}, {"answered", answered}, {"polled_nbi", polled_nbi}, {"double_buffer", double_buffer}, {"some_of_many", some_of_many}, {"pipeline", pipeline}, {"tried", tried}, {"broadcast_leaf", broadcast_leaf}, {"scan_from_behind", scan_from_behind}, {"reduce_only", reduce_only}, {"dest_of_another", dest_of_another}, {"source_of_another", source_of_another}, {"no_elements", no_elements}, {"flows", flows}, {"active_sets", active_sets}, {"barrier_of_another", barrier_of_another}, {"fence_of_another", fence_of_another}, {"flag_of_another", flag_of_another}, {"quiet_of_another", quiet_of_another}, {"contexts", contexts}, {"team_destroyed", team_destroyed}, {"put_put", put_put}, {"all_put", all_put}, {"put_get", put_get}, {"no_fence", no_fence}, {"far_behind", far_behind}, {"sync_only", sync_only}, {"other_team", other_team},
             {"barrier", barrier}, {"fence", fence}, {"signalled", signalled}, {"polled", polled}, {"locked", locked}, {"counted", counted}, {"apart", apart},
             {"met_by_two", met_by_two}, {"context_destroyed", context_destroyed}, {"allocated", allocated}, {"collectives", collectives}, {"semaphore", semaphore}, {"endless", endless}, {"heaps", heaps},
             {"synced_the_other_way", synced_the_other_way}, {"teams_of_the_same", teams_of_the_same}, {"large", large}, {"far_strides", far_strides}, {"strided", strided}, {"early", early}};

static void last_words(void) { puts("exit handler ran"); }

/// race_programs CASE [STATUS]
int main(int argc, char **argv) {
  atexit(last_words);
  int provided;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  me = shmem_my_pe();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
      cases[i].run();
      shmem_finalize();
      return argc > 2 ? atoi(argv[2]) : 0;
    }
  return 99;
}

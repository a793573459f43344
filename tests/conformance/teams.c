// SPDX-License-Identifier: Apache-2.0
// Chapter "Team management": splits against a model, translation, configurations, contexts of teams, exhaustion.
#include "support.h"

enum { kMaxPes = 64 };

// A team as the specification defines it: an ordered list of world PEs. `handle` is SHMEM_TEAM_INVALID where `me` is no
// member.
typedef struct {
  shmem_team_t handle;
  int size;
  int world[kMaxPes];
} model_t;

static int rank_in(const model_t *team, int world_pe) {
  for (int i = 0; i < team->size; ++i)
    if (team->world[i] == world_pe) return i;
  return -1;
}

static model_t world_model(void) {
  model_t team = {.handle = SHMEM_TEAM_WORLD, .size = npes};
  for (int i = 0; i < npes; ++i) team.world[i] = i;
  return team;
}

/// What a split of `parent` must give; 0 if the triplet is illegal.
static int model_split(const model_t *parent, int start, int stride, int size, model_t *child) {
  child->size = 0;
  child->handle = SHMEM_TEAM_INVALID;
  if (size < 1 || (stride == 0 && size > 1)) return 0;
  const long long last = start + (long long)stride * (size - 1);
  if (start < 0 || start >= parent->size || last < 0 || last >= parent->size) return 0;
  child->size = size;
  for (int i = 0; i < size; ++i) child->world[i] = parent->world[start + i * stride];
  return 1;
}

/// A handle that is neither valid nor SHMEM_TEAM_INVALID, to see that a split writes its result everywhere.
static shmem_team_t poison(void) { return (shmem_team_t)(uintptr_t)0x5a5a5a5a; }

static void check_matches(const model_t *team) {
  const int rank = rank_in(team, me);
  if (rank < 0) {
    CHECK(team->handle == SHMEM_TEAM_INVALID);
    CHECK_EQ(shmem_team_my_pe(team->handle), -1);
    CHECK_EQ(shmem_team_n_pes(team->handle), -1);
    return;
  }
  CHECK(team->handle != SHMEM_TEAM_INVALID && team->handle != poison());
  CHECK_EQ(shmem_team_my_pe(team->handle), rank);
  CHECK_EQ(shmem_team_n_pes(team->handle), team->size);
  for (int i = 0; i < team->size; ++i)
    CHECK_EQ(shmem_team_translate_pe(team->handle, i, SHMEM_TEAM_WORLD), team->world[i]);
  for (int pe = 0; pe < npes; ++pe)
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team->handle), rank_in(team, pe));
  CHECK_EQ(shmem_team_translate_pe(team->handle, -1, SHMEM_TEAM_WORLD), -1);
  CHECK_EQ(shmem_team_translate_pe(team->handle, team->size, SHMEM_TEAM_WORLD), -1);
}

/// Collective over the parent: splits, compares with the model, and returns whether there is a team.
static int split(const model_t *parent, int start, int stride, int size, model_t *child) {
  const int legal = model_split(parent, start, stride, size, child);
  shmem_team_t handle = poison();
  const int status = shmem_team_split_strided(parent->handle, start, stride, size, NULL, 0, &handle);
  if ((status == 0) != legal) {
    fprintf(stderr, "PE %d: split of %d PEs by (start %d, stride %d, size %d) gives %d\n", me, parent->size, start,
            stride, size, status);
    CHECK((status == 0) == legal);
  }
  child->handle = handle;
  if (legal)
    check_matches(child);
  else
    CHECK(handle == SHMEM_TEAM_INVALID);
  return legal;
}

static void predefined_teams(void) {
  section("predefined teams");
  const model_t world = world_model();
  check_matches(&world);
  CHECK_EQ(shmem_team_my_pe(SHMEM_TEAM_INVALID), -1);
  CHECK_EQ(shmem_team_n_pes(SHMEM_TEAM_INVALID), -1);
  CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD), -1);
  CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID), -1);
  CHECK(SHMEM_TEAM_WORLD != SHMEM_TEAM_SHARED && SHMEM_TEAM_WORLD != SHMEM_TEAM_INVALID);

  // The shared team holds the PEs whose memory is mapped: on one node all of them.
  static int word = 0;
  const int size = shmem_team_n_pes(SHMEM_TEAM_SHARED);
  int mapped = 0;
  for (int pe = 0; pe < npes; ++pe) mapped += shmem_ptr(&word, pe) != NULL;
  CHECK_EQ(size, mapped);
  if (getenv("SHOAL_FAKE_NODES") == NULL && getenv("SHOAL_CHAOS") == NULL) CHECK_EQ(size, npes); // which lets nobody map another's
  CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_SHARED, shmem_team_my_pe(SHMEM_TEAM_SHARED), SHMEM_TEAM_WORLD), me);
  for (int i = 0; i < size; ++i) {
    const int pe = shmem_team_translate_pe(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD);
    CHECK(pe >= 0 && pe < npes);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED), i);
    CHECK(shmem_team_ptr(SHMEM_TEAM_SHARED, &word, i) != NULL);
    CHECK(shmem_team_ptr(SHMEM_TEAM_SHARED, &word, i) == shmem_ptr(&word, pe));
  }
  CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, &word, 0) == NULL);
  CHECK_EQ(shmem_team_sync(SHMEM_TEAM_SHARED), 0);
  CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) != 0);
}

static void every_strided_split(void) {
  section("every strided split");
  const model_t world = world_model();
  model_t child;
  if (npes <= 5) {
    for (int start = -1; start <= npes; ++start)
      for (int stride = -npes; stride <= npes; ++stride)
        for (int size = -1; size <= npes + 1; ++size)
          if (split(&world, start, stride, size, &child)) shmem_team_destroy(child.handle);
    return;
  }
  for (int i = 0; i < 300; ++i) {
    const int start = test_random_in(-1, npes), stride = test_random_in(-npes, npes);
    // Half of the sizes are near the largest that is legal, where off-by-one errors live.
    const int room = stride > 0 ? (npes - 1 - start) / stride + 1 : stride < 0 ? start / -stride + 1 : 1;
    const int size = i % 2 ? test_random_in(-1, npes + 1) : room + test_random_in(-1, 1);
    if (split(&world, start, stride, size, &child)) shmem_team_destroy(child.handle);
  }
  CHECK(!split(&world, 0, 1 << 30, 4, &child));  // start + stride * (size - 1) overflows an int
  CHECK(!split(&world, 0, INT32_MAX, 3, &child));
  CHECK(!split(&world, 1, INT32_MIN, 3, &child));
  CHECK(!split(&world, 0, 1, INT32_MAX, &child));
}

static void invalid_parent(void) {
  section("invalid parent");
  shmem_team_t handle = poison(), other = poison();
  CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &handle) != 0);
  CHECK(handle == SHMEM_TEAM_INVALID);
  handle = poison();
  CHECK(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &handle, NULL, 0, &other) != 0);
  CHECK(handle == SHMEM_TEAM_INVALID && other == SHMEM_TEAM_INVALID);
  shmem_team_destroy(SHMEM_TEAM_INVALID);  // a no-op
}

/// Splits of splits, each relative to its parent; the PEs outside a child leave the chain, as the model says.
static void nested_splits(void) {
  section("nested splits");
  for (int round = 0; round < 20; ++round) {
    model_t chain[6];
    chain[0] = world_model();
    int depth = 0;
    test_random_state =
        test_mix((uint64_t)round + UINT64_C(77));  // PEs that left a chain early have drawn fewer numbers
    while (depth < 5) {
      const model_t *parent = &chain[depth];
      int stride = test_random_in(1, 3) * (test_random_in(0, 1) ? 1 : -1);
      const int start = stride > 0 ? test_random_in(0, (parent->size - 1) / 2)
                                   : test_random_in((parent->size - 1) / 2, parent->size - 1);
      const int room = stride > 0 ? (parent->size - 1 - start) / stride + 1 : start / -stride + 1;
      const int size = test_random_in((room + 1) / 2, room);
      CHECK(split(parent, start, stride, size, &chain[depth + 1]));
      ++depth;
      if (chain[depth].handle == SHMEM_TEAM_INVALID) break;
      for (int i = 0; i <= depth; ++i)  // every team of the chain against every other
        for (int j = 0; j <= depth; ++j)
          for (int pe = 0; pe < chain[i].size; ++pe)
            CHECK_EQ(shmem_team_translate_pe(chain[i].handle, pe, chain[j].handle),
                     rank_in(&chain[j], chain[i].world[pe]));
      CHECK_EQ(shmem_team_sync(chain[depth].handle), 0);
    }
    // Parents may go before their children.
    for (int i = 1; i <= depth; ++i)
      if (chain[i].handle != SHMEM_TEAM_INVALID) shmem_team_destroy(chain[i].handle);
  }
  shmem_barrier_all();
}

static void two_dimensional_splits(void) {
  section("2-D splits");
  for (int xrange = -1; xrange <= npes + 1; ++xrange) {
    shmem_team_t x = poison(), y = poison();
    const int status = shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &x, NULL, 0, &y);
    if (xrange < 1) {
      CHECK(status != 0);
      CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID);
      continue;
    }
    CHECK_EQ(status, 0);
    const int width = xrange < npes ? xrange : npes;
    model_t row = {.handle = x}, column = {.handle = y};
    for (int pe = me / width * width; pe < npes && pe < (me / width + 1) * width; ++pe) row.world[row.size++] = pe;
    for (int pe = me % width; pe < npes; pe += width) column.world[column.size++] = pe;
    check_matches(&row);  // the last row may be short, and then the last columns are
    check_matches(&column);
    CHECK_EQ(shmem_team_sync(x), 0);
    CHECK_EQ(shmem_team_sync(y), 0);
    shmem_team_destroy(x);
    shmem_team_destroy(y);
  }
  if (npes >= 4) {  // of a reversed team: ranks of the parent count, not world PEs
    const model_t world = world_model();
    model_t reversed;
    CHECK(split(&world, npes - 1, -1, npes, &reversed));
    shmem_team_t x = poison(), y = poison();
    CHECK_EQ(shmem_team_split_2d(reversed.handle, 3, NULL, 0, &x, NULL, 0, &y), 0);
    const int rank = npes - 1 - me;
    CHECK_EQ(shmem_team_my_pe(x), rank % 3);
    CHECK_EQ(shmem_team_my_pe(y), rank / 3);
    for (int i = 0; i < shmem_team_n_pes(x); ++i)
      CHECK_EQ(shmem_team_translate_pe(x, i, reversed.handle), rank / 3 * 3 + i);
    for (int i = 0; i < shmem_team_n_pes(y); ++i)
      CHECK_EQ(shmem_team_translate_pe(y, i, reversed.handle), rank % 3 + 3 * i);
    shmem_team_destroy(reversed.handle);
    shmem_team_destroy(x);
    shmem_team_destroy(y);
  }
}

static void configurations(void) {
  section("configurations");
  for (int contexts = 0; contexts <= 3; ++contexts) {
    shmem_team_config_t config;
    memset(&config, 0, sizeof config);
    config.num_contexts = contexts;
    shmem_team_t team = poison();
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, &config, SHMEM_TEAM_NUM_CONTEXTS, &team), 0);
    shmem_team_config_t got;
    memset(&got, 0x11, sizeof got);
    CHECK_EQ(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
    CHECK_EQ(got.num_contexts, contexts);
    CHECK_EQ(shmem_team_get_config(team, 0, NULL), 0);
    // What the configuration promises must be there.
    shmem_ctx_t contexts_of_team[3];
    for (int i = 0; i < contexts; ++i) CHECK_EQ(shmem_team_create_ctx(team, 0, &contexts_of_team[i]), 0);
    for (int i = 0; i < contexts; ++i) shmem_ctx_destroy(contexts_of_team[i]);
    shmem_team_destroy(team);
  }
  shmem_team_config_t config;
  memset(&config, 0, sizeof config);
  CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0);
  CHECK_EQ(shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
}

/// A context of a team takes ranks of that team, in puts, gets and atomics alike.
static void contexts_of_teams(void) {
  section("contexts of teams");
  enum { kSlots = kMaxPes };
  long *slots = (long *)shmem_malloc(sizeof(long) * kSlots);
  long *count = (long *)shmem_malloc(sizeof(long));
  CHECK(slots != NULL && count != NULL);
  const model_t world = world_model();
  const int triplets[][3] = {
      {npes - 1, -1, npes}, {0, 2, (npes + 1) / 2}, {npes / 2, 1, npes - npes / 2}, {npes - 1, 0, 1}};
  for (size_t t = 0; t < sizeof triplets / sizeof *triplets; ++t) {
    for (int i = 0; i < kSlots; ++i) slots[i] = -1;
    *count = 0;
    shmem_barrier_all();
    model_t team;
    CHECK(split(&world, triplets[t][0], triplets[t][1], triplets[t][2], &team));
    const int rank = rank_in(&team, me);
    if (rank >= 0) {
      shmem_ctx_t ctx = SHMEM_CTX_INVALID;
      CHECK_EQ(shmem_team_create_ctx(team.handle, 0, &ctx), 0);
      CHECK(ctx != SHMEM_CTX_INVALID && ctx != SHMEM_CTX_DEFAULT);
      shmem_team_t owner = SHMEM_TEAM_INVALID;
      CHECK_EQ(shmem_ctx_get_team(ctx, &owner), 0);
      CHECK(owner == team.handle);
      for (int i = 0; i < team.size; ++i) {
        const long value = 1000 * rank + i;
        shmem_ctx_long_put(ctx, &slots[rank], &value, 1, i);
        shmem_ctx_long_atomic_add(ctx, count, i + 1, i);
      }
      shmem_ctx_quiet(ctx);
      CHECK_EQ(shmem_team_sync(team.handle), 0);
      for (int i = 0; i < team.size; ++i) {
        CHECK_EQ(slots[i], 1000 * i + rank);
        CHECK_EQ(shmem_ctx_long_g(ctx, &slots[rank], i), 1000 * rank + i);
        CHECK_EQ(shmem_ctx_long_atomic_fetch(ctx, count, i), team.size * (i + 1));
        CHECK(shmem_team_ptr(team.handle, slots, i) == shmem_ptr(slots, team.world[i]));
      }
      CHECK_EQ(shmem_team_sync(team.handle), 0);
      static const long last = -77;
      for (int i = 0; i < team.size; ++i) shmem_ctx_long_put_nbi(ctx, &slots[rank], &last, 1, i);
      if (t % 2 == 0) shmem_ctx_destroy(ctx);
      shmem_team_destroy(team.handle);  // destroys its contexts: what they have still to do is done
    }
    shmem_barrier_all();
    if (rank >= 0)
      for (int i = 0; i < team.size; ++i) CHECK_EQ(slots[i], -77);
    if (rank < 0) CHECK_EQ(*count, 0);  // nothing reached a PE outside
  }
  shmem_team_t owner = SHMEM_TEAM_INVALID;
  CHECK_EQ(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &owner), 0);
  CHECK(owner == SHMEM_TEAM_WORLD);
  CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &owner) != 0);
  CHECK(owner == SHMEM_TEAM_INVALID);
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
  CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0);
  CHECK(ctx == SHMEM_CTX_INVALID);
  shmem_free(slots);
  shmem_free(count);
}

/// Even and odd PEs split at the same time, at different rates.
static void concurrent_splits(void) {
  section("concurrent splits");
  model_t world = world_model(), half, part;
  model_t halves[2];
  CHECK(split(&world, 0, 2, (npes + 1) / 2, &halves[0]));
  if (npes > 1) CHECK(split(&world, 1, 2, npes / 2, &halves[1]));
  half = halves[me % 2];
  for (int i = 0; i < (me % 2 ? 30 : 70); ++i) {
    CHECK(split(&half, half.size - 1, -1, half.size, &part));
    CHECK_EQ(shmem_team_sync(part.handle), 0);
    shmem_team_destroy(part.handle);
  }
  shmem_team_destroy(half.handle);
  shmem_barrier_all();
}

/// At least 1,024 teams may live at once. Where they end, every PE sees the same end, and a destroyed team's place is
/// used again.
static void many_live_teams(void) {
  section("1,024 live teams");
  enum { kAtLeast = 1024, kEnough = 3000 };
  static shmem_team_t teams[kEnough];
  int live = 0, refused = 0;
  while (live < kEnough && !refused) {
    shmem_team_t team = poison();
    if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team) == 0) {
      CHECK(team != SHMEM_TEAM_INVALID);
      teams[live++] = team;
    } else {
      CHECK(team == SHMEM_TEAM_INVALID);
      refused = 1;
    }
  }
  CHECK(live >= kAtLeast);
  long *counts = (long *)shmem_malloc(sizeof(long) * 3);
  counts[0] = live;
  shmem_barrier_all();
  CHECK_EQ(shmem_long_max_reduce(SHMEM_TEAM_WORLD, &counts[1], &counts[0], 1), 0);
  CHECK_EQ(shmem_long_min_reduce(SHMEM_TEAM_WORLD, &counts[2], &counts[0], 1), 0);
  CHECK_EQ(counts[1], live);
  CHECK_EQ(counts[2], live);
  CHECK_EQ(shmem_team_sync(teams[0]), 0);
  CHECK_EQ(shmem_team_sync(teams[live - 1]), 0);
  if (refused) {
    section("a place becomes free");
    shmem_team_destroy(teams[live / 2]);
    shmem_team_t team = poison();
    shmem_barrier_all();
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team), 0);
    CHECK_EQ(shmem_team_sync(team), 0);
    teams[live / 2] = team;
  }
  for (int i = 0; i < live; ++i) shmem_team_destroy(teams[(i + live / 3) % live]);
  shmem_free(counts);
}

/// Teams of other PEs take none of a PE's places.
static void many_teams_of_one(void) {
  section("many teams of one PE");
  enum { kTeams = 1100 };
  static shmem_team_t teams[kTeams];
  for (int i = 0; i < kTeams; ++i)
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, i % npes, 1, 1, NULL, 0, &teams[i]), 0);
  for (int i = 0; i < kTeams; ++i) shmem_team_destroy(teams[i]);
}

static void create_and_destroy(void) {
  section("thousands of teams in turn");
  const model_t world = world_model();
  long *sum = (long *)shmem_malloc(2 * sizeof(long));
  shmem_team_t kept[7];
  for (int i = 0; i < 7; ++i) kept[i] = SHMEM_TEAM_INVALID;
  for (int i = 0; i < 2000; ++i) {
    const int slot = i * 5 % 7;
    shmem_team_destroy(kept[slot]);
    model_t team;
    const int size = 1 + i % npes;
    model_split(&world, 0, 1, size, &team);
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, size, NULL, 0, &team.handle), 0);
    CHECK((team.handle != SHMEM_TEAM_INVALID) == (me < size));
    kept[slot] = team.handle;
    if (i % 100 == 0 && me < size) {
      check_matches(&team);
      sum[0] = me + 1;
      CHECK_EQ(shmem_team_sync(team.handle), 0);
      CHECK_EQ(shmem_long_sum_reduce(team.handle, &sum[1], &sum[0], 1), 0);
      CHECK_EQ(sum[1], size * (size + 1) / 2);
    }
  }
  for (int i = 0; i < 7; ++i) shmem_team_destroy(kept[i]);
  shmem_free(sum);
}

int main(void) {
  test_begin("teams");
  CHECK(npes <= kMaxPes);
  test_seed();
  predefined_teams();
  every_strided_split();
  invalid_parent();
  nested_splits();
  two_dimensional_splits();
  configurations();
  contexts_of_teams();
  concurrent_splits();
  many_live_teams();
  if (npes > 1) many_teams_of_one();
  create_and_destroy();
  return test_end();
}

// SPDX-License-Identifier: Apache-2.0
// Chapter "Communication management": contexts with every option, many of them, contexts of teams (PE numbers are the team's),
// sessions, and what the specification says of SHMEM_CTX_INVALID.
#include "support.h"

static long *row;     // npes words
static long *counter; // one word
static int left, right;

/// Every kind of operation works on `ctx`, whose PE `pe` is PE `world_pe` of the world, and each PE here uses another target.
static void exercise(shmem_ctx_t ctx, int pe, int world_pe, long salt) {
  long value = salt * 100 + me, got = -1;
  shmem_ctx_long_p(ctx, &row[me], value, pe);
  shmem_ctx_quiet(ctx);
  CHECK_EQ(shmem_long_g(&row[me], world_pe), value);
  CHECK_EQ(shmem_ctx_long_g(ctx, &row[me], pe), value);
  ++value;
  shmem_ctx_long_put(ctx, &row[me], &value, 1, pe);
  shmem_ctx_fence(ctx);
  shmem_ctx_quiet(ctx); // a get may overtake what a fence only orders
  shmem_ctx_long_get(ctx, &got, &row[me], 1, pe);
  CHECK_EQ(got, value);
  ++value;
  shmem_ctx_long_put_nbi(ctx, &row[me], &value, 1, pe);
  shmem_ctx_quiet(ctx);
  shmem_ctx_long_get_nbi(ctx, &got, &row[me], 1, pe);
  shmem_ctx_pe_quiet(ctx, &pe, 1);
  CHECK_EQ(got, value);
  CHECK_EQ(shmem_ctx_long_atomic_fetch_add(ctx, &row[me], 5, pe), value);
  CHECK_EQ(shmem_ctx_long_atomic_swap(ctx, &row[me], 7, pe), value + 5);
  CHECK_EQ(shmem_long_atomic_fetch(&row[me], world_pe), 7);
  shmem_ctx_long_atomic_inc(ctx, counter, pe);
  shmem_ctx_quiet(ctx);
}

static void test_options(void) {
  section("create with every option");
  for (long options = 0; options < 8; ++options) {
    const long all[3] = {SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE};
    long chosen = 0;
    for (int bit = 0; bit < 3; ++bit) chosen |= (options >> bit) & 1 ? all[bit] : 0;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    CHECK_EQ(shmem_ctx_create(chosen, &ctx), 0);
    CHECK(ctx != SHMEM_CTX_INVALID && ctx != SHMEM_CTX_DEFAULT);
    shmem_team_t team = SHMEM_TEAM_INVALID;
    CHECK_EQ(shmem_ctx_get_team(ctx, &team), 0);
    CHECK(team == SHMEM_TEAM_WORLD);
    for (int pe = 0; pe < npes; ++pe) exercise(ctx, pe, pe, options);
    shmem_ctx_destroy(ctx);
  }
  shmem_team_t team = SHMEM_TEAM_INVALID;
  CHECK_EQ(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team), 0);
  CHECK(team == SHMEM_TEAM_WORLD);
  exercise(SHMEM_CTX_DEFAULT, right, right, 9);
  shmem_barrier_all();
}

static void test_many(void) {
  section("many contexts at a time, and one after the other");
  enum { kMany = 64 };
  shmem_ctx_t ctx[kMany];
  for (int i = 0; i < kMany; ++i) {
    CHECK_EQ(shmem_ctx_create(i % 2 ? SHMEM_CTX_PRIVATE : 0, &ctx[i]), 0);
    for (int j = 0; j < i; ++j) CHECK(ctx[j] != ctx[i]);
  }
  for (int i = 0; i < kMany; ++i) exercise(ctx[i], (me + i) % npes, (me + i) % npes, i);
  for (int i = 0; i < kMany; i += 2) shmem_ctx_destroy(ctx[i]);
  for (int i = 1; i < kMany; i += 2) exercise(ctx[i], right, right, i);
  for (int i = 1; i < kMany; i += 2) shmem_ctx_destroy(ctx[i]);
  for (int i = 0; i < 3000; ++i) {
    CHECK_EQ(shmem_ctx_create(0, &ctx[0]), 0);
    if (i % 500 == 0) exercise(ctx[0], right, right, i);
    shmem_ctx_destroy(ctx[0]);
  }
  shmem_barrier_all();
}

/// Creation is local: a PE may have contexts that others have not.
static void test_local_creation(void) {
  section("contexts of some PEs only");
  shmem_ctx_t ctx[3];
  for (int i = 0; i < me % 4; ++i) CHECK_EQ(shmem_ctx_create(0, &ctx[i]), 0);
  for (int i = 0; i < me % 4; ++i) exercise(ctx[i], right, right, i);
  shmem_barrier_all();
  for (int i = 0; i < me % 4; ++i) shmem_ctx_destroy(ctx[i]);
}

/// Destruction completes what is pending.
static void test_destroy_completes(void) {
  section("destroy completes pending operations");
  enum { kWords = 5000 };
  long *room = shmem_calloc(kWords, sizeof *room), *source = malloc(kWords * sizeof *source);
  CHECK(room != NULL && source != NULL);
  for (int k = 1; k <= 10; ++k) {
    shmem_ctx_t ctx;
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    for (int i = 0; i < kWords; ++i) source[i] = (long)k * 10000 + i;
    shmem_ctx_long_put_nbi(ctx, room, source, kWords, right);
    shmem_ctx_long_atomic_add(ctx, counter, 1, right);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    for (int i = 0; i < kWords; ++i) CHECK(room[i] == (long)k * 10000 + i);
    shmem_barrier_all();
  }
  free(source);
  shmem_free(room);
}

/// On a team's context PE numbers count in the team.
static void test_team(shmem_team_t team, const char *name) {
  section(name);
  if (team != SHMEM_TEAM_INVALID) {
    const int size = shmem_team_n_pes(team);
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    CHECK_EQ(shmem_team_create_ctx(team, SHMEM_CTX_SERIALIZED, &ctx), 0);
    shmem_team_t back = SHMEM_TEAM_INVALID;
    CHECK_EQ(shmem_ctx_get_team(ctx, &back), 0);
    CHECK_EQ(shmem_team_n_pes(back), size);
    for (int pe = 0; pe < size; ++pe) {
      const int world = shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
      CHECK(world >= 0 && world < npes);
      exercise(ctx, pe, world, pe);
      uint64_t *signal = (uint64_t *)&row[me];
      shmem_ctx_putmem_signal(ctx, NULL, NULL, 0, signal, (uint64_t)(1000 + pe), SHMEM_SIGNAL_SET, pe);
      shmem_ctx_quiet(ctx);
      CHECK_EQ(shmem_long_g(&row[me], world), 1000 + pe);
      const long strided[3] = {1, 2, 3};
      shmem_ctx_long_iput(ctx, &row[me], strided, 1, 2, 1, pe);
      shmem_ctx_quiet(ctx);
      CHECK_EQ(shmem_long_g(&row[me], world), 1);
    }
    shmem_ctx_destroy(ctx);
  }
  shmem_barrier_all();
}

static void test_teams(void) {
  test_team(SHMEM_TEAM_WORLD, "context of the world team");
  test_team(SHMEM_TEAM_SHARED, "context of the shared team");
  shmem_team_t team = SHMEM_TEAM_INVALID;
  shmem_team_config_t config = {.num_contexts = 2};
  const int failed = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (npes + 1) / 2, &config, SHMEM_TEAM_NUM_CONTEXTS, &team);
  if (me % 2 == 0) CHECK_EQ(failed, 0);
  CHECK_EQ(team != SHMEM_TEAM_INVALID, me % 2 == 0);
  test_team(team, "context of the even PEs");
  if (team != SHMEM_TEAM_INVALID) shmem_team_destroy(team);
  team = SHMEM_TEAM_INVALID;
  if (npes > 1) {
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &team), 0);
    CHECK_EQ(shmem_team_my_pe(team), npes - 1 - me);
    test_team(team, "context of a reversed team");
    // A context that is still there goes with its team.
    shmem_ctx_t ctx;
    CHECK_EQ(shmem_team_create_ctx(team, 0, &ctx), 0);
    shmem_team_destroy(team);
  }
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
  CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0);
}

static void test_sessions(void) {
  section("sessions");
  shmem_ctx_t own;
  CHECK_EQ(shmem_ctx_create(0, &own), 0);
  const shmem_ctx_session_config_t config = {.total_ops = 64};
  const shmem_ctx_t contexts[2] = {SHMEM_CTX_DEFAULT, own};
  for (int c = 0; c < 2; ++c) {
    shmem_ctx_session_start(contexts[c], 0, NULL, 0);
    exercise(contexts[c], right, right, 20 + c);
    shmem_ctx_session_stop(contexts[c]);
    shmem_ctx_session_start(contexts[c], SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_start(contexts[c], 0, &config, 0); // again: combines with what is there
    exercise(contexts[c], right, right, 30 + c);
    // More operations than announced are allowed; what is pending at the stop is not lost.
    for (long i = 0; i < 199; ++i) shmem_ctx_long_p(contexts[c], &row[me], i, right);
    shmem_ctx_fence(contexts[c]); // the last is to be the last to arrive
    shmem_ctx_long_p(contexts[c], &row[me], 199, right);
    shmem_ctx_session_stop(contexts[c]);
    shmem_ctx_quiet(contexts[c]);
    CHECK_EQ(shmem_long_g(&row[me], right), 199);
  }
  shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
  shmem_ctx_session_stop(SHMEM_CTX_INVALID);
  shmem_ctx_destroy(own);
  shmem_barrier_all();
}

static void test_invalid(void) {
  section("the invalid context");
  shmem_team_t team = SHMEM_TEAM_WORLD;
  CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0);
  CHECK(team == SHMEM_TEAM_INVALID);
  shmem_ctx_destroy(SHMEM_CTX_INVALID);
  shmem_ctx_fence(SHMEM_CTX_INVALID);
  shmem_ctx_quiet(SHMEM_CTX_INVALID);
  CHECK(SHMEM_CTX_INVALID != SHMEM_CTX_DEFAULT);
}

/// The handles that need no call are constants, good for static initialisers.
static shmem_ctx_t static_handle = SHMEM_CTX_DEFAULT;

int main(void) {
  test_begin("contexts");
  right = (me + 1) % npes;
  left = (me + npes - 1) % npes;
  row = shmem_calloc((size_t)npes, sizeof *row);
  counter = shmem_calloc(1, sizeof *counter);
  CHECK(row != NULL && counter != NULL);
  CHECK(static_handle == SHMEM_CTX_DEFAULT);
  test_options();
  test_many();
  test_local_creation();
  test_destroy_completes();
  test_teams();
  test_sessions();
  test_invalid();
  shmem_barrier_all();
  long total = 0;
  for (int pe = 0; pe < npes; ++pe) total += shmem_long_g(counter, pe);
  CHECK(total > 0 && left >= 0);
  shmem_barrier_all();
  shmem_free(counter);
  shmem_free(row);
  return test_end();
}

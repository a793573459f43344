// SPDX-License-Identifier: Apache-2.0
// Chapter "Library setup, exit, and query": who am I, how many are we, what library is this, and starting and ending it again
// and again. SHOAL_TEST_PES, where set, says what the launcher was asked for.
#include "support.h"

static long static_word = 5;

static int initialized(void) {
  int answer = -1;
  shmem_query_initialized(&answer);
  CHECK(answer == 0 || answer == 1);
  return answer;
}

static void test_info(void) {
  section("info");
  int major = -1, minor = -1;
  shmem_info_get_version(&major, &minor);
  CHECK_EQ(major, SHMEM_MAJOR_VERSION);
  CHECK_EQ(minor, SHMEM_MINOR_VERSION);
  CHECK_EQ(major * 100 + minor, 106);
  char name[SHMEM_MAX_NAME_LEN];
  memset(name, 1, sizeof name);
  shmem_info_get_name(name);
  CHECK(memchr(name, 0, sizeof name) != NULL);
  CHECK_EQ(strcmp(name, SHMEM_VENDOR_STRING), 0);
  CHECK_EQ(_SHMEM_MAJOR_VERSION, SHMEM_MAJOR_VERSION);
  CHECK_EQ(_SHMEM_MAX_NAME_LEN, SHMEM_MAX_NAME_LEN);
}

static void test_pcontrol(void) {
  section("pcontrol");
  shmem_pcontrol(0);
  shmem_pcontrol(1);
  shmem_pcontrol(2);
  shmem_pcontrol(-7, "anything", 3.5, &static_word);
  shmem_pcontrol(1);
}

/// Each PE has a number of its own in [0, n), and all agree on n.
static void test_numbers(void) {
  section("my_pe and n_pes");
  CHECK(me >= 0 && me < npes);
  CHECK_EQ(_my_pe(), me);
  CHECK_EQ(_num_pes(), npes);
  const char *expected = getenv("SHOAL_TEST_PES");
  if (expected != NULL) CHECK_EQ(npes, atoi(expected));
  int *sizes = shmem_calloc((size_t)npes, sizeof *sizes);
  CHECK(sizes != NULL);
  for (int pe = 0; pe < npes; ++pe) {
    shmem_int_atomic_add(&sizes[me], npes, pe);
    CHECK_EQ(shmem_pe_accessible(pe), 1);
  }
  shmem_barrier_all();
  for (int pe = 0; pe < npes; ++pe) CHECK_EQ(sizes[pe], npes);
  shmem_free(sizes);
}

/// What a running library can do, in short; leaves an object behind at times: finalize takes it.
static void use_library(int k) {
  const int right = (me + 1) % npes, left = (me + npes - 1) % npes;
  long *word = shmem_malloc((size_t)(8 + 8 * (k % 100)));
  CHECK(word != NULL);
  shmem_long_p(word, k * 100L + me, right);
  shmem_long_p(&static_word, k * 200L + me, right);
  shmem_barrier_all();
  CHECK_EQ(*word, k * 100L + left);
  CHECK_EQ(static_word, k * 200L + left);
  CHECK_EQ(shmem_long_atomic_fetch_inc(word, me), k * 100L + left);
  shmem_team_t team = SHMEM_TEAM_INVALID;
  CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team), 0);
  shmem_ctx_t ctx;
  CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
  shmem_ctx_long_p(ctx, word, 1, me); // pending at finalize
  if (k % 2) shmem_free(word);
}

static void test_repeated_starts(void) {
  for (int k = 0; k < 50; ++k) {
    section("repeated init and finalize");
    CHECK_EQ(initialized(), 0);
    const int depth = 1 + k % 3; // starts nest; the last finalize of them ends the library
    int provided = -1;
    for (int i = 0; i < depth; ++i) {
      if ((k + i) % 2) CHECK_EQ(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided), 0);
      else shmem_init();
      CHECK_EQ(initialized(), 1);
    }
    CHECK_EQ(shmem_my_pe(), me);
    CHECK_EQ(shmem_n_pes(), npes);
    use_library(k);
    for (int i = 0; i < depth; ++i) {
      CHECK_EQ(initialized(), 1);
      shmem_barrier_all();
      shmem_finalize();
    }
    CHECK_EQ(initialized(), 0);
    static_word = -3 - k; // the variable is still there and the program's
    CHECK_EQ(static_word, -3 - k);
  }
}

int main(void) {
  test_set_deadline("setup");
  section("before init");
  CHECK_EQ(initialized(), 0);
  test_info();
  CHECK_EQ(static_word, 5);
  test_begin("setup");
  CHECK_EQ(initialized(), 1);
  CHECK_EQ(static_word, 5);
  test_info();
  test_pcontrol();
  test_numbers();
  test_end();
  test_repeated_starts();
  section("after finalize");
  test_info();
  // start_pes: may be called any number of times, and the library ends with the program.
  section("start_pes");
  start_pes(0);
  start_pes(npes);
  CHECK_EQ(initialized(), 1);
  CHECK_EQ(_my_pe(), me);
  CHECK_EQ(_num_pes(), npes);
  use_library(77);
  shmem_barrier_all();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Chapter "Signalling operations": put with signal for every type and size, SET and ADD, signal_set, signal_add,
// signal_fetch, signal_wait_until; the data is there whenever its signal is.
#include "support.h"

enum { kElements = 33, kForms = 4, kGuardValue = 77, kMaxElement = 16, kSlotBytes = (kElements + 2) * kMaxElement };

static unsigned char *buffer; // kForms slots
static uint64_t *signals;     // kForms words with a guard on each side
static shmem_ctx_t ctx;
static int left, right;

static uint64_t pattern(int pe, int salt, int i) {
  return test_mix(((uint64_t)pe << 40) ^ ((uint64_t)salt << 20) ^ (uint64_t)i);
}

static void expect_signal(int form, uint64_t wanted) {
  CHECK_EQ(shmem_signal_wait_until(&signals[form], SHMEM_CMP_EQ, wanted), wanted);
  CHECK_EQ(shmem_signal_fetch(&signals[form]), wanted);
}

static void clear_signals(uint64_t start) {
  for (int form = 0; form < kForms; ++form) signals[form] = start;
  shmem_barrier_all();
}

static void check_signal_guards(void) {
  CHECK_EQ(signals[-1], kGuardValue);
  CHECK_EQ(signals[kForms], kGuardValue);
}

// Forms 0 and 1 set their signal, 2 and 3 add to it. No barrier between the put and the look: the signal alone orders them.
// clang-format off
#define DEFINE_TYPE_TEST(NAME, TYPE)                                                                                       \
  static void test_##NAME(int round) {                                                                                     \
    section("put_signal of type " #NAME);                                                                                  \
    TYPE source[kForms][kElements], *slot[kForms];                                                                         \
    const size_t n = round == 0 ? kElements : (size_t)test_random_in(0, kElements);                                        \
    for (int form = 0; form < kForms; ++form) {                                                                            \
      slot[form] = (TYPE *)(void *)(buffer + form * kSlotBytes) + 1;                                                       \
      for (int i = -1; i < kElements + 1; ++i) slot[form][i] = (TYPE)kGuardValue;                                          \
      for (int i = 0; i < kElements; ++i) source[form][i] = (TYPE)pattern(me, round * 4 + form, i);                        \
    }                                                                                                                      \
    clear_signals(100);                                                                                                    \
    shmem_##NAME##_put_signal(slot[0], source[0], n, &signals[0], 7, SHMEM_SIGNAL_SET, right);                             \
    shmem_ctx_##NAME##_put_signal_nbi(ctx, slot[1], source[1], n, &signals[1], 8, SHMEM_SIGNAL_SET, right);                \
    shmem_ctx_##NAME##_put_signal(ctx, slot[2], source[2], n, &signals[2], 9, SHMEM_SIGNAL_ADD, right);                    \
    shmem_##NAME##_put_signal_nbi(slot[3], source[3], n, &signals[3], (uint64_t)-10, SHMEM_SIGNAL_ADD, right);             \
    static const uint64_t wanted[kForms] = {7, 8, 109, 90};                                                                \
    for (int form = 0; form < kForms; ++form) {                                                                            \
      expect_signal(form, wanted[form]);                                                                                   \
      for (int i = -1; i < kElements + 1; ++i)                                                                             \
        CHECK_EQ(slot[form][i], i >= 0 && (size_t)i < n ? (TYPE)pattern(left, round * 4 + form, i) : (TYPE)kGuardValue);   \
    }                                                                                                                      \
    check_signal_guards();                                                                                                 \
    shmem_ctx_quiet(ctx);                                                                                                  \
    shmem_barrier_all();                                                                                                   \
  }

#define DEFINE_SIZE_TEST(SUFFIX, BYTES)                                                                                    \
  static void test_sized_##SUFFIX(int round) {                                                                             \
    section("put_signal of size " #SUFFIX);                                                                                \
    unsigned char source[kForms][kElements * (BYTES)], expected[(kElements + 2) * (BYTES)];                                \
    const size_t n = round == 0 ? kElements : (size_t)test_random_in(0, kElements);                                        \
    memset(buffer, kGuardValue, kForms * (size_t)kSlotBytes);                                                              \
    for (int form = 0; form < kForms; ++form)                                                                              \
      for (int i = 0; i < kElements * (BYTES); ++i) source[form][i] = (unsigned char)pattern(me, form, i);                 \
    clear_signals(UINT64_MAX - 1);                                                                                         \
    unsigned char *slot = buffer + (BYTES);                                                                                \
    shmem_put##SUFFIX##_signal(slot, source[0], n, &signals[0], 5, SHMEM_SIGNAL_SET, right);                               \
    shmem_ctx_put##SUFFIX##_signal(ctx, slot + kSlotBytes, source[1], n, &signals[1], 4, SHMEM_SIGNAL_ADD, right);         \
    shmem_put##SUFFIX##_signal_nbi(slot + 2 * kSlotBytes, source[2], n, &signals[2], 6, SHMEM_SIGNAL_SET, right);          \
    shmem_ctx_put##SUFFIX##_signal_nbi(ctx, slot + 3 * kSlotBytes, source[3], n, &signals[3], 3, SHMEM_SIGNAL_ADD, right); \
    static const uint64_t wanted[kForms] = {5, 2, 6, 1};                                                                   \
    for (int form = 0; form < kForms; ++form) {                                                                            \
      expect_signal(form, wanted[form]);                                                                                   \
      memset(expected, kGuardValue, sizeof expected);                                                                      \
      for (size_t i = 0; i < n * (BYTES); ++i) expected[(BYTES) + i] = (unsigned char)pattern(left, form, (int)i);         \
      CHECK_BYTES(buffer + form * kSlotBytes, expected, sizeof expected);                                                  \
    }                                                                                                                      \
    check_signal_guards();                                                                                                 \
    shmem_ctx_quiet(ctx);                                                                                                  \
    shmem_barrier_all();                                                                                                   \
  }
// clang-format on

SHMEM_FOR_RMA_TYPES(DEFINE_TYPE_TEST)
DEFINE_SIZE_TEST(8, 1)
DEFINE_SIZE_TEST(16, 2)
DEFINE_SIZE_TEST(32, 4)
DEFINE_SIZE_TEST(64, 8)
DEFINE_SIZE_TEST(128, 16)
DEFINE_SIZE_TEST(mem, 1)

static void test_signal_only(void) {
  section("signal_set and signal_add without data");
  clear_signals(1);
  shmem_signal_set(&signals[0], 50, right);
  shmem_ctx_signal_set(ctx, &signals[1], 51, right);
  shmem_signal_add(&signals[2], 52, right);
  shmem_ctx_signal_add(ctx, &signals[3], (uint64_t)-1, right);
  static const uint64_t wanted[kForms] = {50, 51, 53, 0};
  for (int form = 0; form < kForms; ++form) expect_signal(form, wanted[form]);
  shmem_barrier_all();
  // Everybody adds to everybody: nothing is lost, and a put with no data still signals.
  clear_signals(0);
  for (int k = 0; k < 20; ++k)
    for (int pe = 0; pe < npes; ++pe) {
      shmem_signal_add(&signals[0], 1, pe);
      shmem_ctx_signal_add(ctx, &signals[1], 3, pe);
      shmem_putmem_signal(NULL, NULL, 0, &signals[2], 1, SHMEM_SIGNAL_ADD, pe);
      shmem_putmem_signal_nbi(NULL, NULL, 0, &signals[3], 1, SHMEM_SIGNAL_ADD, pe);
    }
  expect_signal(0, 20 * (uint64_t)npes);
  expect_signal(1, 60 * (uint64_t)npes);
  expect_signal(2, 20 * (uint64_t)npes);
  expect_signal(3, 20 * (uint64_t)npes);
  check_signal_guards();
  shmem_ctx_quiet(ctx);
  shmem_barrier_all();
}

/// signal_wait_until returns the value that satisfied the comparison; every comparison, at 64 unsigned bits.
static void test_comparisons(void) {
  section("signal_wait_until with every comparison");
  const uint64_t big = UINT64_C(0x8000000000000005);
  clear_signals(big);
  CHECK_EQ(shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, big), big);
  CHECK_EQ(shmem_signal_wait_until(&signals[0], SHMEM_CMP_NE, 5), big);
  CHECK_EQ(shmem_signal_wait_until(&signals[0], SHMEM_CMP_GT, 5), big); // as a signed number it would be less
  CHECK_EQ(shmem_signal_wait_until(&signals[0], SHMEM_CMP_GE, big), big);
  CHECK_EQ(shmem_signal_wait_until(&signals[0], SHMEM_CMP_LE, big), big);
  CHECK_EQ(shmem_signal_wait_until(&signals[0], SHMEM_CMP_LT, UINT64_MAX), big);
  shmem_barrier_all();
}

/// A ring of stages: each block goes round once, each stage adds one, flow control by signals back to the sender.
static void test_pipeline(void) {
  section("pipeline round the ring");
  enum { kBlock = 2000, kDepth = 3, kBlocks = 40 };
  uint32_t *ring = shmem_malloc(kDepth * kBlock * sizeof *ring);
  uint64_t *full = shmem_calloc(2, sizeof *full), *freed = full + 1;
  uint32_t *work = malloc(kBlock * sizeof *work);
  CHECK(ring != NULL && full != NULL && work != NULL);
  for (int b = 0; b < kBlocks; ++b) {
    uint32_t *slot = ring + (b % kDepth) * kBlock;
    if (me == 0) {
      for (int i = 0; i < kBlock; ++i) work[i] = (uint32_t)pattern(0, b, i);
    } else {
      const uint64_t seen = shmem_signal_wait_until(full, SHMEM_CMP_GE, (uint64_t)b + 1);
      CHECK(seen >= (uint64_t)b + 1);
      for (int i = 0; i < kBlock; ++i) work[i] = slot[i] + 1;
      shmem_signal_add(freed, 1, left);
    }
    if (me == npes - 1) {
      for (int i = 0; i < kBlock; ++i) CHECK(work[i] == (uint32_t)pattern(0, b, i) + (uint32_t)(npes - 1));
    } else {
      if (b >= kDepth) shmem_signal_wait_until(freed, SHMEM_CMP_GE, (uint64_t)(b - kDepth) + 1);
      if (b % 2) shmem_uint32_put_signal(slot, work, kBlock, full, (uint64_t)b + 1, SHMEM_SIGNAL_SET, right);
      else {
        shmem_uint32_put_signal_nbi(slot, work, kBlock, full, 1, SHMEM_SIGNAL_ADD, right);
        shmem_quiet(); // `work` is written again
      }
      shmem_fence(); // signals of different puts are ordered by fences only
    }
  }
  shmem_barrier_all();
  free(work);
  shmem_free(full);
  shmem_free(ring);
}

/// Large blocks take other copy paths (non-temporal stores, for one): the last byte must not come after the signal.
static void test_large_blocks(void) {
  section("large blocks before their signal");
  enum { kLarge = 1 << 20, kRounds = 16 };
  unsigned char *room = shmem_malloc(kLarge), *local = malloc(kLarge);
  CHECK(room != NULL && local != NULL);
  clear_signals(0);
  for (int k = 1; k <= kRounds; ++k) {
    const size_t n = (size_t)kLarge - (size_t)test_random_in(0, 200);
    memset(local, k + me, n);
    switch (k % 4) {
      case 0: shmem_putmem_signal(room, local, n, &signals[0], (uint64_t)k, SHMEM_SIGNAL_SET, right); break;
      case 1: shmem_uchar_put_signal_nbi(room, local, n, &signals[0], 1, SHMEM_SIGNAL_ADD, right); break;
      case 2: shmem_ctx_put8_signal(ctx, room, local, n, &signals[0], 1, SHMEM_SIGNAL_ADD, right); break;
      default: shmem_ctx_putmem_signal_nbi(ctx, room, local, n, &signals[0], (uint64_t)k, SHMEM_SIGNAL_SET, right);
    }
    shmem_signal_wait_until(&signals[0], SHMEM_CMP_GE, (uint64_t)k);
    CHECK_EQ(room[n - 1], (unsigned char)(k + left));
    CHECK_EQ(room[n / 2], (unsigned char)(k + left));
    CHECK_EQ(memcmp(room, room + 1, n - 1), 0);
    shmem_ctx_quiet(ctx); // `local` is written again
    shmem_barrier_all();
  }
  free(local);
  shmem_free(room);
}

int main(void) {
  test_begin("signals");
  test_seed();
  right = (me + 1) % npes;
  left = (me + npes - 1) % npes;
  buffer = shmem_align(64, kForms * (size_t)kSlotBytes);
  signals = shmem_calloc(kForms + 2, sizeof *signals);
  CHECK(buffer != NULL && signals != NULL);
  *signals++ = kGuardValue;
  signals[kForms] = kGuardValue;
  CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
  const int rounds = npes <= 4 ? 6 : 2;
  for (int round = 0; round < rounds; ++round) {
#define RUN_TYPE_TEST(NAME, TYPE) test_##NAME(round);
    SHMEM_FOR_RMA_TYPES(RUN_TYPE_TEST)
    test_sized_8(round);
    test_sized_16(round);
    test_sized_32(round);
    test_sized_64(round);
    test_sized_128(round);
    test_sized_mem(round);
  }
  test_signal_only();
  test_comparisons();
  test_pipeline();
  test_large_blocks();
  shmem_ctx_destroy(ctx);
  shmem_free(signals - 1);
  shmem_free(buffer);
  return test_end();
}

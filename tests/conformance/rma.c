// SPDX-License-Identifier: Apache-2.0
// Chapter "Remote memory access": put, get, p, g, their non-blocking and context forms, for every type and element size.
// Each form writes a slot of its own on the right-hand neighbour (and one on the PE itself); guards lie round each slot.
#include "support.h"

enum { kElements = 67, kGuard = 3, kSlot = kElements + 2 * kGuard, kSlots = 16, kGuardValue = 77, kMaxElement = 16 };

static unsigned char *buffer;
static shmem_ctx_t ctx;
static int left, right;

static uint64_t pattern(int pe, int slot, long i) {
  return test_mix(((uint64_t)pe << 48) ^ ((uint64_t)slot << 32) ^ (uint64_t)i);
}

// Lengths that all PEs agree on: the edges first, then random ones.
static size_t next_length(int round) {
  static const size_t edges[] = {kElements, 0, 1, 2, 3, 7, 8, 9, 16, 31, 64};
  if (round < (int)(sizeof edges / sizeof *edges)) return edges[round];
  return (size_t)test_random_in(0, kElements);
}

// clang-format off
#define DEFINE_TYPE_TEST(NAME, TYPE)                                                                                       \
  static void check_slot_##NAME(const TYPE *slot, int writer, int form, size_t length) {                                   \
    for (long i = -kGuard; i < kElements + kGuard; ++i) {                                                                  \
      const int written = i >= 0 && (size_t)i < length;                                                                    \
      CHECK_EQ(slot[i], written ? (TYPE)pattern(writer, form, i) : (TYPE)kGuardValue);                                     \
    }                                                                                                                      \
  }                                                                                                                        \
  static void put_all_##NAME(TYPE *base, int pe, int first_slot, size_t n) {                                               \
    TYPE source[6][kElements];                                                                                             \
    TYPE *slot[6];                                                                                                         \
    for (int form = 0; form < 6; ++form) {                                                                                 \
      slot[form] = base + (first_slot + form) * kSlot + kGuard;                                                            \
      for (long i = 0; i < kElements; ++i) source[form][i] = (TYPE)pattern(me, first_slot + form, i);                      \
    }                                                                                                                      \
    shmem_##NAME##_put(slot[0], source[0], n, pe);                                                                         \
    shmem_ctx_##NAME##_put(ctx, slot[1], source[1], n, pe);                                                                \
    memset(source[0], 0, sizeof source[0]); /* a blocking put lets go of its source when it returns */                     \
    memset(source[1], 0, sizeof source[1]);                                                                                \
    shmem_##NAME##_put_nbi(slot[2], source[2], n, pe);                                                                     \
    shmem_ctx_##NAME##_put_nbi(ctx, slot[3], source[3], n, pe);                                                            \
    for (size_t i = 0; i < n; ++i) {                                                                                       \
      shmem_##NAME##_p(slot[4] + i, source[4][i], pe);                                                                     \
      shmem_ctx_##NAME##_p(ctx, slot[5] + i, source[5][i], pe);                                                            \
    }                                                                                                                      \
    shmem_quiet();                                                                                                         \
    shmem_ctx_quiet(ctx);                                                                                                  \
  }                                                                                                                        \
  static void get_all_##NAME(const TYPE *base, int pe, size_t n) {                                                         \
    const TYPE *from = base + kGuard; /* slot 0 of `pe`, written by its left-hand neighbour */                             \
    const int writer = (pe + npes - 1) % npes;                                                                             \
    TYPE room[6][kSlot];                                                                                                   \
    for (int form = 0; form < 6; ++form)                                                                                   \
      for (int i = 0; i < kSlot; ++i) room[form][i] = (TYPE)kGuardValue;                                                   \
    shmem_##NAME##_get(room[0] + kGuard, from, n, pe);                                                                     \
    check_slot_##NAME(room[0] + kGuard, writer, 0, n);                                                                     \
    shmem_ctx_##NAME##_get(ctx, room[1] + kGuard, from, n, pe);                                                            \
    check_slot_##NAME(room[1] + kGuard, writer, 0, n);                                                                     \
    shmem_##NAME##_get_nbi(room[2] + kGuard, from, n, pe);                                                                 \
    shmem_quiet();                                                                                                         \
    check_slot_##NAME(room[2] + kGuard, writer, 0, n);                                                                     \
    shmem_ctx_##NAME##_get_nbi(ctx, room[3] + kGuard, from, n, pe);                                                        \
    shmem_ctx_quiet(ctx);                                                                                                  \
    check_slot_##NAME(room[3] + kGuard, writer, 0, n);                                                                     \
    for (size_t i = 0; i < n; ++i) {                                                                                       \
      room[4][kGuard + i] = shmem_##NAME##_g(from + i, pe);                                                                \
      room[5][kGuard + i] = shmem_ctx_##NAME##_g(ctx, from + i, pe);                                                       \
    }                                                                                                                      \
    check_slot_##NAME(room[4] + kGuard, writer, 0, n);                                                                     \
    check_slot_##NAME(room[5] + kGuard, writer, 0, n);                                                                     \
  }                                                                                                                        \
  static void test_##NAME(int round) {                                                                                     \
    section("rma of type " #NAME);                                                                                         \
    TYPE *base = (TYPE *)(void *)buffer;                                                                                   \
    const size_t n = next_length(round);                                                                                   \
    for (int i = 0; i < kSlots * kSlot; ++i) base[i] = (TYPE)kGuardValue;                                                  \
    shmem_barrier_all();                                                                                                    \
    put_all_##NAME(base, right, 0, n);                                                                                     \
    put_all_##NAME(base, me, 6, n);                                                                                        \
    shmem_##NAME##_put(NULL, NULL, 0, right);                                                                              \
    shmem_##NAME##_get(NULL, NULL, 0, right);                                                                              \
    shmem_##NAME##_put_nbi(NULL, NULL, 0, me);                                                                             \
    shmem_##NAME##_get_nbi(NULL, NULL, 0, me);                                                                             \
    shmem_barrier_all();                                                                                                   \
    for (int form = 0; form < 6; ++form) check_slot_##NAME(base + form * kSlot + kGuard, left, form, n);                   \
    for (int form = 6; form < 12; ++form) check_slot_##NAME(base + form * kSlot + kGuard, me, form, n);                    \
    get_all_##NAME(base, right, n);                                                                                        \
    get_all_##NAME(base, me, n);                                                                                           \
    shmem_barrier_all();                                                                                                   \
  }

// The sized forms move untyped elements: one body over byte arrays. SUFFIX is 8..128 or mem.
#define DEFINE_SIZE_TEST(SUFFIX, BYTES)                                                                                    \
  static void test_sized_##SUFFIX(int round) {                                                                             \
    section("rma of size " #SUFFIX);                                                                                       \
    const size_t n = next_length(round), bytes = n * (BYTES);                                                              \
    enum { kSize = kSlot * (BYTES), kBefore = kGuard * (BYTES) };                                                          \
    unsigned char wanted[4][kSize], got[4][kSize];                                                                         \
    for (int form = 0; form < 4; ++form) {                                                                                 \
      memset(wanted[form], kGuardValue, kSize);                                                                            \
      for (size_t i = 0; i < bytes; ++i)                                                                                   \
        wanted[form][kBefore + i] = (unsigned char)pattern(left, form, (long)i);                                           \
    }                                                                                                                      \
    unsigned char source[4][kElements * (BYTES)];                                                                          \
    for (int form = 0; form < 4; ++form)                                                                                   \
      for (size_t i = 0; i < sizeof source[form]; ++i) source[form][i] = (unsigned char)pattern(me, form, (long)i);        \
    memset(buffer, kGuardValue, 4 * (size_t)kSize);                                                                        \
    shmem_barrier_all();                                                                                                    \
    shmem_put##SUFFIX(buffer + kBefore, source[0], n, right);                                                              \
    shmem_ctx_put##SUFFIX(ctx, buffer + kSize + kBefore, source[1], n, right);                                             \
    memset(source[0], 0, sizeof source[0]);                                                                                \
    memset(source[1], 0, sizeof source[1]);                                                                                \
    shmem_put##SUFFIX##_nbi(buffer + 2 * kSize + kBefore, source[2], n, right);                                            \
    shmem_ctx_put##SUFFIX##_nbi(ctx, buffer + 3 * kSize + kBefore, source[3], n, right);                                   \
    shmem_ctx_quiet(ctx);                                                                                                  \
    shmem_put##SUFFIX(NULL, NULL, 0, right);                                                                               \
    shmem_get##SUFFIX(NULL, NULL, 0, right);                                                                               \
    shmem_put##SUFFIX##_nbi(NULL, NULL, 0, right);                                                                         \
    shmem_get##SUFFIX##_nbi(NULL, NULL, 0, right);                                                                         \
    shmem_barrier_all();                                                                                                   \
    for (int form = 0; form < 4; ++form) CHECK_BYTES(buffer + form * kSize, wanted[form], kSize);                          \
    /* Read the same from the right-hand neighbour: it was written by this PE. */                                          \
    for (int form = 0; form < 4; ++form) {                                                                                 \
      memset(got[form], kGuardValue, kSize);                                                                               \
      for (size_t i = 0; i < bytes; ++i) wanted[form][kBefore + i] = (unsigned char)pattern(me, form, (long)i);            \
    }                                                                                                                      \
    shmem_get##SUFFIX(got[0] + kBefore, buffer + kBefore, n, right);                                                       \
    shmem_ctx_get##SUFFIX(ctx, got[1] + kBefore, buffer + kSize + kBefore, n, right);                                      \
    CHECK_BYTES(got[0], wanted[0], kSize);                                                                                 \
    CHECK_BYTES(got[1], wanted[1], kSize);                                                                                 \
    shmem_get##SUFFIX##_nbi(got[2] + kBefore, buffer + 2 * kSize + kBefore, n, right);                                     \
    shmem_ctx_get##SUFFIX##_nbi(ctx, got[3] + kBefore, buffer + 3 * kSize + kBefore, n, right);                            \
    shmem_quiet();                                                                                                         \
    shmem_ctx_quiet(ctx);                                                                                                  \
    CHECK_BYTES(got[2], wanted[2], kSize);                                                                                 \
    CHECK_BYTES(got[3], wanted[3], kSize);                                                                                 \
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

/// Copies around and above every threshold that an implementation may switch at, from and to odd addresses.
static void test_large(void) {
  section("large copies at odd addresses");
  enum { kLarge = 3 << 20, kSteps = 9 };
  static const size_t lengths[kSteps] = {63, 64, 4095, 4097, 65535, 262145, 1048576, 2097169, kLarge - 130};
  unsigned char *room = shmem_malloc(kLarge);
  unsigned char *local = malloc(kLarge);
  CHECK(room != NULL && local != NULL);
  for (int step = 0; step < kSteps; ++step) {
    const size_t n = lengths[step], to = 1 + (size_t)test_random_in(0, 63), from = (size_t)test_random_in(0, 63);
    const uint64_t salt = test_random();
    memset(room, 0, to);
    memset(room + to + n, 0, 64);
    for (size_t i = 0; i < n; ++i) local[from + i] = (unsigned char)((salt >> (i & 31)) + i * 7 + (uint64_t)me * 13);
    shmem_barrier_all();
    shmem_putmem(room + to, local + from, n, right);
    shmem_barrier_all();
    for (size_t i = 0; i < n; ++i)
      if (room[to + i] != (unsigned char)((salt >> (i & 31)) + i * 7 + (uint64_t)left * 13))
        CHECK_EQ(room[to + i], (unsigned char)((salt >> (i & 31)) + i * 7 + (uint64_t)left * 13));
    for (size_t i = 0; i < to; ++i) CHECK_EQ(room[i], 0);
    for (size_t i = 0; i < 64; ++i) CHECK_EQ(room[to + n + i], 0);
    memset(local, 0xee, kLarge);
    shmem_getmem(local + from, room + to, n, right);
    for (size_t i = 0; i < n; ++i)
      if (local[from + i] != (unsigned char)((salt >> (i & 31)) + i * 7 + (uint64_t)me * 13))
        CHECK_EQ(local[from + i], (unsigned char)((salt >> (i & 31)) + i * 7 + (uint64_t)me * 13));
    for (size_t i = 0; i < from; ++i) CHECK_EQ(local[i], 0xee);
    CHECK_EQ(local[from + n], 0xee);
    shmem_barrier_all();
  }
  free(local);
  shmem_free(room);
}

/// Everybody writes at random into everybody. Region p of each PE is written by PE p alone, which keeps a model of it.
static void test_random_traffic(void) {
  section("random puts and gets against a model");
  enum { kRegion = 512, kRounds = 5, kPuts = 60 };
  const size_t total = (size_t)npes * kRegion;
  unsigned char *regions = shmem_calloc(total, 1), *model = calloc(total, 1), *read = malloc(kRegion);
  CHECK(regions != NULL && model != NULL && read != NULL);
  const uint64_t common = test_random_state;
  test_random_state = test_mix(common + (uint64_t)me);
  for (int round = 0; round < kRounds; ++round) {
    for (int k = 0; k < kPuts; ++k) {
      const int pe = test_random_in(0, npes - 1), at = test_random_in(0, kRegion), n = test_random_in(0, kRegion - at);
      unsigned char *mine = model + pe * kRegion + at;
      for (int i = 0; i < n; ++i) mine[i] = (unsigned char)test_random();
      shmem_putmem(regions + me * kRegion + at, mine, (size_t)n, pe);
      shmem_fence(); // the next put may be to the same bytes
      if (k % 16 == 0) { // a PE's own puts, then a quiet, then its get: the get sees them
        shmem_quiet();
        shmem_getmem(read, regions + me * kRegion, kRegion, pe);
        CHECK_BYTES(read, model + pe * kRegion, kRegion);
      }
    }
    shmem_barrier_all();
    for (int pe = 0; pe < npes; ++pe) {
      shmem_getmem_nbi(read, regions + me * kRegion, kRegion, pe);
      shmem_quiet();
      CHECK_BYTES(read, model + pe * kRegion, kRegion);
    }
    shmem_barrier_all();
  }
  test_random_state = common + 1;
  free(read);
  free(model);
  shmem_free(regions);
}

/// Source and destination may both be symmetric, and may be any memory on the calling side: stack, constants, heap.
static void test_kinds_of_local_memory(void) {
  section("local buffers of every kind");
  static const char constant[] = "constant";
  char *room = shmem_calloc(4, 16);
  CHECK(room != NULL);
  shmem_char_put(room, constant, sizeof constant, right);
  shmem_barrier_all();
  CHECK_BYTES(room, constant, sizeof constant);
  // From symmetric to symmetric memory, across PEs, then to oneself.
  shmem_char_put(room + 16, room, 16, right);
  shmem_char_put(room + 32, room, 16, me);
  shmem_char_get(room + 48, room, 16, right);
  shmem_barrier_all();
  for (int part = 1; part < 4; ++part) CHECK_BYTES(room + 16 * part, constant, sizeof constant);
  shmem_free(room);
}

int main(void) {
  test_begin("rma");
  test_seed();
  right = (me + 1) % npes;
  left = (me + npes - 1) % npes;
  buffer = shmem_align(64, (size_t)kSlots * kSlot * kMaxElement);
  CHECK(buffer != NULL);
  CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
  const int rounds = npes <= 2 ? 12 : npes <= 5 ? 4 : 2;
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
  test_large();
  test_random_traffic();
  test_kinds_of_local_memory();
  shmem_ctx_destroy(ctx);
  shmem_free(buffer);
  return test_end();
}

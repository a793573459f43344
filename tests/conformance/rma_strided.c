// SPDX-License-Identifier: Apache-2.0
// Chapter "Remote memory access": strided forms iput, iget, ibput, ibget, for every type and element size, with random
// shapes, against a model that moves one element at a time. Block strides run from the start of a block to the next's start.
#include "support.h"

enum { kRoom = 160, kMaxElement = 16, kForms = 4 };

static unsigned char *buffer;  // the target of puts: kForms rooms of kRoom elements
static unsigned char *board;   // the source of gets: one room, constant while anyone reads
static shmem_ctx_t ctx;
static int left, right;

typedef struct {
  ptrdiff_t to_stride, from_stride;
  size_t block, count, to_start, from_start;
} Shape;

/// Fits kRoom elements on both sides. `block` is 1 for the forms without blocks, whose strides count elements.
static Shape random_shape(int blocks) {
  Shape s;
  s.block = blocks ? (size_t)test_random_in(0, 6) : 1;
  const int least = s.block > 0 ? (int)s.block : 1;
  s.to_stride = test_random_in(least, least + 4);
  s.from_stride = test_random_in(least, least + 4);
  const int most = (kRoom - 8) / (int)(s.to_stride > s.from_stride ? s.to_stride : s.from_stride);
  s.count = (size_t)test_random_in(0, most);
  s.to_start = (size_t)test_random_in(0, 4);
  s.from_start = (size_t)test_random_in(0, 4);
  return s;
}

/// The model, in bytes so that it serves every element size.
static void model_copy(unsigned char *to, const unsigned char *from, Shape s, size_t element) {
  for (size_t b = 0; b < s.count; ++b)
    for (size_t i = 0; i < s.block; ++i) {
      const size_t t = s.to_start + b * (size_t)s.to_stride + i, f = s.from_start + b * (size_t)s.from_stride + i;
      memcpy(to + t * element, from + f * element, element);
    }
}

/// One family of routines, seen through one signature. The four forms: plain, ctx, blocks, ctx with blocks.
typedef void (*Move)(void *to, const void *from, Shape s, int pe);
typedef struct {
  const char *name;
  size_t element;
  Move put[kForms], get[kForms];
  void (*fill)(void *room, int pe, int salt);
  void (*compare)(const void *got, const void *wanted);
} Family;

// clang-format off
#define STRIDES s.to_stride, s.from_stride
#define DEFINE_MOVES(TAG, TYPE, IPUT, CTX_IPUT, IBPUT, CTX_IBPUT, IGET, CTX_IGET, IBGET, CTX_IBGET)                        \
  static void TAG##_iput(void *t, const void *f, Shape s, int pe) { IPUT((TYPE *)t, (const TYPE *)f, STRIDES, s.count, pe); } \
  static void TAG##_ciput(void *t, const void *f, Shape s, int pe) { CTX_IPUT(ctx, (TYPE *)t, (const TYPE *)f, STRIDES, s.count, pe); } \
  static void TAG##_ibput(void *t, const void *f, Shape s, int pe) { IBPUT((TYPE *)t, (const TYPE *)f, STRIDES, s.block, s.count, pe); } \
  static void TAG##_cibput(void *t, const void *f, Shape s, int pe) { CTX_IBPUT(ctx, (TYPE *)t, (const TYPE *)f, STRIDES, s.block, s.count, pe); } \
  static void TAG##_iget(void *t, const void *f, Shape s, int pe) { IGET((TYPE *)t, (const TYPE *)f, STRIDES, s.count, pe); } \
  static void TAG##_ciget(void *t, const void *f, Shape s, int pe) { CTX_IGET(ctx, (TYPE *)t, (const TYPE *)f, STRIDES, s.count, pe); } \
  static void TAG##_ibget(void *t, const void *f, Shape s, int pe) { IBGET((TYPE *)t, (const TYPE *)f, STRIDES, s.block, s.count, pe); } \
  static void TAG##_cibget(void *t, const void *f, Shape s, int pe) { CTX_IBGET(ctx, (TYPE *)t, (const TYPE *)f, STRIDES, s.block, s.count, pe); }

#define DEFINE_TYPE_MOVES(NAME, TYPE)                                                                                      \
  DEFINE_MOVES(NAME, TYPE, shmem_##NAME##_iput, shmem_ctx_##NAME##_iput, shmem_##NAME##_ibput, shmem_ctx_##NAME##_ibput,   \
               shmem_##NAME##_iget, shmem_ctx_##NAME##_iget, shmem_##NAME##_ibget, shmem_ctx_##NAME##_ibget)               \
  static void NAME##_fill(void *room, int pe, int salt) {                                                                  \
    for (int i = 0; i < kRoom; ++i)                                                                                        \
      ((TYPE *)room)[i] = (TYPE)test_mix((uint64_t)pe * 100003 + (uint64_t)salt * 1009 + (uint64_t)i);                     \
  }                                                                                                                        \
  static void NAME##_compare(const void *got, const void *wanted) {                                                        \
    for (int i = 0; i < kRoom; ++i) CHECK_EQ(((const TYPE *)got)[i], ((const TYPE *)wanted)[i]);                           \
  }

// Elements of SIZE bits, as bytes: compared byte by byte.
#define DEFINE_SIZE_MOVES(SIZE)                                                                                            \
  DEFINE_MOVES(size##SIZE, void, shmem_iput##SIZE, shmem_ctx_iput##SIZE, shmem_ibput##SIZE, shmem_ctx_ibput##SIZE,         \
               shmem_iget##SIZE, shmem_ctx_iget##SIZE, shmem_ibget##SIZE, shmem_ctx_ibget##SIZE)                           \
  static void size##SIZE##_fill(void *room, int pe, int salt) {                                                            \
    for (int i = 0; i < kRoom * (SIZE / 8); ++i)                                                                           \
      ((unsigned char *)room)[i] = (unsigned char)test_mix((uint64_t)pe * 100003 + (uint64_t)salt * 1009 + (uint64_t)i);   \
  }                                                                                                                        \
  static void size##SIZE##_compare(const void *got, const void *wanted) {                                                  \
    CHECK_BYTES(got, wanted, kRoom * (SIZE / 8));                                                                          \
  }

#define FAMILY(TAG, TEXT, ELEMENT)                                                                                         \
  {TEXT, ELEMENT, {TAG##_iput, TAG##_ciput, TAG##_ibput, TAG##_cibput}, {TAG##_iget, TAG##_ciget, TAG##_ibget, TAG##_cibget}, \
   TAG##_fill, TAG##_compare},
// clang-format on
#define TYPE_FAMILY(NAME, TYPE) FAMILY(NAME, "strided " #NAME, sizeof(TYPE))
#define SIZE_FAMILY(SIZE) FAMILY(size##SIZE, "strided size " #SIZE, SIZE / 8)

SHMEM_FOR_RMA_TYPES(DEFINE_TYPE_MOVES)
DEFINE_SIZE_MOVES(8)
DEFINE_SIZE_MOVES(16)
DEFINE_SIZE_MOVES(32)
DEFINE_SIZE_MOVES(64)
DEFINE_SIZE_MOVES(128)

static const Family families[] = {SHMEM_FOR_RMA_TYPES(TYPE_FAMILY) SIZE_FAMILY(8) SIZE_FAMILY(16) SIZE_FAMILY(32)
                                      SIZE_FAMILY(64) SIZE_FAMILY(128)};

static void test_puts(const Family *f, int salt) {
  // long double: the most aligned of all types; its 16 bytes are the largest element, too.
  static long double source[kRoom], wanted[kRoom];
  Shape shapes[kForms];
  for (int form = 0; form < kForms; ++form) shapes[form] = random_shape(form >= 2);
  const size_t room = kRoom * f->element;
  for (int form = 0; form < kForms; ++form) f->fill(buffer + (size_t)form * room, me, salt + 7);
  shmem_barrier_all();
  for (int form = 0; form < kForms; ++form) {
    const Shape s = shapes[form];
    f->fill(source, me, salt + form);
    f->put[form](buffer + (size_t)form * room + s.to_start * f->element,
                 (unsigned char *)source + s.from_start * f->element, s, right);
    memset(source, 0, sizeof source);
    f->put[form](NULL, NULL, (Shape){1, 1, 1, 0, 0, 0}, right);
  }
  shmem_ctx_quiet(ctx);
  shmem_barrier_all();
  for (int form = 0; form < kForms; ++form) {
    f->fill(source, left, salt + form);
    f->fill(wanted, me, salt + 7);
    model_copy((unsigned char *)wanted, (unsigned char *)source, shapes[form], f->element);
    f->compare(buffer + (size_t)form * room, wanted);
  }
}

static void test_gets(const Family *f, int salt) {
  static long double got[kRoom], wanted[kRoom], source[kRoom];
  f->fill(board, me, salt);
  shmem_barrier_all();
  const int targets[2] = {right, me};
  for (int t = 0; t < 2; ++t) {
    f->fill(source, targets[t], salt);
    for (int form = 0; form < kForms; ++form) {
      const Shape s = random_shape(form >= 2);
      f->fill(got, me, salt + 9);
      f->fill(wanted, me, salt + 9);
      model_copy((unsigned char *)wanted, (unsigned char *)source, s, f->element);
      f->get[form]((unsigned char *)got + s.to_start * f->element, board + s.from_start * f->element, s, targets[t]);
      f->get[form](NULL, NULL, (Shape){1, 1, 1, 0, 0, 0}, targets[t]);
      f->compare(got, wanted);
    }
  }
}

int main(void) {
  test_begin("rma_strided");
  test_seed();
  right = (me + 1) % npes;
  left = (me + npes - 1) % npes;
  buffer = shmem_align(64, (size_t)kForms * kRoom * kMaxElement);
  board = shmem_align(64, (size_t)kRoom * kMaxElement);
  CHECK(buffer != NULL && board != NULL);
  CHECK_EQ(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx), 0);
  const int rounds = npes <= 2 ? 30 : npes <= 5 ? 8 : 3;
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < sizeof families / sizeof *families; ++i) {
      section(families[i].name);
      test_puts(&families[i], round * 16);
      test_gets(&families[i], round * 16);
    }
  shmem_ctx_destroy(ctx);
  shmem_free(board);
  shmem_free(buffer);
  return test_end();
}

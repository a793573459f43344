// SPDX-License-Identifier: Apache-2.0
// shmemx_reduce_local: every type with every operation that it has, against plain loops; dest among the sources; refusals.
#include "support.h"
#include <shmemx.h>

enum { N = 10007, SOURCES = 5 }; // N: longer than one chunk of any type, and odd

#define CHECK_TYPE(NAME, TYPE, CODE, MODULUS)                                                         \
  static void check_##NAME(void) {                                                                    \
    section("sums, minima and maxima of " #NAME);                                                     \
    static TYPE source[SOURCES][N], dest[N];                                                          \
    for (int nsources = 1; nsources <= SOURCES; ++nsources)                                           \
      for (int into = -1; into < nsources; ++into) { /* -1: a dest of its own */                      \
        const void *list[SOURCES];                                                                    \
        for (int s = 0; s < nsources; ++s) {                                                          \
          list[s] = source[s];                                                                        \
          for (int i = 0; i < N; ++i) source[s][i] = (TYPE)((i * 7 + s * 3) % (MODULUS));             \
        }                                                                                             \
        TYPE *out = into < 0 ? dest : source[into];                                                   \
        CHECK_EQ(shmemx_reduce_local(out, list, (size_t)nsources, N, CODE, SHMEMX_SUM), 0);           \
        for (int i = 0; i < N; ++i) {                                                                 \
          TYPE sum = 0;                                                                               \
          for (int s = 0; s < nsources; ++s) sum = (TYPE)(sum + (TYPE)((i * 7 + s * 3) % (MODULUS))); \
          CHECK_EQ(out[i], sum);                                                                      \
        }                                                                                             \
        if (into >= 0) continue;                                                                      \
        CHECK_EQ(shmemx_reduce_local(out, list, (size_t)nsources, N, CODE, SHMEMX_MAX), 0);           \
        for (int i = 0; i < N; ++i) {                                                                 \
          TYPE most = source[0][i];                                                                   \
          for (int s = 1; s < nsources; ++s) most = source[s][i] > most ? source[s][i] : most;        \
          CHECK_EQ(out[i], most);                                                                     \
        }                                                                                             \
      }                                                                                               \
  }
CHECK_TYPE(int8, int8_t, SHMEMX_INT8, 23)
CHECK_TYPE(uint16, uint16_t, SHMEMX_UINT16, 1000)
CHECK_TYPE(int32, int32_t, SHMEMX_INT32, 1000)
CHECK_TYPE(uint64, uint64_t, SHMEMX_UINT64, 1000)
CHECK_TYPE(float, float, SHMEMX_FLOAT, 1000)
CHECK_TYPE(double, double, SHMEMX_DOUBLE, 1000)
CHECK_TYPE(longdouble, long double, SHMEMX_LONGDOUBLE, 1000)

static void check_rounded_once(void) {
  section("bfloat16 sums round once");
  // 256 + 1 is no bfloat16: rounded after each addition the ones would vanish.
  static shmemx_bfloat16_t source[SOURCES][N], dest[N];
  const void *list[SOURCES];
  for (int s = 0; s < SOURCES; ++s) {
    list[s] = source[s];
    for (int i = 0; i < N; ++i) source[s][i] = shmemx_bfloat16_from_float(s == 0 ? 256.0f : 1.0f);
  }
  CHECK_EQ(shmemx_reduce_local(dest, list, SOURCES, N, SHMEMX_BFLOAT16, SHMEMX_SUM), 0);
  for (int i = 0; i < N; ++i) CHECK_EQ(shmemx_bfloat16_to_float(dest[i]), 260.0f);
}

static void check_refusals(void) {
  section("refusals");
  float a[2] = {1, 2}, b[2] = {3, 4}, out[2] = {5, 6};
  const void *list[2] = {a, b};
  CHECK(shmemx_reduce_local(out, list, 2, 2, SHMEMX_FLOAT, SHMEMX_XOR) != 0);
  CHECK(shmemx_reduce_local(out, list, 2, 2, SHMEMX_COMPLEXF, SHMEMX_MAX) != 0);
  CHECK(shmemx_reduce_local(out, list, 0, 2, SHMEMX_FLOAT, SHMEMX_SUM) != 0);
  CHECK(shmemx_reduce_local(out, list, 2, 2, (shmemx_type_t)77, SHMEMX_SUM) != 0);
  CHECK(out[0] == 5 && out[1] == 6);
  CHECK_EQ(shmemx_reduce_local(out, list, 2, 0, SHMEMX_FLOAT, SHMEMX_SUM), 0);
  CHECK(out[0] == 5 && out[1] == 6);
  CHECK_EQ(shmemx_reduce_local(out, list, 2, 2, SHMEMX_FLOAT, SHMEMX_PROD), 0);
  CHECK(out[0] == 3 && out[1] == 8);
}

int main(void) {
  test_begin("reduce_local");
  check_int8();
  check_uint16();
  check_int32();
  check_uint64();
  check_float();
  check_double();
  check_longdouble();
  check_rounded_once();
  check_refusals();
  return test_end();
}

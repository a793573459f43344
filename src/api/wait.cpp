// SPDX-License-Identifier: Apache-2.0
// Point-to-point synchronization: OpenSHMEM 1.6, "Point-to-Point Synchronization Routines", and the older shmem_wait.
#include "api/define.hpp"
#include "comm/wait_set.hpp"

using namespace shoal;

namespace {

template <class T>
WaitSet<T> set_of(T* words, size_t count, const int* status, int cmp, const T* values, bool vector) noexcept {
  return {words, count, status, cmp, values, vector};
}

}  // namespace

// The scalar and the vector form of each routine over arrays differ in the last argument only.
#define SHOAL_DEFINE_SETS(NAME, T, suffix, values_type, values, vector)                                               \
  SHOAL_API(void, NAME##_wait_until_all##suffix,                                                                      \
            (T * ivars, size_t nelems, const int* status, int cmp, values_type v)) {                                  \
    wait_all(world(), set_of<T>(ivars, nelems, status, cmp, values, vector),                                          \
             "shmem_" #NAME "_wait_until_all" #suffix);                                                               \
  }                                                                                                                   \
  SHOAL_API(size_t, NAME##_wait_until_any##suffix,                                                                    \
            (T * ivars, size_t nelems, const int* status, int cmp, values_type v)) {                                  \
    return wait_any(world(), set_of<T>(ivars, nelems, status, cmp, values, vector),                                   \
                    "shmem_" #NAME "_wait_until_any" #suffix);                                                        \
  }                                                                                                                   \
  SHOAL_API(size_t, NAME##_wait_until_some##suffix,                                                                   \
            (T * ivars, size_t nelems, size_t * indices, const int* status, int cmp, values_type v)) {                \
    return wait_some(world(), set_of<T>(ivars, nelems, status, cmp, values, vector), indices,                         \
                     "shmem_" #NAME "_wait_until_some" #suffix);                                                      \
  }                                                                                                                   \
  SHOAL_API(int, NAME##_test_all##suffix, (T * ivars, size_t nelems, const int* status, int cmp, values_type v)) {    \
    return test_all(world(), set_of<T>(ivars, nelems, status, cmp, values, vector),                                   \
                    "shmem_" #NAME "_test_all" #suffix);                                                              \
  }                                                                                                                   \
  SHOAL_API(size_t, NAME##_test_any##suffix, (T * ivars, size_t nelems, const int* status, int cmp, values_type v)) { \
    return test_any(world(), set_of<T>(ivars, nelems, status, cmp, values, vector),                                   \
                    "shmem_" #NAME "_test_any" #suffix);                                                              \
  }                                                                                                                   \
  SHOAL_API(size_t, NAME##_test_some##suffix,                                                                         \
            (T * ivars, size_t nelems, size_t * indices, const int* status, int cmp, values_type v)) {                \
    return test_some(world(), set_of<T>(ivars, nelems, status, cmp, values, vector), indices,                         \
                     "shmem_" #NAME "_test_some" #suffix);                                                            \
  }

#define SHOAL_DEFINE(NAME, T)                                                                              \
  SHOAL_API(void, NAME##_wait_until, (T * ivar, int cmp, T cmp_value)) {                                   \
    wait_until(world(), ivar, cmp, cmp_value, "shmem_" #NAME "_wait_until");                               \
  }                                                                                                        \
  SHOAL_API(int, NAME##_test, (T * ivar, int cmp, T cmp_value)) {                                          \
    return test_all(world(), set_of<T>(ivar, 1, nullptr, cmp, &cmp_value, false), "shmem_" #NAME "_test"); \
  }                                                                                                        \
  SHOAL_API(void, NAME##_wait, (T * ivar, T cmp_value)) {                                                  \
    wait_until(world(), ivar, SHMEM_CMP_NE, cmp_value, "shmem_" #NAME "_wait");                            \
  }                                                                                                        \
  SHOAL_DEFINE_SETS(NAME, T, , T, &v, false)                                                               \
  SHOAL_DEFINE_SETS(NAME, T, _vector, const T*, v, true)
SHMEM_FOR_P2P_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

SHOAL_API(void, wait_until, (long* ivar, int cmp, long cmp_value)) {
  wait_until(world(), ivar, cmp, cmp_value, "shmem_wait_until");
}
SHOAL_API(void, wait, (long* ivar, long cmp_value)) {
  wait_until(world(), ivar, SHMEM_CMP_NE, cmp_value, "shmem_wait");
}

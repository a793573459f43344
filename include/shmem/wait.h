/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Point-to-point synchronization: waiting for, or testing, this PE's own symmetric objects. OpenSHMEM 1.6, section
/// "Point-To-Point Synchronization Routines".
///
/// `cmp` is one of SHMEM_CMP_EQ, NE, GT, GE, LT, LE and compares element `cmp` value in the element's own type. Any
/// way of updating is noticed: puts, atomics, signals, stores by a PE that maps the memory. When a comparison is
/// fulfilled, what the updater ordered before (shmem_fence, put-with-signal) is visible. In sets, elements whose
/// `status` entry is nonzero are left out; a NULL `status` chooses all; `nelems` may be 0. A wait sleeps when it
/// lasts. An unknown `cmp` ends the job with a message. Safe from any thread under SHMEM_THREAD_MULTIPLE. The generic
/// names also take pointers to volatile.
#include <shmem/constants.h>

#if !defined(SHMEM_WAIT_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_WAIT_H
#endif
#include <shmem/begin.h>

/// Waits until `*ivar` fulfils the comparison with `cmp_value`.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API void SHMEM_FN(N##_wait_until)(T *ivar, int cmp, T cmp_value);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Waits until every chosen element fulfils the comparison. Returns at once for an empty set.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API void SHMEM_FN(N##_wait_until_all)(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Waits until a chosen element fulfils the comparison and returns its index; SIZE_MAX for an empty set. Repeated
/// calls are fair: no ready element is passed over for ever.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API size_t SHMEM_FN(N##_wait_until_any)(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Waits until at least one chosen element fulfils the comparison, writes the indices of all that do to `indices`
/// (room for `nelems`) and returns how many; 0 for an empty set.
#define SHMEM_DECLARE_(N, T)                                                                                  \
  SHMEM_API size_t SHMEM_FN(N##_wait_until_some)(T *ivars, size_t nelems, size_t *indices, const int *status, \
      int cmp, T cmp_value);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_wait_until_all, comparing element i with cmp_values[i].
#define SHMEM_DECLARE_(N, T)                                                                              \
  SHMEM_API void SHMEM_FN(N##_wait_until_all_vector)(T *ivars, size_t nelems, const int *status, int cmp, \
      const T *cmp_values);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_wait_until_any, comparing element i with cmp_values[i].
#define SHMEM_DECLARE_(N, T)                                                                                \
  SHMEM_API size_t SHMEM_FN(N##_wait_until_any_vector)(T *ivars, size_t nelems, const int *status, int cmp, \
      const T *cmp_values);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_wait_until_some, comparing element i with cmp_values[i].
#define SHMEM_DECLARE_(N, T)                                                                      \
  SHMEM_API size_t SHMEM_FN(N##_wait_until_some_vector)(T *ivars, size_t nelems, size_t *indices, \
      const int *status, int cmp, const T *cmp_values);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// 1 if `*ivar` fulfils the comparison with `cmp_value`, else 0.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_test)(T *ivar, int cmp, T cmp_value);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// 1 if every chosen element fulfils the comparison, else 0; 1 for an empty set.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API int SHMEM_FN(N##_test_all)(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// The index of a chosen element that fulfils the comparison, or SIZE_MAX if none does. Repeated calls are fair.
#define SHMEM_DECLARE_(N, T) \
  SHMEM_API size_t SHMEM_FN(N##_test_any)(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Writes the indices of all chosen elements that fulfil the comparison to `indices` (room for `nelems`), returns how
/// many.
#define SHMEM_DECLARE_(N, T)                                                                                     \
  SHMEM_API size_t SHMEM_FN(N##_test_some)(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, \
      T cmp_value);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_test_all, comparing element i with cmp_values[i].
#define SHMEM_DECLARE_(N, T)                                                                       \
  SHMEM_API int SHMEM_FN(N##_test_all_vector)(T *ivars, size_t nelems, const int *status, int cmp, \
      const T *cmp_values);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_test_any, comparing element i with cmp_values[i].
#define SHMEM_DECLARE_(N, T)                                                                          \
  SHMEM_API size_t SHMEM_FN(N##_test_any_vector)(T *ivars, size_t nelems, const int *status, int cmp, \
      const T *cmp_values);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// As shmem_test_some, comparing element i with cmp_values[i].
#define SHMEM_DECLARE_(N, T)                                                                                   \
  SHMEM_API size_t SHMEM_FN(N##_test_some_vector)(T *ivars, size_t nelems, size_t *indices, const int *status, \
      int cmp, const T *cmp_values);
SHMEM_FOR_P2P_TYPES(SHMEM_DECLARE_)
#undef SHMEM_DECLARE_

/// Waits until this PE's signal word fulfils the comparison; returns the value that did.
SHMEM_API uint64_t SHMEM_FN(signal_wait_until)(uint64_t *sig_addr, int cmp, uint64_t cmp_value);

#include <shmem/end.h>
#endif

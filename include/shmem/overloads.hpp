/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The generic names in C++: an overload for each distinct type, with and without a context, that calls the typed
/// routine. Part of shmem.h. The wait and test names also take pointers to volatile.
#ifndef SHMEM_OVERLOADS_HPP
#define SHMEM_OVERLOADS_HPP

#include <shmem/atomics.h>
#include <shmem/collectives.h>
#include <shmem/constants.h>
#include <shmem/contexts.h>
#include <shmem/deprecated.h>
#include <shmem/reductions.h>
#include <shmem/rma.h>
#include <shmem/rma_strided.h>
#include <shmem/signals.h>
#include <shmem/teams.h>
#include <shmem/wait.h>

// Without optimization, too: then each call has an address of its own in the program, by which tools tell calls apart.
#define SHMEM_FN_ inline __attribute__((always_inline))

extern "C++" {

// Of a namespace, so that their code is known by its name where they are not inlined: whoever looks for the place of a
// call skips it.
#if __cplusplus >= 201103L
inline namespace shmem_overloads {
#endif

/* ---- Remote memory access ---- */
#define SHMEM_OVERLOAD_(N, T)                                                                                           \
  SHMEM_FN_ void shmem_put(T *dest, const T *source, size_t nelems, int pe)                                             \
      { shmem_##N##_put(dest, source, nelems, pe); }                                                                    \
  SHMEM_FN_ void shmem_put(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe)                            \
      { shmem_ctx_##N##_put(ctx, dest, source, nelems, pe); }                                                           \
  SHMEM_FN_ void shmem_get(T *dest, const T *source, size_t nelems, int pe)                                             \
      { shmem_##N##_get(dest, source, nelems, pe); }                                                                    \
  SHMEM_FN_ void shmem_get(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe)                            \
      { shmem_ctx_##N##_get(ctx, dest, source, nelems, pe); }                                                           \
  SHMEM_FN_ void shmem_p(T *dest, T value, int pe) { shmem_##N##_p(dest, value, pe); }                                  \
  SHMEM_FN_ void shmem_p(shmem_ctx_t ctx, T *dest, T value, int pe) { shmem_ctx_##N##_p(ctx, dest, value, pe); }        \
  SHMEM_FN_ T shmem_g(const T *source, int pe) { return shmem_##N##_g(source, pe); }                                    \
  SHMEM_FN_ T shmem_g(shmem_ctx_t ctx, const T *source, int pe) { return shmem_ctx_##N##_g(ctx, source, pe); }          \
  SHMEM_FN_ void shmem_put_nbi(T *dest, const T *source, size_t nelems, int pe)                                         \
      { shmem_##N##_put_nbi(dest, source, nelems, pe); }                                                                \
  SHMEM_FN_ void shmem_put_nbi(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe)                        \
      { shmem_ctx_##N##_put_nbi(ctx, dest, source, nelems, pe); }                                                       \
  SHMEM_FN_ void shmem_get_nbi(T *dest, const T *source, size_t nelems, int pe)                                         \
      { shmem_##N##_get_nbi(dest, source, nelems, pe); }                                                                \
  SHMEM_FN_ void shmem_get_nbi(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe)                        \
      { shmem_ctx_##N##_get_nbi(ctx, dest, source, nelems, pe); }                                                       \
  SHMEM_FN_ void shmem_iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)              \
      { shmem_##N##_iput(dest, source, dst, sst, nelems, pe); }                                                         \
  SHMEM_FN_ void shmem_iput(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,                    \
      size_t nelems, int pe) { shmem_ctx_##N##_iput(ctx, dest, source, dst, sst, nelems, pe); }                         \
  SHMEM_FN_ void shmem_iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)              \
      { shmem_##N##_iget(dest, source, dst, sst, nelems, pe); }                                                         \
  SHMEM_FN_ void shmem_iget(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,                    \
      size_t nelems, int pe) { shmem_ctx_##N##_iget(ctx, dest, source, dst, sst, nelems, pe); }                         \
  SHMEM_FN_ void shmem_ibput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,      \
      int pe) { shmem_##N##_ibput(dest, source, dst, sst, bsize, nblocks, pe); }                                        \
  SHMEM_FN_ void shmem_ibput(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,                   \
      size_t bsize, size_t nblocks, int pe) { shmem_ctx_##N##_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); } \
  SHMEM_FN_ void shmem_ibget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,      \
      int pe) { shmem_##N##_ibget(dest, source, dst, sst, bsize, nblocks, pe); }                                        \
  SHMEM_FN_ void shmem_ibget(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,                   \
      size_t bsize, size_t nblocks, int pe) { shmem_ctx_##N##_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
SHMEM_FOR_RMA_UNIQUE_TYPES(SHMEM_OVERLOAD_)
#undef SHMEM_OVERLOAD_

/* ---- Put with signal ---- */
#define SHMEM_OVERLOAD_(N, T)                                                                                                  \
  SHMEM_FN_ void shmem_put_signal(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,                \
      int sig_op, int pe) { shmem_##N##_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }                      \
  SHMEM_FN_ void shmem_put_signal(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, uint64_t *sig_addr,                \
      uint64_t signal, int sig_op, int pe) { shmem_ctx_##N##_put_signal(ctx, dest, source, nelems, sig_addr,                   \
      signal, sig_op, pe); }                                                                                                   \
  SHMEM_FN_ void shmem_put_signal_nbi(T *dest, const T *source, size_t nelems, uint64_t *sig_addr,                             \
      uint64_t signal, int sig_op, int pe) { shmem_##N##_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); } \
  SHMEM_FN_ void shmem_put_signal_nbi(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems,                                \
      uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_##N##_put_signal_nbi(ctx, dest, source, nelems,     \
      sig_addr, signal, sig_op, pe); }
SHMEM_FOR_RMA_UNIQUE_TYPES(SHMEM_OVERLOAD_)
#undef SHMEM_OVERLOAD_

/* ---- Atomics ---- */
#define SHMEM_OVERLOAD_(N, T)                                                                                  \
  SHMEM_FN_ T shmem_atomic_fetch(const T *source, int pe) { return shmem_##N##_atomic_fetch(source, pe); }     \
  SHMEM_FN_ T shmem_atomic_fetch(shmem_ctx_t ctx, const T *source, int pe)                                     \
      { return shmem_ctx_##N##_atomic_fetch(ctx, source, pe); }                                                \
  SHMEM_FN_ void shmem_atomic_set(T *dest, T value, int pe) { shmem_##N##_atomic_set(dest, value, pe); }       \
  SHMEM_FN_ void shmem_atomic_set(shmem_ctx_t ctx, T *dest, T value, int pe)                                   \
      { shmem_ctx_##N##_atomic_set(ctx, dest, value, pe); }                                                    \
  SHMEM_FN_ T shmem_atomic_swap(T *dest, T value, int pe) { return shmem_##N##_atomic_swap(dest, value, pe); } \
  SHMEM_FN_ T shmem_atomic_swap(shmem_ctx_t ctx, T *dest, T value, int pe)                                     \
      { return shmem_ctx_##N##_atomic_swap(ctx, dest, value, pe); }                                            \
  SHMEM_FN_ void shmem_atomic_fetch_nbi(T *fetch, const T *source, int pe)                                     \
      { shmem_##N##_atomic_fetch_nbi(fetch, source, pe); }                                                     \
  SHMEM_FN_ void shmem_atomic_fetch_nbi(shmem_ctx_t ctx, T *fetch, const T *source, int pe)                    \
      { shmem_ctx_##N##_atomic_fetch_nbi(ctx, fetch, source, pe); }                                            \
  SHMEM_FN_ void shmem_atomic_swap_nbi(T *fetch, T *dest, T value, int pe)                                     \
      { shmem_##N##_atomic_swap_nbi(fetch, dest, value, pe); }                                                 \
  SHMEM_FN_ void shmem_atomic_swap_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe)                    \
      { shmem_ctx_##N##_atomic_swap_nbi(ctx, fetch, dest, value, pe); }
SHMEM_FOR_AMO_EXTENDED_UNIQUE_TYPES(SHMEM_OVERLOAD_)
#undef SHMEM_OVERLOAD_

#define SHMEM_OVERLOAD_(N, T)                                                                                      \
  SHMEM_FN_ T shmem_atomic_compare_swap(T *dest, T cond, T value, int pe)                                          \
      { return shmem_##N##_atomic_compare_swap(dest, cond, value, pe); }                                           \
  SHMEM_FN_ T shmem_atomic_compare_swap(shmem_ctx_t ctx, T *dest, T cond, T value, int pe)                         \
      { return shmem_ctx_##N##_atomic_compare_swap(ctx, dest, cond, value, pe); }                                  \
  SHMEM_FN_ void shmem_atomic_inc(T *dest, int pe) { shmem_##N##_atomic_inc(dest, pe); }                           \
  SHMEM_FN_ void shmem_atomic_inc(shmem_ctx_t ctx, T *dest, int pe) { shmem_ctx_##N##_atomic_inc(ctx, dest, pe); } \
  SHMEM_FN_ T shmem_atomic_fetch_inc(T *dest, int pe) { return shmem_##N##_atomic_fetch_inc(dest, pe); }           \
  SHMEM_FN_ T shmem_atomic_fetch_inc(shmem_ctx_t ctx, T *dest, int pe)                                             \
      { return shmem_ctx_##N##_atomic_fetch_inc(ctx, dest, pe); }                                                  \
  SHMEM_FN_ void shmem_atomic_add(T *dest, T value, int pe) { shmem_##N##_atomic_add(dest, value, pe); }           \
  SHMEM_FN_ void shmem_atomic_add(shmem_ctx_t ctx, T *dest, T value, int pe)                                       \
      { shmem_ctx_##N##_atomic_add(ctx, dest, value, pe); }                                                        \
  SHMEM_FN_ T shmem_atomic_fetch_add(T *dest, T value, int pe) { return shmem_##N##_atomic_fetch_add(dest, value,  \
      pe); }                                                                                                       \
  SHMEM_FN_ T shmem_atomic_fetch_add(shmem_ctx_t ctx, T *dest, T value, int pe)                                    \
      { return shmem_ctx_##N##_atomic_fetch_add(ctx, dest, value, pe); }                                           \
  SHMEM_FN_ void shmem_atomic_compare_swap_nbi(T *fetch, T *dest, T cond, T value, int pe)                         \
      { shmem_##N##_atomic_compare_swap_nbi(fetch, dest, cond, value, pe); }                                       \
  SHMEM_FN_ void shmem_atomic_compare_swap_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T cond, T value, int pe)        \
      { shmem_ctx_##N##_atomic_compare_swap_nbi(ctx, fetch, dest, cond, value, pe); }                              \
  SHMEM_FN_ void shmem_atomic_fetch_inc_nbi(T *fetch, T *dest, int pe)                                             \
      { shmem_##N##_atomic_fetch_inc_nbi(fetch, dest, pe); }                                                       \
  SHMEM_FN_ void shmem_atomic_fetch_inc_nbi(shmem_ctx_t ctx, T *fetch, T *dest, int pe)                            \
      { shmem_ctx_##N##_atomic_fetch_inc_nbi(ctx, fetch, dest, pe); }                                              \
  SHMEM_FN_ void shmem_atomic_fetch_add_nbi(T *fetch, T *dest, T value, int pe)                                    \
      { shmem_##N##_atomic_fetch_add_nbi(fetch, dest, value, pe); }                                                \
  SHMEM_FN_ void shmem_atomic_fetch_add_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe)                   \
      { shmem_ctx_##N##_atomic_fetch_add_nbi(ctx, fetch, dest, value, pe); }
SHMEM_FOR_AMO_UNIQUE_TYPES(SHMEM_OVERLOAD_)
#undef SHMEM_OVERLOAD_

#define SHMEM_OVERLOAD_(N, T)                                                                                     \
  SHMEM_FN_ void shmem_atomic_and(T *dest, T value, int pe) { shmem_##N##_atomic_and(dest, value, pe); }          \
  SHMEM_FN_ void shmem_atomic_and(shmem_ctx_t ctx, T *dest, T value, int pe)                                      \
      { shmem_ctx_##N##_atomic_and(ctx, dest, value, pe); }                                                       \
  SHMEM_FN_ T shmem_atomic_fetch_and(T *dest, T value, int pe) { return shmem_##N##_atomic_fetch_and(dest, value, \
      pe); }                                                                                                      \
  SHMEM_FN_ T shmem_atomic_fetch_and(shmem_ctx_t ctx, T *dest, T value, int pe)                                   \
      { return shmem_ctx_##N##_atomic_fetch_and(ctx, dest, value, pe); }                                          \
  SHMEM_FN_ void shmem_atomic_fetch_and_nbi(T *fetch, T *dest, T value, int pe)                                   \
      { shmem_##N##_atomic_fetch_and_nbi(fetch, dest, value, pe); }                                               \
  SHMEM_FN_ void shmem_atomic_fetch_and_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe)                  \
      { shmem_ctx_##N##_atomic_fetch_and_nbi(ctx, fetch, dest, value, pe); }                                      \
  SHMEM_FN_ void shmem_atomic_or(T *dest, T value, int pe) { shmem_##N##_atomic_or(dest, value, pe); }            \
  SHMEM_FN_ void shmem_atomic_or(shmem_ctx_t ctx, T *dest, T value, int pe)                                       \
      { shmem_ctx_##N##_atomic_or(ctx, dest, value, pe); }                                                        \
  SHMEM_FN_ T shmem_atomic_fetch_or(T *dest, T value, int pe) { return shmem_##N##_atomic_fetch_or(dest, value,   \
      pe); }                                                                                                      \
  SHMEM_FN_ T shmem_atomic_fetch_or(shmem_ctx_t ctx, T *dest, T value, int pe)                                    \
      { return shmem_ctx_##N##_atomic_fetch_or(ctx, dest, value, pe); }                                           \
  SHMEM_FN_ void shmem_atomic_fetch_or_nbi(T *fetch, T *dest, T value, int pe)                                    \
      { shmem_##N##_atomic_fetch_or_nbi(fetch, dest, value, pe); }                                                \
  SHMEM_FN_ void shmem_atomic_fetch_or_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe)                   \
      { shmem_ctx_##N##_atomic_fetch_or_nbi(ctx, fetch, dest, value, pe); }                                       \
  SHMEM_FN_ void shmem_atomic_xor(T *dest, T value, int pe) { shmem_##N##_atomic_xor(dest, value, pe); }          \
  SHMEM_FN_ void shmem_atomic_xor(shmem_ctx_t ctx, T *dest, T value, int pe)                                      \
      { shmem_ctx_##N##_atomic_xor(ctx, dest, value, pe); }                                                       \
  SHMEM_FN_ T shmem_atomic_fetch_xor(T *dest, T value, int pe) { return shmem_##N##_atomic_fetch_xor(dest, value, \
      pe); }                                                                                                      \
  SHMEM_FN_ T shmem_atomic_fetch_xor(shmem_ctx_t ctx, T *dest, T value, int pe)                                   \
      { return shmem_ctx_##N##_atomic_fetch_xor(ctx, dest, value, pe); }                                          \
  SHMEM_FN_ void shmem_atomic_fetch_xor_nbi(T *fetch, T *dest, T value, int pe)                                   \
      { shmem_##N##_atomic_fetch_xor_nbi(fetch, dest, value, pe); }                                               \
  SHMEM_FN_ void shmem_atomic_fetch_xor_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe)                  \
      { shmem_ctx_##N##_atomic_fetch_xor_nbi(ctx, fetch, dest, value, pe); }
SHMEM_FOR_AMO_BITWISE_UNIQUE_TYPES(SHMEM_OVERLOAD_)
#undef SHMEM_OVERLOAD_

/* ---- Old names of atomics ---- */
#define SHMEM_OVERLOAD_(N, T)                                                                    \
  SHMEM_FN_ void shmem_add(T *dest, T value, int pe) { shmem_##N##_add(dest, value, pe); }       \
  SHMEM_FN_ void shmem_inc(T *dest, int pe) { shmem_##N##_inc(dest, pe); }                       \
  SHMEM_FN_ T shmem_fadd(T *dest, T value, int pe) { return shmem_##N##_fadd(dest, value, pe); } \
  SHMEM_FN_ T shmem_finc(T *dest, int pe) { return shmem_##N##_finc(dest, pe); }                 \
  SHMEM_FN_ T shmem_cswap(T *dest, T cond, T value, int pe) { return shmem_##N##_cswap(dest, cond, value, pe); }
SHMEM_FOR_LEGACY_AMO_UNIQUE_TYPES(SHMEM_OVERLOAD_)
#undef SHMEM_OVERLOAD_

#define SHMEM_OVERLOAD_(N, T)                                                                \
  SHMEM_FN_ T shmem_fetch(const T *source, int pe) { return shmem_##N##_fetch(source, pe); } \
  SHMEM_FN_ void shmem_set(T *dest, T value, int pe) { shmem_##N##_set(dest, value, pe); }   \
  SHMEM_FN_ T shmem_swap(T *dest, T value, int pe) { return shmem_##N##_swap(dest, value, pe); }
SHMEM_FOR_LEGACY_AMO_EXTENDED_UNIQUE_TYPES(SHMEM_OVERLOAD_)
#undef SHMEM_OVERLOAD_

/* ---- Point-to-point synchronization ---- */
#define SHMEM_OVERLOAD_(N, T)                                                                                              \
  SHMEM_FN_ void shmem_wait_until(volatile T *ivar, int cmp, T cmp_value)                                                  \
      { shmem_##N##_wait_until(const_cast<T *>(ivar), cmp, cmp_value); }                                                   \
  SHMEM_FN_ void shmem_wait_until_all(volatile T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)           \
      { shmem_##N##_wait_until_all(const_cast<T *>(ivars), nelems, status, cmp, cmp_value); }                              \
  SHMEM_FN_ void shmem_wait_until_all_vector(volatile T *ivars, size_t nelems, const int *status, int cmp,                 \
      const T *cmp_values) { shmem_##N##_wait_until_all_vector(const_cast<T *>(ivars), nelems, status, cmp,                \
      cmp_values); }                                                                                                       \
  SHMEM_FN_ size_t shmem_wait_until_any(volatile T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)         \
      { return shmem_##N##_wait_until_any(const_cast<T *>(ivars), nelems, status, cmp, cmp_value); }                       \
  SHMEM_FN_ size_t shmem_wait_until_any_vector(volatile T *ivars, size_t nelems, const int *status, int cmp,               \
      const T *cmp_values) { return shmem_##N##_wait_until_any_vector(const_cast<T *>(ivars), nelems, status, cmp,         \
      cmp_values); }                                                                                                       \
  SHMEM_FN_ size_t shmem_wait_until_some(volatile T *ivars, size_t nelems, size_t *indices, const int *status,             \
      int cmp, T cmp_value) { return shmem_##N##_wait_until_some(const_cast<T *>(ivars), nelems, indices, status,          \
      cmp, cmp_value); }                                                                                                   \
  SHMEM_FN_ size_t shmem_wait_until_some_vector(volatile T *ivars, size_t nelems, size_t *indices,                         \
      const int *status, int cmp, const T *cmp_values) { return shmem_##N##_wait_until_some_vector(const_cast<T *>(ivars), \
      nelems, indices, status, cmp, cmp_values); }                                                                         \
  SHMEM_FN_ int shmem_test(volatile T *ivar, int cmp, T cmp_value)                                                         \
      { return shmem_##N##_test(const_cast<T *>(ivar), cmp, cmp_value); }                                                  \
  SHMEM_FN_ int shmem_test_all(volatile T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)                  \
      { return shmem_##N##_test_all(const_cast<T *>(ivars), nelems, status, cmp, cmp_value); }                             \
  SHMEM_FN_ int shmem_test_all_vector(volatile T *ivars, size_t nelems, const int *status, int cmp,                        \
      const T *cmp_values) { return shmem_##N##_test_all_vector(const_cast<T *>(ivars), nelems, status, cmp,               \
      cmp_values); }                                                                                                       \
  SHMEM_FN_ size_t shmem_test_any(volatile T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)               \
      { return shmem_##N##_test_any(const_cast<T *>(ivars), nelems, status, cmp, cmp_value); }                             \
  SHMEM_FN_ size_t shmem_test_any_vector(volatile T *ivars, size_t nelems, const int *status, int cmp,                     \
      const T *cmp_values) { return shmem_##N##_test_any_vector(const_cast<T *>(ivars), nelems, status, cmp,               \
      cmp_values); }                                                                                                       \
  SHMEM_FN_ size_t shmem_test_some(volatile T *ivars, size_t nelems, size_t *indices, const int *status, int cmp,          \
      T cmp_value) { return shmem_##N##_test_some(const_cast<T *>(ivars), nelems, indices, status, cmp,                    \
      cmp_value); }                                                                                                        \
  SHMEM_FN_ size_t shmem_test_some_vector(volatile T *ivars, size_t nelems, size_t *indices, const int *status,            \
      int cmp, const T *cmp_values) { return shmem_##N##_test_some_vector(const_cast<T *>(ivars), nelems, indices,         \
      status, cmp, cmp_values); }
SHMEM_FOR_P2P_UNIQUE_TYPES(SHMEM_OVERLOAD_)
#undef SHMEM_OVERLOAD_

/* ---- Collectives ---- */
#define SHMEM_OVERLOAD_(N, T)                                                                              \
  SHMEM_FN_ int shmem_broadcast(shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root)   \
      { return shmem_##N##_broadcast(team, dest, source, nelems, PE_root); }                               \
  SHMEM_FN_ int shmem_collect(shmem_team_t team, T *dest, const T *source, size_t nelems)                  \
      { return shmem_##N##_collect(team, dest, source, nelems); }                                          \
  SHMEM_FN_ int shmem_fcollect(shmem_team_t team, T *dest, const T *source, size_t nelems)                 \
      { return shmem_##N##_fcollect(team, dest, source, nelems); }                                         \
  SHMEM_FN_ int shmem_alltoall(shmem_team_t team, T *dest, const T *source, size_t nelems)                 \
      { return shmem_##N##_alltoall(team, dest, source, nelems); }                                         \
  SHMEM_FN_ int shmem_alltoalls(shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, \
      size_t nelems) { return shmem_##N##_alltoalls(team, dest, source, dst, sst, nelems); }
SHMEM_FOR_RMA_UNIQUE_TYPES(SHMEM_OVERLOAD_)
#undef SHMEM_OVERLOAD_

#define SHMEM_OVERLOAD_(N, T)                                                                 \
  SHMEM_FN_ int shmem_and_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) \
      { return shmem_##N##_and_reduce(team, dest, source, nreduce); }                         \
  SHMEM_FN_ int shmem_or_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce)  \
      { return shmem_##N##_or_reduce(team, dest, source, nreduce); }                          \
  SHMEM_FN_ int shmem_xor_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) \
      { return shmem_##N##_xor_reduce(team, dest, source, nreduce); }
SHMEM_FOR_REDUCE_AND_OR_XOR_UNIQUE_TYPES(SHMEM_OVERLOAD_)
#undef SHMEM_OVERLOAD_

#define SHMEM_OVERLOAD_(N, T)                                                                 \
  SHMEM_FN_ int shmem_max_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) \
      { return shmem_##N##_max_reduce(team, dest, source, nreduce); }                         \
  SHMEM_FN_ int shmem_min_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) \
      { return shmem_##N##_min_reduce(team, dest, source, nreduce); }
SHMEM_FOR_REDUCE_MAX_MIN_UNIQUE_TYPES(SHMEM_OVERLOAD_)
#undef SHMEM_OVERLOAD_

#define SHMEM_OVERLOAD_(N, T)                                                                  \
  SHMEM_FN_ int shmem_sum_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce)  \
      { return shmem_##N##_sum_reduce(team, dest, source, nreduce); }                          \
  SHMEM_FN_ int shmem_prod_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) \
      { return shmem_##N##_prod_reduce(team, dest, source, nreduce); }                         \
  SHMEM_FN_ int shmem_sum_inscan(shmem_team_t team, T *dest, const T *source, size_t nelems)   \
      { return shmem_##N##_sum_inscan(team, dest, source, nelems); }                           \
  SHMEM_FN_ int shmem_sum_exscan(shmem_team_t team, T *dest, const T *source, size_t nelems)   \
      { return shmem_##N##_sum_exscan(team, dest, source, nelems); }
SHMEM_FOR_REDUCE_SUM_PROD_UNIQUE_TYPES(SHMEM_OVERLOAD_)
#undef SHMEM_OVERLOAD_

/* ---- Names that are functions as well ---- */
SHMEM_FN_ int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
SHMEM_FN_ void shmem_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) {
  shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}
SHMEM_FN_ void shmem_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) {
  shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}

#if __cplusplus >= 201103L
}  // namespace shmem_overloads
#endif

}  // extern "C++"

#undef SHMEM_FN_

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The generic names in C11 and later: macros that select the typed routine by the type of their first pointer.
/// Part of shmem.h. The wait and test names also take pointers to volatile.
///
/// How it works: a selection has one association for each type of the routine's list, written by expanding the list
/// with a macro of the operation, `SHMEM_OF_put_(N, T)`. Where a context may come first, `shmem_ctx_t` selects a
/// second, inner selection over the second argument; that needs a default, since it is typed (not evaluated) in calls
/// without a context as well, where the second argument is anything.
#ifndef SHMEM_GENERIC_H
#define SHMEM_GENERIC_H

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

/// What a call with a context and a wrong type selects; the compiler then says that it is "not a function".
extern const struct shmem_no_routine_for_this_type *const shmem_no_routine_for_this_type;

#define SHMEM_FIRST_(a, ...) a
#define SHMEM_SECOND_(a, b, ...) b

/// OP with an optional context: the first pointer is the first argument, or the second.
#define SHMEM_SELECT_(SET, OP, ...)                                             \
  _Generic(SHMEM_FIRST_(__VA_ARGS__, 0),                                        \
      shmem_ctx_t: _Generic(SHMEM_SECOND_(__VA_ARGS__, 0, 0),                   \
          default: shmem_no_routine_for_this_type                               \
          SHMEM_FOR_##SET##_UNIQUE_TYPES(SHMEM_OF_ctx_##OP##_))                 \
      SHMEM_FOR_##SET##_UNIQUE_TYPES(SHMEM_OF_##OP##_))(__VA_ARGS__)

/// The routine of OP for the pointer `ptr`. The first association only starts the list; nothing has its type.
#define SHMEM_ROUTINE_(SET, OP, ptr) \
  _Generic((ptr), const struct shmem_no_routine_for_this_type *: 0 SHMEM_FOR_##SET##_UNIQUE_TYPES(SHMEM_OF_##OP##_))

/// Associations for pointers that may be qualified.
#define SHMEM_OR_CONST_(T, routine) , T *: routine, const T *: routine
#define SHMEM_OR_VOLATILE_(T, routine) , T *: routine, volatile T *: routine

/// A pointer whose type has been looked at, without its volatile.
#define SHMEM_UNQUALIFIED_(ptr) ((void *)(uintptr_t)(ptr))

/* ---- Remote memory access ---- */

#define SHMEM_OF_put_(N, T) , T *: shmem_##N##_put
#define SHMEM_OF_ctx_put_(N, T) , T *: shmem_ctx_##N##_put
#define shmem_put(...) SHMEM_SELECT_(RMA, put, __VA_ARGS__)

#define SHMEM_OF_get_(N, T) , T *: shmem_##N##_get
#define SHMEM_OF_ctx_get_(N, T) , T *: shmem_ctx_##N##_get
#define shmem_get(...) SHMEM_SELECT_(RMA, get, __VA_ARGS__)

#define SHMEM_OF_p_(N, T) , T *: shmem_##N##_p
#define SHMEM_OF_ctx_p_(N, T) , T *: shmem_ctx_##N##_p
#define shmem_p(...) SHMEM_SELECT_(RMA, p, __VA_ARGS__)

#define SHMEM_OF_g_(N, T) SHMEM_OR_CONST_(T, shmem_##N##_g)
#define SHMEM_OF_ctx_g_(N, T) SHMEM_OR_CONST_(T, shmem_ctx_##N##_g)
#define shmem_g(...) SHMEM_SELECT_(RMA, g, __VA_ARGS__)

#define SHMEM_OF_put_nbi_(N, T) , T *: shmem_##N##_put_nbi
#define SHMEM_OF_ctx_put_nbi_(N, T) , T *: shmem_ctx_##N##_put_nbi
#define shmem_put_nbi(...) SHMEM_SELECT_(RMA, put_nbi, __VA_ARGS__)

#define SHMEM_OF_get_nbi_(N, T) , T *: shmem_##N##_get_nbi
#define SHMEM_OF_ctx_get_nbi_(N, T) , T *: shmem_ctx_##N##_get_nbi
#define shmem_get_nbi(...) SHMEM_SELECT_(RMA, get_nbi, __VA_ARGS__)

#define SHMEM_OF_iput_(N, T) , T *: shmem_##N##_iput
#define SHMEM_OF_ctx_iput_(N, T) , T *: shmem_ctx_##N##_iput
#define shmem_iput(...) SHMEM_SELECT_(RMA, iput, __VA_ARGS__)

#define SHMEM_OF_iget_(N, T) , T *: shmem_##N##_iget
#define SHMEM_OF_ctx_iget_(N, T) , T *: shmem_ctx_##N##_iget
#define shmem_iget(...) SHMEM_SELECT_(RMA, iget, __VA_ARGS__)

#define SHMEM_OF_ibput_(N, T) , T *: shmem_##N##_ibput
#define SHMEM_OF_ctx_ibput_(N, T) , T *: shmem_ctx_##N##_ibput
#define shmem_ibput(...) SHMEM_SELECT_(RMA, ibput, __VA_ARGS__)

#define SHMEM_OF_ibget_(N, T) , T *: shmem_##N##_ibget
#define SHMEM_OF_ctx_ibget_(N, T) , T *: shmem_ctx_##N##_ibget
#define shmem_ibget(...) SHMEM_SELECT_(RMA, ibget, __VA_ARGS__)

/* ---- Put with signal ---- */

#define SHMEM_OF_put_signal_(N, T) , T *: shmem_##N##_put_signal
#define SHMEM_OF_ctx_put_signal_(N, T) , T *: shmem_ctx_##N##_put_signal
#define shmem_put_signal(...) SHMEM_SELECT_(RMA, put_signal, __VA_ARGS__)

#define SHMEM_OF_put_signal_nbi_(N, T) , T *: shmem_##N##_put_signal_nbi
#define SHMEM_OF_ctx_put_signal_nbi_(N, T) , T *: shmem_ctx_##N##_put_signal_nbi
#define shmem_put_signal_nbi(...) SHMEM_SELECT_(RMA, put_signal_nbi, __VA_ARGS__)

/* ---- Atomics ---- */

#define SHMEM_OF_atomic_fetch_(N, T) SHMEM_OR_CONST_(T, shmem_##N##_atomic_fetch)
#define SHMEM_OF_ctx_atomic_fetch_(N, T) SHMEM_OR_CONST_(T, shmem_ctx_##N##_atomic_fetch)
#define shmem_atomic_fetch(...) SHMEM_SELECT_(AMO_EXTENDED, atomic_fetch, __VA_ARGS__)

#define SHMEM_OF_atomic_set_(N, T) , T *: shmem_##N##_atomic_set
#define SHMEM_OF_ctx_atomic_set_(N, T) , T *: shmem_ctx_##N##_atomic_set
#define shmem_atomic_set(...) SHMEM_SELECT_(AMO_EXTENDED, atomic_set, __VA_ARGS__)

#define SHMEM_OF_atomic_swap_(N, T) , T *: shmem_##N##_atomic_swap
#define SHMEM_OF_ctx_atomic_swap_(N, T) , T *: shmem_ctx_##N##_atomic_swap
#define shmem_atomic_swap(...) SHMEM_SELECT_(AMO_EXTENDED, atomic_swap, __VA_ARGS__)

#define SHMEM_OF_atomic_fetch_nbi_(N, T) , T *: shmem_##N##_atomic_fetch_nbi
#define SHMEM_OF_ctx_atomic_fetch_nbi_(N, T) , T *: shmem_ctx_##N##_atomic_fetch_nbi
#define shmem_atomic_fetch_nbi(...) SHMEM_SELECT_(AMO_EXTENDED, atomic_fetch_nbi, __VA_ARGS__)

#define SHMEM_OF_atomic_swap_nbi_(N, T) , T *: shmem_##N##_atomic_swap_nbi
#define SHMEM_OF_ctx_atomic_swap_nbi_(N, T) , T *: shmem_ctx_##N##_atomic_swap_nbi
#define shmem_atomic_swap_nbi(...) SHMEM_SELECT_(AMO_EXTENDED, atomic_swap_nbi, __VA_ARGS__)

#define SHMEM_OF_atomic_compare_swap_(N, T) , T *: shmem_##N##_atomic_compare_swap
#define SHMEM_OF_ctx_atomic_compare_swap_(N, T) , T *: shmem_ctx_##N##_atomic_compare_swap
#define shmem_atomic_compare_swap(...) SHMEM_SELECT_(AMO, atomic_compare_swap, __VA_ARGS__)

#define SHMEM_OF_atomic_inc_(N, T) , T *: shmem_##N##_atomic_inc
#define SHMEM_OF_ctx_atomic_inc_(N, T) , T *: shmem_ctx_##N##_atomic_inc
#define shmem_atomic_inc(...) SHMEM_SELECT_(AMO, atomic_inc, __VA_ARGS__)

#define SHMEM_OF_atomic_fetch_inc_(N, T) , T *: shmem_##N##_atomic_fetch_inc
#define SHMEM_OF_ctx_atomic_fetch_inc_(N, T) , T *: shmem_ctx_##N##_atomic_fetch_inc
#define shmem_atomic_fetch_inc(...) SHMEM_SELECT_(AMO, atomic_fetch_inc, __VA_ARGS__)

#define SHMEM_OF_atomic_add_(N, T) , T *: shmem_##N##_atomic_add
#define SHMEM_OF_ctx_atomic_add_(N, T) , T *: shmem_ctx_##N##_atomic_add
#define shmem_atomic_add(...) SHMEM_SELECT_(AMO, atomic_add, __VA_ARGS__)

#define SHMEM_OF_atomic_fetch_add_(N, T) , T *: shmem_##N##_atomic_fetch_add
#define SHMEM_OF_ctx_atomic_fetch_add_(N, T) , T *: shmem_ctx_##N##_atomic_fetch_add
#define shmem_atomic_fetch_add(...) SHMEM_SELECT_(AMO, atomic_fetch_add, __VA_ARGS__)

#define SHMEM_OF_atomic_compare_swap_nbi_(N, T) , T *: shmem_##N##_atomic_compare_swap_nbi
#define SHMEM_OF_ctx_atomic_compare_swap_nbi_(N, T) , T *: shmem_ctx_##N##_atomic_compare_swap_nbi
#define shmem_atomic_compare_swap_nbi(...) SHMEM_SELECT_(AMO, atomic_compare_swap_nbi, __VA_ARGS__)

#define SHMEM_OF_atomic_fetch_inc_nbi_(N, T) , T *: shmem_##N##_atomic_fetch_inc_nbi
#define SHMEM_OF_ctx_atomic_fetch_inc_nbi_(N, T) , T *: shmem_ctx_##N##_atomic_fetch_inc_nbi
#define shmem_atomic_fetch_inc_nbi(...) SHMEM_SELECT_(AMO, atomic_fetch_inc_nbi, __VA_ARGS__)

#define SHMEM_OF_atomic_fetch_add_nbi_(N, T) , T *: shmem_##N##_atomic_fetch_add_nbi
#define SHMEM_OF_ctx_atomic_fetch_add_nbi_(N, T) , T *: shmem_ctx_##N##_atomic_fetch_add_nbi
#define shmem_atomic_fetch_add_nbi(...) SHMEM_SELECT_(AMO, atomic_fetch_add_nbi, __VA_ARGS__)

#define SHMEM_OF_atomic_and_(N, T) , T *: shmem_##N##_atomic_and
#define SHMEM_OF_ctx_atomic_and_(N, T) , T *: shmem_ctx_##N##_atomic_and
#define shmem_atomic_and(...) SHMEM_SELECT_(AMO_BITWISE, atomic_and, __VA_ARGS__)

#define SHMEM_OF_atomic_fetch_and_(N, T) , T *: shmem_##N##_atomic_fetch_and
#define SHMEM_OF_ctx_atomic_fetch_and_(N, T) , T *: shmem_ctx_##N##_atomic_fetch_and
#define shmem_atomic_fetch_and(...) SHMEM_SELECT_(AMO_BITWISE, atomic_fetch_and, __VA_ARGS__)

#define SHMEM_OF_atomic_fetch_and_nbi_(N, T) , T *: shmem_##N##_atomic_fetch_and_nbi
#define SHMEM_OF_ctx_atomic_fetch_and_nbi_(N, T) , T *: shmem_ctx_##N##_atomic_fetch_and_nbi
#define shmem_atomic_fetch_and_nbi(...) SHMEM_SELECT_(AMO_BITWISE, atomic_fetch_and_nbi, __VA_ARGS__)

#define SHMEM_OF_atomic_or_(N, T) , T *: shmem_##N##_atomic_or
#define SHMEM_OF_ctx_atomic_or_(N, T) , T *: shmem_ctx_##N##_atomic_or
#define shmem_atomic_or(...) SHMEM_SELECT_(AMO_BITWISE, atomic_or, __VA_ARGS__)

#define SHMEM_OF_atomic_fetch_or_(N, T) , T *: shmem_##N##_atomic_fetch_or
#define SHMEM_OF_ctx_atomic_fetch_or_(N, T) , T *: shmem_ctx_##N##_atomic_fetch_or
#define shmem_atomic_fetch_or(...) SHMEM_SELECT_(AMO_BITWISE, atomic_fetch_or, __VA_ARGS__)

#define SHMEM_OF_atomic_fetch_or_nbi_(N, T) , T *: shmem_##N##_atomic_fetch_or_nbi
#define SHMEM_OF_ctx_atomic_fetch_or_nbi_(N, T) , T *: shmem_ctx_##N##_atomic_fetch_or_nbi
#define shmem_atomic_fetch_or_nbi(...) SHMEM_SELECT_(AMO_BITWISE, atomic_fetch_or_nbi, __VA_ARGS__)

#define SHMEM_OF_atomic_xor_(N, T) , T *: shmem_##N##_atomic_xor
#define SHMEM_OF_ctx_atomic_xor_(N, T) , T *: shmem_ctx_##N##_atomic_xor
#define shmem_atomic_xor(...) SHMEM_SELECT_(AMO_BITWISE, atomic_xor, __VA_ARGS__)

#define SHMEM_OF_atomic_fetch_xor_(N, T) , T *: shmem_##N##_atomic_fetch_xor
#define SHMEM_OF_ctx_atomic_fetch_xor_(N, T) , T *: shmem_ctx_##N##_atomic_fetch_xor
#define shmem_atomic_fetch_xor(...) SHMEM_SELECT_(AMO_BITWISE, atomic_fetch_xor, __VA_ARGS__)

#define SHMEM_OF_atomic_fetch_xor_nbi_(N, T) , T *: shmem_##N##_atomic_fetch_xor_nbi
#define SHMEM_OF_ctx_atomic_fetch_xor_nbi_(N, T) , T *: shmem_ctx_##N##_atomic_fetch_xor_nbi
#define shmem_atomic_fetch_xor_nbi(...) SHMEM_SELECT_(AMO_BITWISE, atomic_fetch_xor_nbi, __VA_ARGS__)

/* ---- Old names of atomics ---- */

#define SHMEM_OF_add_(N, T) , T *: shmem_##N##_add
#define shmem_add(dest, value, pe) SHMEM_ROUTINE_(LEGACY_AMO, add, dest)(dest, value, pe)

#define SHMEM_OF_inc_(N, T) , T *: shmem_##N##_inc
#define shmem_inc(dest, pe) SHMEM_ROUTINE_(LEGACY_AMO, inc, dest)(dest, pe)

#define SHMEM_OF_fadd_(N, T) , T *: shmem_##N##_fadd
#define shmem_fadd(dest, value, pe) SHMEM_ROUTINE_(LEGACY_AMO, fadd, dest)(dest, value, pe)

#define SHMEM_OF_finc_(N, T) , T *: shmem_##N##_finc
#define shmem_finc(dest, pe) SHMEM_ROUTINE_(LEGACY_AMO, finc, dest)(dest, pe)

#define SHMEM_OF_cswap_(N, T) , T *: shmem_##N##_cswap
#define shmem_cswap(dest, cond, value, pe) SHMEM_ROUTINE_(LEGACY_AMO, cswap, dest)(dest, cond, value, pe)

#define SHMEM_OF_fetch_(N, T) SHMEM_OR_CONST_(T, shmem_##N##_fetch)
#define shmem_fetch(source, pe) SHMEM_ROUTINE_(LEGACY_AMO_EXTENDED, fetch, source)(source, pe)

#define SHMEM_OF_set_(N, T) , T *: shmem_##N##_set
#define shmem_set(dest, value, pe) SHMEM_ROUTINE_(LEGACY_AMO_EXTENDED, set, dest)(dest, value, pe)

#define SHMEM_OF_swap_(N, T) , T *: shmem_##N##_swap
#define shmem_swap(dest, value, pe) SHMEM_ROUTINE_(LEGACY_AMO_EXTENDED, swap, dest)(dest, value, pe)

/* ---- Point-to-point synchronization ---- */

#define SHMEM_OF_wait_until_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_wait_until)
#define shmem_wait_until(ivar, cmp, cmp_value) \
  SHMEM_ROUTINE_(P2P, wait_until, ivar)(SHMEM_UNQUALIFIED_(ivar), cmp, cmp_value)

#define SHMEM_OF_wait_until_all_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_wait_until_all)
#define shmem_wait_until_all(ivars, nelems, status, cmp, cmp_value) \
  SHMEM_ROUTINE_(P2P, wait_until_all, ivars)(SHMEM_UNQUALIFIED_(ivars), nelems, status, cmp, cmp_value)

#define SHMEM_OF_wait_until_all_vector_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_wait_until_all_vector)
#define shmem_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values) \
  SHMEM_ROUTINE_(P2P, wait_until_all_vector, ivars)(SHMEM_UNQUALIFIED_(ivars), nelems, status, cmp, cmp_values)

#define SHMEM_OF_wait_until_any_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_wait_until_any)
#define shmem_wait_until_any(ivars, nelems, status, cmp, cmp_value) \
  SHMEM_ROUTINE_(P2P, wait_until_any, ivars)(SHMEM_UNQUALIFIED_(ivars), nelems, status, cmp, cmp_value)

#define SHMEM_OF_wait_until_any_vector_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_wait_until_any_vector)
#define shmem_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values) \
  SHMEM_ROUTINE_(P2P, wait_until_any_vector, ivars)(SHMEM_UNQUALIFIED_(ivars), nelems, status, cmp, cmp_values)

#define SHMEM_OF_wait_until_some_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_wait_until_some)
#define shmem_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value) \
  SHMEM_ROUTINE_(P2P, wait_until_some, ivars)(SHMEM_UNQUALIFIED_(ivars), nelems, indices, status, cmp, cmp_value)

#define SHMEM_OF_wait_until_some_vector_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_wait_until_some_vector)
#define shmem_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values) \
  SHMEM_ROUTINE_(P2P, wait_until_some_vector, ivars)                                  \
    (SHMEM_UNQUALIFIED_(ivars), nelems, indices, status, cmp, cmp_values)

#define SHMEM_OF_test_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_test)
#define shmem_test(ivar, cmp, cmp_value) SHMEM_ROUTINE_(P2P, test, ivar)(SHMEM_UNQUALIFIED_(ivar), cmp, cmp_value)

#define SHMEM_OF_test_all_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_test_all)
#define shmem_test_all(ivars, nelems, status, cmp, cmp_value) \
  SHMEM_ROUTINE_(P2P, test_all, ivars)(SHMEM_UNQUALIFIED_(ivars), nelems, status, cmp, cmp_value)

#define SHMEM_OF_test_all_vector_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_test_all_vector)
#define shmem_test_all_vector(ivars, nelems, status, cmp, cmp_values) \
  SHMEM_ROUTINE_(P2P, test_all_vector, ivars)(SHMEM_UNQUALIFIED_(ivars), nelems, status, cmp, cmp_values)

#define SHMEM_OF_test_any_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_test_any)
#define shmem_test_any(ivars, nelems, status, cmp, cmp_value) \
  SHMEM_ROUTINE_(P2P, test_any, ivars)(SHMEM_UNQUALIFIED_(ivars), nelems, status, cmp, cmp_value)

#define SHMEM_OF_test_any_vector_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_test_any_vector)
#define shmem_test_any_vector(ivars, nelems, status, cmp, cmp_values) \
  SHMEM_ROUTINE_(P2P, test_any_vector, ivars)(SHMEM_UNQUALIFIED_(ivars), nelems, status, cmp, cmp_values)

#define SHMEM_OF_test_some_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_test_some)
#define shmem_test_some(ivars, nelems, indices, status, cmp, cmp_value) \
  SHMEM_ROUTINE_(P2P, test_some, ivars)(SHMEM_UNQUALIFIED_(ivars), nelems, indices, status, cmp, cmp_value)

#define SHMEM_OF_test_some_vector_(N, T) SHMEM_OR_VOLATILE_(T, shmem_##N##_test_some_vector)
#define shmem_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values) \
  SHMEM_ROUTINE_(P2P, test_some_vector, ivars)(SHMEM_UNQUALIFIED_(ivars), nelems, indices, status, cmp, cmp_values)

/* ---- Collectives ---- */

#define SHMEM_OF_broadcast_(N, T) , T *: shmem_##N##_broadcast
#define shmem_broadcast(team, dest, source, nelems, PE_root) \
  SHMEM_ROUTINE_(RMA, broadcast, dest)(team, dest, source, nelems, PE_root)

#define SHMEM_OF_collect_(N, T) , T *: shmem_##N##_collect
#define shmem_collect(team, dest, source, nelems) SHMEM_ROUTINE_(RMA, collect, dest)(team, dest, source, nelems)

#define SHMEM_OF_fcollect_(N, T) , T *: shmem_##N##_fcollect
#define shmem_fcollect(team, dest, source, nelems) SHMEM_ROUTINE_(RMA, fcollect, dest)(team, dest, source, nelems)

#define SHMEM_OF_alltoall_(N, T) , T *: shmem_##N##_alltoall
#define shmem_alltoall(team, dest, source, nelems) SHMEM_ROUTINE_(RMA, alltoall, dest)(team, dest, source, nelems)

#define SHMEM_OF_alltoalls_(N, T) , T *: shmem_##N##_alltoalls
#define shmem_alltoalls(team, dest, source, dst, sst, nelems) \
  SHMEM_ROUTINE_(RMA, alltoalls, dest)(team, dest, source, dst, sst, nelems)

#define SHMEM_OF_and_reduce_(N, T) , T *: shmem_##N##_and_reduce
#define shmem_and_reduce(team, dest, source, nreduce) \
  SHMEM_ROUTINE_(REDUCE_AND_OR_XOR, and_reduce, dest)(team, dest, source, nreduce)

#define SHMEM_OF_or_reduce_(N, T) , T *: shmem_##N##_or_reduce
#define shmem_or_reduce(team, dest, source, nreduce) \
  SHMEM_ROUTINE_(REDUCE_AND_OR_XOR, or_reduce, dest)(team, dest, source, nreduce)

#define SHMEM_OF_xor_reduce_(N, T) , T *: shmem_##N##_xor_reduce
#define shmem_xor_reduce(team, dest, source, nreduce) \
  SHMEM_ROUTINE_(REDUCE_AND_OR_XOR, xor_reduce, dest)(team, dest, source, nreduce)

#define SHMEM_OF_max_reduce_(N, T) , T *: shmem_##N##_max_reduce
#define shmem_max_reduce(team, dest, source, nreduce) \
  SHMEM_ROUTINE_(REDUCE_MAX_MIN, max_reduce, dest)(team, dest, source, nreduce)

#define SHMEM_OF_min_reduce_(N, T) , T *: shmem_##N##_min_reduce
#define shmem_min_reduce(team, dest, source, nreduce) \
  SHMEM_ROUTINE_(REDUCE_MAX_MIN, min_reduce, dest)(team, dest, source, nreduce)

#define SHMEM_OF_sum_reduce_(N, T) , T *: shmem_##N##_sum_reduce
#define shmem_sum_reduce(team, dest, source, nreduce) \
  SHMEM_ROUTINE_(REDUCE_SUM_PROD, sum_reduce, dest)(team, dest, source, nreduce)

#define SHMEM_OF_prod_reduce_(N, T) , T *: shmem_##N##_prod_reduce
#define shmem_prod_reduce(team, dest, source, nreduce) \
  SHMEM_ROUTINE_(REDUCE_SUM_PROD, prod_reduce, dest)(team, dest, source, nreduce)

#define SHMEM_OF_sum_inscan_(N, T) , T *: shmem_##N##_sum_inscan
#define shmem_sum_inscan(team, dest, source, nelems) \
  SHMEM_ROUTINE_(REDUCE_SUM_PROD, sum_inscan, dest)(team, dest, source, nelems)

#define SHMEM_OF_sum_exscan_(N, T) , T *: shmem_##N##_sum_exscan
#define shmem_sum_exscan(team, dest, source, nelems) \
  SHMEM_ROUTINE_(REDUCE_SUM_PROD, sum_exscan, dest)(team, dest, source, nelems)

/* ---- Names that are functions as well: inside its own macro a name is the function ---- */

/// One argument: a team. Four: the active set of the deprecated form.
#define shmem_sync(...)                                                                                         \
  SHMEM_FIFTH_(__VA_ARGS__, shmem_sync, shmem_sync, shmem_sync, shmem_team_sync, 0)(__VA_ARGS__)
#define SHMEM_FIFTH_(a, b, c, d, e, ...) e

#define shmem_signal_add(...) \
  _Generic(SHMEM_FIRST_(__VA_ARGS__, 0), shmem_ctx_t: shmem_ctx_signal_add, default: shmem_signal_add)(__VA_ARGS__)
#define shmem_signal_set(...) \
  _Generic(SHMEM_FIRST_(__VA_ARGS__, 0), shmem_ctx_t: shmem_ctx_signal_set, default: shmem_signal_set)(__VA_ARGS__)

#endif

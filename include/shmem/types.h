/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Handles, structures and the type sets of OpenSHMEM. Every typed routine is declared, defined, dispatched and
/// tested by expanding one of the lists below, so a type is added by adding a line here.
///
/// A list `SHMEM_FOR_..._TYPES(X)` calls `X(TYPENAME, TYPE)` once for each type name of the specification's table.
/// Its twin `SHMEM_FOR_..._UNIQUE_TYPES(X)` holds one name for each distinct C type (`int` and `int32_t` are the same
/// type), as a C11 generic selection or a C++ overload set needs it.
/// `X` should use TYPENAME only beside `##`: then a program's own macros (`uint`, `size`) can't disturb it.
#ifndef SHMEM_TYPES_H
#define SHMEM_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__LP64__)
#error "Shoal needs a 64-bit target where int has 32 bits and long and pointers have 64 (LP64)"
#endif

#ifdef __cplusplus
#include <cstddef> /* says which standard library this is */
#pragma push_macro("complex")
#undef complex /* C's <complex.h> defines it */
#if defined(__GLIBCXX__) && !_GLIBCXX_INLINE_VERSION
/* Only pointers to complex are declared here, and <complex> takes longer to read than all the rest: a program that has
   complex numbers includes it itself. */
namespace std {
template <typename>
class complex;
}
#else
#include <complex>
#endif
typedef ::std::complex<float> shmem_complexf_;
typedef ::std::complex<double> shmem_complexd_;
#pragma pop_macro("complex")
#else
typedef float _Complex shmem_complexf_;
typedef double _Complex shmem_complexd_;
#endif
/// float complex and double complex of either language, without the names `complex` and `I` of C's <complex.h>.
#define SHMEM_COMPLEXF shmem_complexf_
#define SHMEM_COMPLEXD shmem_complexd_

/// Marks what libshoal.so exports.
#define SHMEM_API __attribute__((__visibility__("default")))
/// Marks a routine that doesn't return.
#define SHMEM_NORETURN __attribute__((__noreturn__))

/// A communication context: a domain of its own for ordering and completion. Belongs to the PE that made it.
typedef struct shmem_ctx_handle *shmem_ctx_t;

/// An ordered set of PEs. A handle is valid on the PE that holds it only.
typedef struct shmem_team_handle *shmem_team_t;

/// What a new team should be prepared for; fields count only when their mask bit (SHMEM_TEAM_NUM_CONTEXTS) is given.
typedef struct {
  int num_contexts; /**< contexts that this PE will have open on the team at the same time */
} shmem_team_config_t;

/// Hints for a session; fields count only when their mask bit (SHMEM_CTX_SESSION_TOTAL_OPS) is given.
typedef struct {
  size_t total_ops; /**< operations expected between start and stop, at most */
} shmem_ctx_session_config_t;

/* ---- Remote memory access, collectives that only move data ---------------------------------------------------- */

/// One name for each distinct C type: 14.
#define SHMEM_FOR_RMA_UNIQUE_TYPES(X) \
  X(float, float)                     \
  X(double, double)                   \
  X(longdouble, long double)          \
  X(char, char)                       \
  X(schar, signed char)               \
  X(short, short)                     \
  X(int, int)                         \
  X(long, long)                       \
  X(longlong, long long)              \
  X(uchar, unsigned char)             \
  X(ushort, unsigned short)           \
  X(uint, unsigned int)               \
  X(ulong, unsigned long)             \
  X(ulonglong, unsigned long long)

/// All 24 names.
#define SHMEM_FOR_RMA_TYPES(X)  \
  SHMEM_FOR_RMA_UNIQUE_TYPES(X) \
  X(int8, int8_t)               \
  X(int16, int16_t)             \
  X(int32, int32_t)             \
  X(int64, int64_t)             \
  X(uint8, uint8_t)             \
  X(uint16, uint16_t)           \
  X(uint32, uint32_t)           \
  X(uint64, uint64_t)           \
  X(size, size_t)               \
  X(ptrdiff, ptrdiff_t)

/// Element sizes in bits: `X(8) X(16) X(32) X(64) X(128)`.
#define SHMEM_FOR_SIZES(X) X(8) X(16) X(32) X(64) X(128)

/* ---- Atomic memory operations ----------------------------------------------------------------------------------- */

/// add, inc, fetch_add, fetch_inc, compare_swap and their non-blocking forms.
#define SHMEM_FOR_AMO_UNIQUE_TYPES(X) \
  X(int, int)                         \
  X(long, long)                       \
  X(longlong, long long)              \
  X(uint, unsigned int)               \
  X(ulong, unsigned long)             \
  X(ulonglong, unsigned long long)

#define SHMEM_FOR_AMO_TYPES(X)  \
  SHMEM_FOR_AMO_UNIQUE_TYPES(X) \
  X(int32, int32_t)             \
  X(int64, int64_t)             \
  X(uint32, uint32_t)           \
  X(uint64, uint64_t)           \
  X(size, size_t)               \
  X(ptrdiff, ptrdiff_t)

/// set, fetch, swap and their non-blocking forms.
#define SHMEM_FOR_AMO_EXTENDED_UNIQUE_TYPES(X) \
  SHMEM_FOR_AMO_UNIQUE_TYPES(X)                \
  X(float, float)                              \
  X(double, double)

#define SHMEM_FOR_AMO_EXTENDED_TYPES(X) \
  SHMEM_FOR_AMO_TYPES(X)                \
  X(float, float)                       \
  X(double, double)

/// and, or, xor and their fetching and non-blocking forms. `long long` has none: only the names of the table exist.
#define SHMEM_FOR_AMO_BITWISE_UNIQUE_TYPES(X) \
  X(uint, unsigned int)                       \
  X(ulong, unsigned long)                     \
  X(ulonglong, unsigned long long)            \
  X(int32, int32_t)                           \
  X(int64, int64_t)

#define SHMEM_FOR_AMO_BITWISE_TYPES(X)  \
  SHMEM_FOR_AMO_BITWISE_UNIQUE_TYPES(X) \
  X(uint32, uint32_t)                   \
  X(uint64, uint64_t)

/* ---- Point-to-point synchronization ------------------------------------------------------------------------------ */

/// wait_until, test and their all, any, some and vector forms.
#define SHMEM_FOR_P2P_UNIQUE_TYPES(X) \
  X(short, short)                     \
  X(int, int)                         \
  X(long, long)                       \
  X(longlong, long long)              \
  X(ushort, unsigned short)           \
  X(uint, unsigned int)               \
  X(ulong, unsigned long)             \
  X(ulonglong, unsigned long long)

#define SHMEM_FOR_P2P_TYPES(X)  \
  SHMEM_FOR_P2P_UNIQUE_TYPES(X) \
  X(int32, int32_t)             \
  X(int64, int64_t)             \
  X(uint32, uint32_t)           \
  X(uint64, uint64_t)           \
  X(size, size_t)               \
  X(ptrdiff, ptrdiff_t)

/* ---- Team reductions and scans ----------------------------------------------------------------------------------- */

#define SHMEM_FOR_REDUCE_AND_OR_XOR_UNIQUE_TYPES(X) \
  X(uchar, unsigned char)                           \
  X(ushort, unsigned short)                         \
  X(uint, unsigned int)                             \
  X(ulong, unsigned long)                           \
  X(ulonglong, unsigned long long)                  \
  X(int8, int8_t)                                   \
  X(int16, int16_t)                                 \
  X(int32, int32_t)                                 \
  X(int64, int64_t)

#define SHMEM_FOR_REDUCE_AND_OR_XOR_TYPES(X)  \
  SHMEM_FOR_REDUCE_AND_OR_XOR_UNIQUE_TYPES(X) \
  X(uint8, uint8_t)                           \
  X(uint16, uint16_t)                         \
  X(uint32, uint32_t)                         \
  X(uint64, uint64_t)                         \
  X(size, size_t)

#define SHMEM_FOR_REDUCE_MAX_MIN_UNIQUE_TYPES(X) SHMEM_FOR_RMA_UNIQUE_TYPES(X)
#define SHMEM_FOR_REDUCE_MAX_MIN_TYPES(X) SHMEM_FOR_RMA_TYPES(X)

/// sum and prod, inclusive and exclusive scans.
#define SHMEM_FOR_REDUCE_SUM_PROD_UNIQUE_TYPES(X) \
  SHMEM_FOR_REDUCE_MAX_MIN_UNIQUE_TYPES(X)        \
  X(complexf, SHMEM_COMPLEXF)                     \
  X(complexd, SHMEM_COMPLEXD)

#define SHMEM_FOR_REDUCE_SUM_PROD_TYPES(X) \
  SHMEM_FOR_REDUCE_MAX_MIN_TYPES(X)        \
  X(complexf, SHMEM_COMPLEXF)              \
  X(complexd, SHMEM_COMPLEXD)

/* ---- Deprecated routines: the types that old programs use, and those of today's tables --------------------------- */

#define SHMEM_FOR_TO_ALL_AND_OR_XOR_TYPES(X) \
  X(short, short)                            \
  X(int, int)                                \
  X(long, long)                              \
  X(longlong, long long)                     \
  SHMEM_FOR_REDUCE_AND_OR_XOR_TYPES(X)

#define SHMEM_FOR_TO_ALL_MAX_MIN_TYPES(X) SHMEM_FOR_REDUCE_MAX_MIN_TYPES(X)
#define SHMEM_FOR_TO_ALL_SUM_PROD_TYPES(X) SHMEM_FOR_REDUCE_SUM_PROD_TYPES(X)

/// shmem_TYPENAME_{add,inc,fadd,finc,cswap}.
#define SHMEM_FOR_LEGACY_AMO_TYPES(X) SHMEM_FOR_AMO_TYPES(X)
#define SHMEM_FOR_LEGACY_AMO_UNIQUE_TYPES(X) SHMEM_FOR_AMO_UNIQUE_TYPES(X)

/// shmem_TYPENAME_{set,fetch,swap}.
#define SHMEM_FOR_LEGACY_AMO_EXTENDED_TYPES(X) SHMEM_FOR_AMO_EXTENDED_TYPES(X)
#define SHMEM_FOR_LEGACY_AMO_EXTENDED_UNIQUE_TYPES(X) SHMEM_FOR_AMO_EXTENDED_UNIQUE_TYPES(X)

/// shmem_TYPENAME_wait.
#define SHMEM_FOR_LEGACY_WAIT_TYPES(X) SHMEM_FOR_P2P_TYPES(X)

#endif

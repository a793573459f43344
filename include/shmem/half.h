/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The 16-bit floating-point types of shmemx.h and their exact conversions: float16 (IEEE 754 binary16) and bfloat16
/// (the upper half of a float). Widening is exact; narrowing rounds to nearest, ties to even; NaN stays NaN.
#ifndef SHMEM_HALF_H
#define SHMEM_HALF_H

#include <stdint.h>

#ifdef __cplusplus
#define SHMEM_CAST_(type, value) (static_cast<type>(value))
#else
#define SHMEM_CAST_(type, value) ((type)(value))
#endif

#ifdef __CUDACC__
#define SHMEMX_HALF_FN_ static __host__ __device__ inline
#else
#define SHMEMX_HALF_FN_ static inline
#endif

/// A float16, as bits: sign 1, exponent 5, fraction 10.
typedef struct {
  uint16_t bits;
} shmemx_half_t;

/// A bfloat16, as bits: sign 1, exponent 8, fraction 7.
typedef struct {
  uint16_t bits;
} shmemx_bfloat16_t;

SHMEMX_HALF_FN_ uint32_t shmemx_bits_of_float_(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

SHMEMX_HALF_FN_ float shmemx_float_of_bits_(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

/// `bits` without its lowest `shift` bits, rounded to nearest, ties to even.
SHMEMX_HALF_FN_ uint32_t shmemx_shift_round_(uint32_t bits, unsigned shift) {
  const uint32_t kept = bits >> shift;
  return (bits + ((SHMEM_CAST_(uint32_t, 1) << (shift - 1)) - 1) + (kept & 1U)) >> shift;
}

/* Every case is computed and one is chosen, without a branch: so loops over many become vector instructions. */
SHMEMX_HALF_FN_ float shmemx_half_to_float(shmemx_half_t narrow) {
  const uint32_t sign = SHMEM_CAST_(uint32_t, narrow.bits & 0x8000U) << 16;
  const uint32_t magnitude = SHMEM_CAST_(uint32_t, narrow.bits & 0x7fffU) << 13;
  /* zero or subnormal: a multiple of 2^-24, which is the fraction's unit in floats from 2^-14 on; exact */
  const uint32_t tiny = magnitude < 0x00800000U ? magnitude : 0U;
  const uint32_t small = shmemx_bits_of_float_(shmemx_float_of_bits_(tiny + 0x38800000U) - shmemx_float_of_bits_(0x38800000U));
  const uint32_t normal = magnitude + (112U << 23);
  const uint32_t large = magnitude | 0x7f800000U; /* infinity or NaN */
  const uint32_t chosen = magnitude < 0x00800000U ? small : normal;
  return shmemx_float_of_bits_(sign | (magnitude >= 0x0f800000U ? large : chosen));
}

SHMEMX_HALF_FN_ shmemx_half_t shmemx_half_from_float(float value) {
  const uint32_t bits = shmemx_bits_of_float_(value);
  const uint32_t magnitude = bits & 0x7fffffffU;
  /* normal; a carry out of the fraction gives the next exponent, or infinity */
  const uint32_t normal = shmemx_shift_round_(magnitude - 0x38000000U, 13);
  /* subnormal, in units of 2^-24: those of a float from 0.5 on. The sum rounds as wanted. Nothing large may get there: it might trap. */
  const uint32_t tiny = magnitude < 0x38800000U ? magnitude : 0U;
  const uint32_t small = shmemx_bits_of_float_(shmemx_float_of_bits_(tiny) + 0.5f) - 0x3f000000U;
  /* infinity, from 65536 on; NaN: quiet, with what fits of its payload */
  const uint32_t large = magnitude > 0x7f800000U ? 0x7e00U | ((magnitude >> 13) & 0x3ffU) : 0x7c00U;
  const uint32_t chosen = magnitude < 0x38800000U ? small : normal;
  const uint32_t result = magnitude >= 0x47800000U ? large : chosen;
  shmemx_half_t narrow;
  narrow.bits = SHMEM_CAST_(uint16_t, ((bits >> 16) & 0x8000U) | result);
  return narrow;
}

SHMEMX_HALF_FN_ float shmemx_bfloat16_to_float(shmemx_bfloat16_t narrow) {
  return shmemx_float_of_bits_(SHMEM_CAST_(uint32_t, narrow.bits) << 16);
}

SHMEMX_HALF_FN_ shmemx_bfloat16_t shmemx_bfloat16_from_float(float value) {
  const uint32_t bits = shmemx_bits_of_float_(value);
  shmemx_bfloat16_t narrow;
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    narrow.bits = SHMEM_CAST_(uint16_t, (bits >> 16) | 0x40U); /* keeps a NaN whose payload is in the lower half */
  } else {
    narrow.bits = SHMEM_CAST_(uint16_t, shmemx_shift_round_(bits, 16));
  }
  return narrow;
}

#endif

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

SHMEMX_HALF_FN_ float shmemx_half_to_float(shmemx_half_t narrow) {
  const uint32_t sign = SHMEM_CAST_(uint32_t, narrow.bits & 0x8000U) << 16;
  const uint32_t exponent = (narrow.bits >> 10) & 0x1fU;
  const uint32_t fraction = narrow.bits & 0x3ffU;
  if (exponent == 0) { /* zero or subnormal: a multiple of 2^-24, exact in float */
    const float magnitude = SHMEM_CAST_(float, fraction) * 5.9604644775390625e-8f;
    return shmemx_float_of_bits_(sign | shmemx_bits_of_float_(magnitude));
  }
  if (exponent == 0x1fU) return shmemx_float_of_bits_(sign | 0x7f800000U | (fraction << 13));
  return shmemx_float_of_bits_(sign | ((exponent + 112U) << 23) | (fraction << 13));
}

SHMEMX_HALF_FN_ shmemx_half_t shmemx_half_from_float(float value) {
  const uint32_t bits = shmemx_bits_of_float_(value);
  const uint32_t magnitude = bits & 0x7fffffffU;
  uint32_t result;
  if (magnitude > 0x7f800000U) { /* NaN: quiet, with what fits of its payload */
    result = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  } else if (magnitude >= 0x47800000U) { /* 65536 and more */
    result = 0x7c00U;
  } else if (magnitude >= 0x38800000U) { /* normal; a carry out of the fraction gives the next exponent, or infinity */
    result = shmemx_shift_round_(magnitude - 0x38000000U, 13);
  } else if (magnitude >= 0x33000000U) { /* subnormal: the fraction in units of 2^-24 */
    result = shmemx_shift_round_((magnitude & 0x7fffffU) | 0x800000U, 126U - (magnitude >> 23));
  } else {
    result = 0;
  }
  {
    shmemx_half_t narrow;
    narrow.bits = SHMEM_CAST_(uint16_t, ((bits >> 16) & 0x8000U) | result);
    return narrow;
  }
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

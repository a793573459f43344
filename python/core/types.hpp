// SPDX-License-Identifier: Apache-2.0
// Element types as Python sees them: NumPy's type numbers, the names in messages, and the library's types.
#pragma once
#include <shmem.h>
#include <shmemx.h>

#include <cstddef>

namespace shoal::python {

/// The library's types, then those that it treats as one of them, then bytes without arithmetic.
enum Type : int {
  kInt8 = SHMEMX_INT8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat32,
  kFloat64,
  kLongDouble,
  kComplex64,
  kComplex128,
  kFloat16,
  kBfloat16,
  kBool,
  kBytes,
  kTypes
};

struct TypeInfo {
  const char* name;
  std::size_t size;
};
inline constexpr TypeInfo kTypeInfo[kTypes] = {{"int8", 1},
                                               {"int16", 2},
                                               {"int32", 4},
                                               {"int64", 8},
                                               {"uint8", 1},
                                               {"uint16", 2},
                                               {"uint32", 4},
                                               {"uint64", 8},
                                               {"float32", 4},
                                               {"float64", 8},
                                               {"longdouble", sizeof(long double)},
                                               {"complex64", 8},
                                               {"complex128", 16},
                                               {"float16", 2},
                                               {"bfloat16", 2},
                                               {"bool", 1},
                                               {"bytes", 1}};
static_assert(kFloat32 == int{SHMEMX_FLOAT} && kComplex64 == int{SHMEMX_COMPLEXF} && kBfloat16 == int{SHMEMX_BFLOAT16});

/// By NumPy's type number, which its binary interface fixes; kBytes for what has no arithmetic here.
inline constexpr Type kTypeOfNumpy[] = {kBool,    kInt8,       kUint8,     kInt16,      kUint16, kInt32,
                                        kUint32,  kInt64,      kUint64,    kInt64,      kUint64, kFloat32,
                                        kFloat64, kLongDouble, kComplex64, kComplex128, kBytes,  kBytes,
                                        kBytes,   kBytes,      kBytes,     kBytes,      kBytes,  kFloat16};
inline Type type_of_numpy(int number) noexcept {
  return number >= 0 && number < static_cast<int>(sizeof kTypeOfNumpy / sizeof kTypeOfNumpy[0]) ? kTypeOfNumpy[number]
                                                                                                : kBytes;
}

}  // namespace shoal::python

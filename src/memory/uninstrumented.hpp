// SPDX-License-Identifier: Apache-2.0
// For code that must not be seen by sanitizers: it runs while the program's data is moved (a run time that is linked
// into the program keeps its own state there), reads the red zones between variables, or runs inside a signal handler
// that the sanitizer was not told of. Such functions call nothing but each other, builtins and raw_syscall.
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__clang__)
#define SHOAL_UNINSTRUMENTED \
  __attribute__((disable_sanitizer_instrumentation, no_sanitize("address", "thread", "undefined")))
#else
#define SHOAL_UNINSTRUMENTED __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))
#endif

namespace shoal {

/// A system call that no sanitizer intercepts. @return the result, or -errno; errno itself is left alone
template <class... Arguments>
SHOAL_UNINSTRUMENTED inline long raw_syscall(long number, Arguments... arguments) noexcept {
  static_assert(sizeof...(Arguments) <= 6 && ((sizeof(Arguments) <= sizeof(long)) && ...));
  const long values[] = {(long)arguments..., 0, 0, 0, 0, 0, 0};  // NOLINT: pointers and integers alike
  long result;
#if defined(__x86_64__)
  register long r10 asm("r10") = values[3];
  register long r8 asm("r8") = values[4];
  register long r9 asm("r9") = values[5];
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(values[0]), "S"(values[1]), "d"(values[2]), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = values[0];
  register long x1 asm("x1") = values[1];
  register long x2 asm("x2") = values[2];
  register long x3 asm("x3") = values[3];
  register long x4 asm("x4") = values[4];
  register long x5 asm("x5") = values[5];
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  result = x0;
#else
#error "no system call for this processor yet"
#endif
  return result;
}

}  // namespace shoal

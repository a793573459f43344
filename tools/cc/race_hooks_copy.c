/* SPDX-License-Identifier: Apache-2.0
 * memcpy and its like in a program that `shoalcc --race` links: it passes --wrap for them, for gcc does not announce
 * what they touch. clang calls names of its own instead. */
#include <shmemx.h>
#include <string.h>

void* __real_memcpy(void* to, const void* from, size_t n);
void* __real_memmove(void* to, const void* from, size_t n);
void* __real_memset(void* to, int value, size_t n);

#define SITE __builtin_return_address(0)

void* __wrap_memcpy(void* to, const void* from, size_t n) {
  shmemx_race_access(from, n, 0, SITE);
  shmemx_race_access(to, n, 1, SITE);
  return __real_memcpy(to, from, n);
}
void* __wrap_memmove(void* to, const void* from, size_t n) {
  shmemx_race_access(from, n, 0, SITE);
  shmemx_race_access(to, n, 1, SITE);
  return __real_memmove(to, from, n);
}
void* __wrap_memset(void* to, int value, size_t n) {
  shmemx_race_access(to, n, 1, SITE);
  return __real_memset(to, value, n);
}
void* __tsan_memcpy(void* to, const void* from, size_t n) {
  shmemx_race_access(from, n, 0, SITE);
  shmemx_race_access(to, n, 1, SITE);
  return __real_memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, size_t n) {
  shmemx_race_access(from, n, 0, SITE);
  shmemx_race_access(to, n, 1, SITE);
  return __real_memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, size_t n) {
  shmemx_race_access(to, n, 1, SITE);
  return __real_memset(to, value, n);
}

/* SPDX-License-Identifier: Apache-2.0
 * What `shoalcc --race` links: the functions that a compiler calls under -fsanitize=thread, one for every load and
 * store, in a form that tells SHOAL_RACE and does nothing else. The real run time of that option is not linked; nothing
 * is looked for within a PE.
 *
 * The names are the compilers' (gcc 12, clang 14). The program's own C11 and C++ atomic operations are carried out, and
 * not told: they are how threads of one PE agree. Thread safety: all functions. */
#include <shmemx.h>
#include <stdbool.h>
#include <stdint.h>

#define HOOK __attribute__((used)) void
#define SITE __builtin_return_address(0)

/* ---- life ---- */
HOOK __tsan_init(void) {}
HOOK __tsan_func_entry(void* caller) { (void)caller; }
HOOK __tsan_func_exit(void) {}
HOOK __tsan_ignore_thread_begin(void) {}
HOOK __tsan_ignore_thread_end(void) {}
HOOK __tsan_acquire(void* address) { (void)address; }
HOOK __tsan_release(void* address) { (void)address; }

/* ---- loads and stores ---- */
#define ACCESSES(N)                                                                       \
  HOOK __tsan_read##N(void* a) { shmemx_race_access(a, N, 0, SITE); }                     \
  HOOK __tsan_write##N(void* a) { shmemx_race_access(a, N, 1, SITE); }                    \
  HOOK __tsan_unaligned_read##N(void* a) { shmemx_race_access(a, N, 0, SITE); }           \
  HOOK __tsan_unaligned_write##N(void* a) { shmemx_race_access(a, N, 1, SITE); }          \
  HOOK __tsan_volatile_read##N(void* a) { shmemx_race_access(a, N, 0, SITE); }            \
  HOOK __tsan_volatile_write##N(void* a) { shmemx_race_access(a, N, 1, SITE); }           \
  HOOK __tsan_unaligned_volatile_read##N(void* a) { shmemx_race_access(a, N, 0, SITE); }  \
  HOOK __tsan_unaligned_volatile_write##N(void* a) { shmemx_race_access(a, N, 1, SITE); } \
  HOOK __tsan_read_write##N(void* a) {                                                    \
    shmemx_race_access(a, N, 0, SITE);                                                    \
    shmemx_race_access(a, N, 1, SITE);                                                    \
  }                                                                                       \
  HOOK __tsan_unaligned_read_write##N(void* a) {                                          \
    shmemx_race_access(a, N, 0, SITE);                                                    \
    shmemx_race_access(a, N, 1, SITE);                                                    \
  }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
HOOK __tsan_read_range(void* a, unsigned long n) { shmemx_race_access(a, n, 0, SITE); }
HOOK __tsan_write_range(void* a, unsigned long n) { shmemx_race_access(a, n, 1, SITE); }
HOOK __tsan_vptr_read(void** a) { shmemx_race_access(a, sizeof *a, 0, SITE); }
HOOK __tsan_vptr_update(void** a, void* value) {
  (void)value;
  shmemx_race_access(a, sizeof *a, 1, SITE);
}

/* ---- the program's atomic operations: as strong as can be, whatever order was asked for ---- */
#define UPDATE(bits, T, name, builtin)                                                      \
  __attribute__((used)) T __tsan_atomic##bits##_##name(volatile T* a, T value, int order) { \
    (void)order;                                                                            \
    return builtin(a, value, __ATOMIC_SEQ_CST);                                             \
  }
#define ATOMICS(bits, T)                                                                                        \
  __attribute__((used)) T __tsan_atomic##bits##_load(const volatile T* a, int order) {                          \
    (void)order;                                                                                                \
    return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                                \
  }                                                                                                             \
  HOOK __tsan_atomic##bits##_store(volatile T* a, T value, int order) {                                         \
    (void)order;                                                                                                \
    __atomic_store_n(a, value, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                             \
  UPDATE(bits, T, exchange, __atomic_exchange_n)                                                                \
  UPDATE(bits, T, fetch_add, __atomic_fetch_add)                                                                \
  UPDATE(bits, T, fetch_sub, __atomic_fetch_sub)                                                                \
  UPDATE(bits, T, fetch_and, __atomic_fetch_and)                                                                \
  UPDATE(bits, T, fetch_or, __atomic_fetch_or)                                                                  \
  UPDATE(bits, T, fetch_xor, __atomic_fetch_xor)                                                                \
  UPDATE(bits, T, fetch_nand, __atomic_fetch_nand)                                                              \
  __attribute__((used)) bool __tsan_atomic##bits##_compare_exchange_strong(volatile T* a, T* expected, T value, \
                                                                           int order, int failed) {             \
    (void)order, (void)failed;                                                                                  \
    return __atomic_compare_exchange_n(a, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
  }                                                                                                             \
  __attribute__((used)) bool __tsan_atomic##bits##_compare_exchange_weak(volatile T* a, T* expected, T value,   \
                                                                         int order, int failed) {               \
    return __tsan_atomic##bits##_compare_exchange_strong(a, expected, value, order, failed);                    \
  }                                                                                                             \
  __attribute__((used))                                                                                         \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* a, T expected, T value, int order, int failed) {     \
    __tsan_atomic##bits##_compare_exchange_strong(a, &expected, value, order, failed);                          \
    return expected;                                                                                            \
  }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
HOOK __tsan_atomic_thread_fence(int order) {
  (void)order;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
HOOK __tsan_atomic_signal_fence(int order) {
  (void)order;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

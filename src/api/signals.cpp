// SPDX-License-Identifier: Apache-2.0
// Put with signal, and signals alone: OpenSHMEM 1.6, "Signaling Operations".
#include "api/define.hpp"
#include "comm/wait_set.hpp"

using namespace shoal;

#define SHOAL_DEFINE_PUT_SIGNAL(name, T, width)                                                                    \
  SHOAL_API(void, name,                                                                                            \
            (T * dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal, int sig_op, int pe)) { \
    world().put_signal(dest, source, bytes_of(nelems, width), sig_addr, signal, sig_op, pe, "shmem_" #name);       \
  }                                                                                                                \
  SHOAL_API(void, ctx_##name,                                                                                      \
            (shmem_ctx_t ctx, T * dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal,       \
             int sig_op, int pe)) {                                                                                \
    context_of(ctx, "shmem_ctx_" #name)                                                                            \
        .put_signal(dest, source, bytes_of(nelems, width), sig_addr, signal, sig_op, pe, "shmem_ctx_" #name);      \
  }

#define SHOAL_DEFINE(NAME, TYPE)                                 \
  SHOAL_DEFINE_PUT_SIGNAL(NAME##_put_signal, TYPE, sizeof(TYPE)) \
  SHOAL_DEFINE_PUT_SIGNAL(NAME##_put_signal_nbi, TYPE, sizeof(TYPE))
SHMEM_FOR_RMA_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

#define SHOAL_DEFINE(SIZE)                                    \
  SHOAL_DEFINE_PUT_SIGNAL(put##SIZE##_signal, void, SIZE / 8) \
  SHOAL_DEFINE_PUT_SIGNAL(put##SIZE##_signal_nbi, void, SIZE / 8)
SHMEM_FOR_SIZES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

SHOAL_DEFINE_PUT_SIGNAL(putmem_signal, void, 1)
SHOAL_DEFINE_PUT_SIGNAL(putmem_signal_nbi, void, 1)

SHOAL_API(void, signal_set, (uint64_t * sig_addr, uint64_t signal, int pe)) {
  world().signal(sig_addr, signal, SHMEM_SIGNAL_SET, pe, "shmem_signal_set");
}
SHOAL_API(void, ctx_signal_set, (shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, int pe)) {
  context_of(ctx, "shmem_ctx_signal_set").signal(sig_addr, signal, SHMEM_SIGNAL_SET, pe, "shmem_ctx_signal_set");
}
SHOAL_API(void, signal_add, (uint64_t * sig_addr, uint64_t signal, int pe)) {
  world().signal(sig_addr, signal, SHMEM_SIGNAL_ADD, pe, "shmem_signal_add");
}
SHOAL_API(void, ctx_signal_add, (shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, int pe)) {
  context_of(ctx, "shmem_ctx_signal_add").signal(sig_addr, signal, SHMEM_SIGNAL_ADD, pe, "shmem_ctx_signal_add");
}

SHOAL_API(uint64_t, signal_fetch, (const uint64_t* sig_addr)) {
  constexpr const char* call = "shmem_signal_fetch";
  return watched(
      world(), [&] { return Call{call, CallKind::test, -1, nullptr, sig_addr, sizeof *sig_addr}; }, call,
      [&] {
        world().domain().waiter->test_failed();  // programs poll with it: now and then, let others run
        return load_acquire(world().own(sig_addr, 1, call));
      });
}

SHOAL_API(uint64_t, signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value)) {
  return wait_until(world(), sig_addr, cmp, cmp_value, "shmem_signal_wait_until");
}

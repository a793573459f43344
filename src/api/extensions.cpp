// SPDX-License-Identifier: Apache-2.0
// What Shoal adds to OpenSHMEM: shmemx.h, save the reductions of 16-bit floating types (reductions.cpp).
#include <shmemx.h>

#include <algorithm>

#include "api/define.hpp"
#include "api/life.hpp"
#include "base/error.hpp"
#include "comm/atomics.hpp"
#include "observe/caller.hpp"
#include "team/watched.hpp"

using namespace shoal;

#define SHOAL_API_X extern "C" __attribute__((visibility("default")))

#define SHOAL_DEFINE(NAME, T)                                                                      \
  SHOAL_API_X void shmemx_##NAME##_atomic_add(T* dest, T value, int pe) {                          \
    atomic_post<FetchAdd>(world(), dest, value, pe, "shmemx_" #NAME "_atomic_add");                \
  }                                                                                                \
  SHOAL_API_X void shmemx_ctx_##NAME##_atomic_add(shmem_ctx_t ctx, T* dest, T value, int pe) {     \
    constexpr const char* call = "shmemx_ctx_" #NAME "_atomic_add";                                \
    atomic_post<FetchAdd>(context_of(ctx, call), dest, value, pe, call);                           \
  }                                                                                                \
  SHOAL_API_X T shmemx_##NAME##_atomic_fetch_add(T* dest, T value, int pe) {                       \
    return atomic_update<FetchAdd>(world(), dest, value, pe, "shmemx_" #NAME "_atomic_fetch_add"); \
  }                                                                                                \
  SHOAL_API_X T shmemx_ctx_##NAME##_atomic_fetch_add(shmem_ctx_t ctx, T* dest, T value, int pe) {  \
    constexpr const char* call = "shmemx_ctx_" #NAME "_atomic_fetch_add";                          \
    return atomic_update<FetchAdd>(context_of(ctx, call), dest, value, pe, call);                  \
  }
SHOAL_DEFINE(float, float)
SHOAL_DEFINE(double, double)
#undef SHOAL_DEFINE

SHOAL_API_X void shmemx_sync_pe(int pe) {
  constexpr const char* call = "shmemx_sync_pe";
  Job& here = job(call);
  const Observed observed(here.world().domain().observer,
                          [&] { return here.world().call_of(call, CallKind::meeting, pe, nullptr, nullptr, 0); });
  here.pair_sync().meet(here.world(), pe, call);
}

SHOAL_API_X void shmemx_race_access(const void* address, size_t nbytes, int writes, const void* site) {
  if (current.job != nullptr)
    current.job->access(address, nbytes, writes != 0,
                        site == nullptr ? caller_address() : reinterpret_cast<std::uintptr_t>(site));
}

SHOAL_API_X void shmemx_sem_set(shmemx_sem_t* sem, int64_t value, int pe) {
  atomic_post<Swap>(world(), &sem->count, value, pe, "shmemx_sem_set");
}
SHOAL_API_X void shmemx_sem_post(shmemx_sem_t* sem, int pe) {
  world().quiet();  // what was put before is complete when the waiter goes on
  atomic_post<FetchAdd>(world(), &sem->count, int64_t{1}, pe, "shmemx_sem_post");
}
SHOAL_API_X void shmemx_sem_wait(shmemx_sem_t* sem, int pe) {
  semaphore_wait(world(), &sem->count, pe, "shmemx_sem_wait");
}
SHOAL_API_X int shmemx_sem_trywait(shmemx_sem_t* sem, int pe) {
  if (semaphore_try(world(), &sem->count, pe, "shmemx_sem_trywait")) return 0;
  world().domain().waiter->test_failed();
  return 1;
}
SHOAL_API_X int64_t shmemx_sem_value(const shmemx_sem_t* sem, int pe) {
  return atomic_fetch(world(), &sem->count, pe, "shmemx_sem_value");
}

namespace {

/// Runs `body` as one call that moves all of the blocks.
template <class Body>
void watched_batch(const Context& context, CallKind kind, const shmemx_block_t* blocks, size_t count, int pe,
                   const char* call, Body&& body) noexcept {
  const auto describe = [&] {
    Call told = context.call_of(call, kind, pe, nullptr, nullptr, 0);
    for (size_t i = 0; i < count; ++i) told.bytes += blocks[i].nbytes;
    told.parts = true;
    return told;
  };
  watched(context, describe, call, body);
}

void put_batch(const Context& context, const shmemx_block_t* blocks, size_t count, int pe, const char* call) noexcept {
  watched_batch(context, CallKind::put, blocks, count, pe, call, [&] {
    for (size_t i = 0; i < count; ++i) context.put(blocks[i].dest, blocks[i].source, blocks[i].nbytes, pe, call);
  });
}
void get_batch(const Context& context, const shmemx_block_t* blocks, size_t count, int pe, const char* call) noexcept {
  watched_batch(context, CallKind::get, blocks, count, pe, call, [&] {
    for (size_t i = 0; i < count; ++i) context.get_nbi(blocks[i].dest, blocks[i].source, blocks[i].nbytes, pe, call);
    if (context.domain().spans_nodes()) context.quiet_far();  // they are complete when it returns
  });
}

}  // namespace

SHOAL_API_X void shmemx_putmem_batch(const shmemx_block_t* blocks, size_t nblocks, int pe) {
  put_batch(world(), blocks, nblocks, pe, "shmemx_putmem_batch");
}
SHOAL_API_X void shmemx_ctx_putmem_batch(shmem_ctx_t ctx, const shmemx_block_t* blocks, size_t nblocks, int pe) {
  put_batch(context_of(ctx, "shmemx_ctx_putmem_batch"), blocks, nblocks, pe, "shmemx_ctx_putmem_batch");
}
SHOAL_API_X void shmemx_getmem_batch(const shmemx_block_t* blocks, size_t nblocks, int pe) {
  get_batch(world(), blocks, nblocks, pe, "shmemx_getmem_batch");
}
SHOAL_API_X void shmemx_ctx_getmem_batch(shmem_ctx_t ctx, const shmemx_block_t* blocks, size_t nblocks, int pe) {
  get_batch(context_of(ctx, "shmemx_ctx_getmem_batch"), blocks, nblocks, pe, "shmemx_ctx_getmem_batch");
}

namespace {

/// A heap and the team that allocates from it together; nulls for SHMEMX_HEAP_INVALID.
struct HeapOf {
  SymmetricHeap* heap;
  Team* team;
};

HeapOf heap_of(shmemx_heap_t handle, const char* call) noexcept {
  Job& here = job(call);
  if (handle == SHMEMX_HEAP_INVALID) return {};
  if (handle == SHMEMX_HEAP_DEFAULT) return {&here.heap(), &here.world_team()};
  TeamHeap* found = here.heaps().find(reinterpret_cast<std::uintptr_t>(handle));
  if (found == nullptr)
    here.fatal(call,
               strf("the heap %p is not valid: destroyed already, or of an earlier init", static_cast<void*>(handle)));
  return {&found->heap(), &found->team()};
}

}  // namespace

SHOAL_API_X int shmemx_heap_create(const shmemx_heap_attr_t* attr, shmemx_heap_t* heap) {
  constexpr const char* call = "shmemx_heap_create";
  if (attr == nullptr || heap == nullptr) return refused(call, "attr and heap must not be null");
  *heap = SHMEMX_HEAP_INVALID;
  Job& here = job(call);
  const std::size_t alignment = attr->alignment == 0 ? 64 : attr->alignment;
  Team* team = team_of(attr->team, call);
  if (team == nullptr || attr->size == 0 || (alignment & (alignment - 1)) != 0 || alignment > (std::size_t{1} << 21))
    return -1;
  const WatchedCollective watched(*team, CallKind::collective, call, {.unit = ""});
  try {
    *heap = reinterpret_cast<shmemx_heap_t>(
        here.create_heap(*team, std::max<std::size_t>(attr->size, kLeastHeapBytes), alignment, call));
  } catch (const std::exception& error) {
    here.fatal(call, error.what());
  }
  return *heap == SHMEMX_HEAP_INVALID ? -1 : 0;
}

SHOAL_API_X void* shmemx_heap_malloc(shmemx_heap_t heap, size_t size) {
  const HeapOf found = heap_of(heap, "shmemx_heap_malloc");
  if (found.heap == nullptr) return nullptr;
  return found.heap->allocate(*found.team, size, 0, "shmemx_heap_malloc");
}

SHOAL_API_X void* shmemx_heap_align(shmemx_heap_t heap, size_t alignment, size_t size) {
  const HeapOf found = heap_of(heap, "shmemx_heap_align");
  if (found.heap == nullptr) return nullptr;
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) return nullptr;
  return found.heap->allocate(*found.team, size, alignment, "shmemx_heap_align");
}

SHOAL_API_X void shmemx_heap_free(shmemx_heap_t heap, void* ptr) {
  const HeapOf found = heap_of(heap, "shmemx_heap_free");
  if (found.heap == nullptr) job("shmemx_heap_free").fatal("shmemx_heap_free", "the heap is SHMEMX_HEAP_INVALID");
  found.heap->free(*found.team, ptr, "shmemx_heap_free");
}

SHOAL_API_X void shmemx_heap_destroy(shmemx_heap_t heap) {
  constexpr const char* call = "shmemx_heap_destroy";
  if (heap == SHMEMX_HEAP_INVALID) return;
  const HeapOf found = heap_of(heap, call);
  Job& here = job(call);
  if (heap == SHMEMX_HEAP_DEFAULT) here.fatal(call, "SHMEMX_HEAP_DEFAULT cannot be destroyed");
  const long key = here.heaps().find(reinterpret_cast<std::uintptr_t>(heap))->segment().key;
  const WatchedCollective watched(*found.team, CallKind::memory, call, {.unit = "", .also = {", heap %ld", key}});
  world().quiet();
  found.team->sync(call);  // nobody uses it any more
  found.heap->check_guards(world(), call);
  here.heaps().erase(reinterpret_cast<std::uintptr_t>(heap));
}

SHOAL_API_X size_t shmemx_heap_size(shmemx_heap_t heap) {
  const HeapOf found = heap_of(heap, "shmemx_heap_size");
  return found.heap == nullptr ? 0 : found.heap->size();
}

SHOAL_API_X size_t shmemx_heap_used(shmemx_heap_t heap) {
  const HeapOf found = heap_of(heap, "shmemx_heap_used");
  return found.heap == nullptr ? 0 : found.heap->used();
}

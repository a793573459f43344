// SPDX-License-Identifier: Apache-2.0
// The symmetric heap: OpenSHMEM 1.6, "Memory Management Routines".
#include "api/define.hpp"
#include "base/error.hpp"

using namespace shoal;

SHOAL_API(void*, malloc, (size_t size)) {
  Job& here = job("shmem_malloc");
  return here.heap().allocate(here.world_team(), size, 0, "shmem_malloc");
}

SHOAL_API(void*, malloc_with_hints, (size_t size, long hints)) {
  Job& here = job("shmem_malloc_with_hints");
  if ((hints & ~(SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE)) != 0)
    here.fatal("shmem_malloc_with_hints",
               strf("hints %#lx has bits that are no hint", static_cast<unsigned long>(hints)));
  return here.heap().allocate(here.world_team(), size, 0, "shmem_malloc_with_hints");
}

SHOAL_API(void*, calloc, (size_t count, size_t size)) {
  Job& here = job("shmem_calloc");
  return here.heap().allocate_zeroed(here.world_team(), count, size, "shmem_calloc");
}

SHOAL_API(void*, align, (size_t alignment, size_t size)) {
  Job& here = job("shmem_align");
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment % sizeof(void*) != 0) return nullptr;
  return here.heap().allocate(here.world_team(), size, alignment, "shmem_align");
}

SHOAL_API(void*, realloc, (void* ptr, size_t size)) {
  Job& here = job("shmem_realloc");
  return here.heap().reallocate(here.world_team(), ptr, size, "shmem_realloc");
}

SHOAL_API(void, free, (void* ptr)) {
  Job& here = job("shmem_free");
  here.heap().free(here.world_team(), ptr, "shmem_free");
}

SHOAL_API_LEGACY(void*, shmalloc, (size_t size)) { return pshmem_malloc(size); }
SHOAL_API_LEGACY(void, shfree, (void* ptr)) { pshmem_free(ptr); }
SHOAL_API_LEGACY(void*, shrealloc, (void* ptr, size_t size)) { return pshmem_realloc(ptr, size); }
SHOAL_API_LEGACY(void*, shmemalign, (size_t alignment, size_t size)) { return pshmem_align(alignment, size); }

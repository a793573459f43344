/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The symmetric heap. OpenSHMEM 1.6, section "Memory Management Routines".
///
/// Everything here is collective over the world team: all PEs call with equal arguments, in the same order. Equal
/// calls give objects that are symmetric: the returned address, used with a PE number, names the corresponding object
/// there. One thread of a PE at a time. An exhausted heap gives NULL on all PEs alike and stays usable. Sizes are in
/// bytes. Freeing an address that isn't the start of a live object ends the job with a message.
#include <shmem/constants.h>

#if !defined(SHMEM_MEMORY_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_MEMORY_H
#endif
#include <shmem/begin.h>

/// `size` bytes, aligned to 64. NULL if `size` is 0 (no synchronization then) or the heap is exhausted.
/// Ends with a barrier.
SHMEM_API void *SHMEM_FN(malloc)(size_t size);

/// Returns an object to the heap, after a barrier that lets everyone finish using it; NULL is a no-op.
SHMEM_API void SHMEM_FN(free)(void *ptr);

/// Changes an object's size, keeping its contents up to the smaller size; it may move. With NULL as shmem_malloc; with
/// size 0 as shmem_free, returning NULL. On failure returns NULL and leaves the object as it was.
SHMEM_API void *SHMEM_FN(realloc)(void *ptr, size_t size);

/// As shmem_malloc, at an address that is a multiple of `alignment`, a power of two from sizeof(void *) to 2 MiB; NULL
/// for any other alignment.
SHMEM_API void *SHMEM_FN(align)(size_t alignment, size_t size);

/// As shmem_malloc of `count * size` bytes, set to zero; NULL if the product overflows.
SHMEM_API void *SHMEM_FN(calloc)(size_t count, size_t size);

/// As shmem_malloc, with an or of SHMEM_MALLOC_ATOMICS_REMOTE (mostly the target of atomics) and
/// SHMEM_MALLOC_SIGNAL_REMOTE (holds signal words), or 0. Hints never change results;
/// a bit that is none ends the job with a message.
SHMEM_API void *SHMEM_FN(malloc_with_hints)(size_t size, long hints);

#include <shmem/end.h>
#endif

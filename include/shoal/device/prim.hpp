// SPDX-License-Identifier: Apache-2.0
/// \file
/// The seam between the kernel API and a device: prim/cpu.hpp and prim/cuda.hpp hold the only code that differs.
///
/// A device is its Handle (what a Core wraps) and these functions, all called by every lane of a core alike:
///
///   attach(view), me, n_pes, index, cores       who is it
///   lane, lanes, converge, share(value)         the lanes of a core (one on the cpu); all meet; lane 0's value for all
///   reach(address, bytes, pe, call, argument)   where a peer's memory is mapped; null: by rdma only; fails for what isn't symmetric
///   check_local                                 fails for what overruns the memory it begins in
///   symmetric, place(address, bytes)            is it symmetric? Where in symmetric memory, as a number that is the same on all PEs; or 0
///   copy, copy_strided                          done when it returns, seen by others after a fence
///   load, store, update, compare_swap           single words: acquire, release, and sequentially consistent
///   full_fence, ring(pe), ring_all              order; wake who sleeps
///   wait(site, done)                            until `done()`
///   submit, drain, move, update_far             engines: queue a transfer, wait for all of them; through the transports
///   raise_far                                   sets a sync word through the transports, behind those set there before; waits for nothing
///   meet(first, count, call)                    cores of this launch
///   enter(words, call), leave(words)            a meeting over a team, by this core's sync words for it: gives back its epoch; no other
///                                               launch of this PE is in one there until then
///   fail                                        ends the job, naming kernel, core, call and argument
#pragma once

#if defined(__CUDA_ARCH__)
#include "prim/cuda.hpp"
#else
#include "prim/cpu.hpp"
#endif

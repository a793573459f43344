// SPDX-License-Identifier: Apache-2.0
// How the C interface is defined: each routine once, as pshmem_x, with shmem_x a weak name for the same code, so that a
// tool may put its own shmem_x before it.
#pragma once
#include <pshmem.h>
#include <shmem.h>

#include "api/current.hpp"
#include "base/bytes.hpp"

/// SHOAL_API(int, my_pe, (void)) { ... } defines pshmem_my_pe and shmem_my_pe.
#define SHOAL_API(result, name, parameters)                                                                       \
  extern "C" __attribute__((visibility("default"), weak, alias("pshmem_" #name))) result shmem_##name parameters; \
  extern "C" __attribute__((visibility("default"))) result pshmem_##name parameters

/// The same for names from before OpenSHMEM 1.0, which have no prefix: pname and name.
#define SHOAL_API_LEGACY(result, name, parameters)                                                  \
  extern "C" __attribute__((visibility("default"), weak, alias("p" #name))) result name parameters; \
  extern "C" __attribute__((visibility("default"))) result p##name parameters

// SPDX-License-Identifier: Apache-2.0
// The job that the C interface works on: the library's only mutable global.
#pragma once
#include <shmem.h>

#include "job/job.hpp"

namespace shoal {

/// Before init and after finalize `world` is a context on which every operation ends the program with a message, so
/// that the fast path needn't ask whether there is a job.
struct Current {
  const Context* world;
  Job* job;
};
extern constinit Current current __attribute__((visibility("hidden")));

/// The default context.
inline const Context& world() noexcept { return *current.world; }

/// The job; ends the program when there is none.
inline Job& job(const char* call) noexcept {
  current.world->require(call);
  return *current.job;
}

[[noreturn]] void bad_context(shmem_ctx_t ctx, const char* call) noexcept;

/// The context of a handle. Ends the job for one that isn't alive.
inline const Context& context_of(shmem_ctx_t ctx, const char* call) noexcept {
  const auto handle = reinterpret_cast<std::uintptr_t>(ctx);
  if (handle == 1) return *current.world;
  const UserContext* found = job(call).contexts().find(handle);
  if (found == nullptr) [[unlikely]]
    bad_context(ctx, call);
  return found->context;
}

/// The team of a handle, or null for SHMEM_TEAM_INVALID. Ends the job for any other that isn't alive.
Team* team_of(shmem_team_t team, const char* call) noexcept;

}  // namespace shoal

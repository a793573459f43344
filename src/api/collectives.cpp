// SPDX-License-Identifier: Apache-2.0
// Team collectives that synchronise and move data: OpenSHMEM 1.6, "Collective Routines". All return nonzero for
// SHMEM_TEAM_INVALID.
#include "coll/collectives.hpp"

#include "api/define.hpp"
#include "team/watched.hpp"

using namespace shoal;

namespace {

[[gnu::cold, gnu::noinline]] void meet_watched(Team& team, bool completes, const char* call) noexcept {
  const WatchedCollective watched(team, CallKind::meeting, call);
  if (completes) world().quiet();
  team.sync(call);
}

/// @param completes  what this PE has put, too
inline void meet(Team& team, bool completes, const char* call) noexcept {
  if (!world().plain()) [[unlikely]]
    return meet_watched(team, completes, call);
  if (completes) world().quiet();
  team.sync(call);
}

}  // namespace

SHOAL_API(void, barrier_all, (void)) { meet(job("shmem_barrier_all").world_team(), true, "shmem_barrier_all"); }

SHOAL_API(void, sync_all, (void)) { meet(job("shmem_sync_all").world_team(), false, "shmem_sync_all"); }

SHOAL_API(int, team_sync, (shmem_team_t team)) {
  Team* members = team_of(team, "shmem_team_sync");
  if (members == nullptr) return -1;
  meet(*members, false, "shmem_team_sync");
  return 0;
}

#define SHOAL_DEFINE_COLLECTIVES(broadcast_name, collect_name, fcollect_name, alltoall_name, alltoalls_name, T, width) \
  SHOAL_API(int, broadcast_name, (shmem_team_t team, T * dest, const T* source, size_t nelems, int PE_root)) {         \
    Team* members = team_of(team, "shmem_" #broadcast_name);                                                           \
    if (members == nullptr) return -1;                                                                                 \
    if (nelems != 0) world().expect_aligned(dest, source, "shmem_" #broadcast_name);                                   \
    broadcast(*members, dest, source, bytes_of(nelems, width), PE_root, true, "shmem_" #broadcast_name);               \
    return 0;                                                                                                          \
  }                                                                                                                    \
  SHOAL_API(int, collect_name, (shmem_team_t team, T * dest, const T* source, size_t nelems)) {                        \
    Team* members = team_of(team, "shmem_" #collect_name);                                                             \
    if (members == nullptr) return -1;                                                                                 \
    if (nelems != 0) world().expect_aligned(dest, source, "shmem_" #collect_name);                                     \
    collect(*members, dest, source, nelems, width, "shmem_" #collect_name);                                            \
    return 0;                                                                                                          \
  }                                                                                                                    \
  SHOAL_API(int, fcollect_name, (shmem_team_t team, T * dest, const T* source, size_t nelems)) {                       \
    Team* members = team_of(team, "shmem_" #fcollect_name);                                                            \
    if (members == nullptr) return -1;                                                                                 \
    if (nelems != 0) world().expect_aligned(dest, source, "shmem_" #fcollect_name);                                    \
    fcollect(*members, dest, source, bytes_of(nelems, width), "shmem_" #fcollect_name);                                \
    return 0;                                                                                                          \
  }                                                                                                                    \
  SHOAL_API(int, alltoall_name, (shmem_team_t team, T * dest, const T* source, size_t nelems)) {                       \
    Team* members = team_of(team, "shmem_" #alltoall_name);                                                            \
    if (members == nullptr) return -1;                                                                                 \
    if (nelems != 0) world().expect_aligned(dest, source, "shmem_" #alltoall_name);                                    \
    alltoall(*members, dest, source, 1, 1, nelems, width, "shmem_" #alltoall_name);                                    \
    return 0;                                                                                                          \
  }                                                                                                                    \
  SHOAL_API(int, alltoalls_name,                                                                                       \
            (shmem_team_t team, T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems)) {             \
    Team* members = team_of(team, "shmem_" #alltoalls_name);                                                           \
    if (members == nullptr) return -1;                                                                                 \
    if (nelems != 0) world().expect_aligned(dest, source, "shmem_" #alltoalls_name);                                   \
    alltoall(*members, dest, source, dst, sst, nelems, width, "shmem_" #alltoalls_name);                               \
    return 0;                                                                                                          \
  }

#define SHOAL_DEFINE(NAME, T)                                                                                       \
  SHOAL_DEFINE_COLLECTIVES(NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls, T, \
                           sizeof(T))
SHMEM_FOR_RMA_TYPES(SHOAL_DEFINE)
#undef SHOAL_DEFINE

SHOAL_DEFINE_COLLECTIVES(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void, 1)

// SPDX-License-Identifier: Apache-2.0
/// \file
/// Puts and gets between device memories, inside kernels. Non-blocking: aclshmemx_team_sync or aclshmemx_quiet completes them. The
/// core that calls is found by itself. shoal/device/gm2gm.hpp has the same with types, engines and events.
#pragma once

#include <device/team.h>
#include <shmemx.h>

#include <cstdio>

namespace shoal::device::detail {

/// The core that runs this thread's kernel; on the host it ends the job.
inline Core calling_core(const char *call) noexcept {
  if (current_core == nullptr) {
    std::fprintf(stderr, "shoal: PE %d: %s: called outside of a kernel: run it by shoal::launch\n", shmem_my_pe(), call);
    shmem_global_exit(1);
  }
  return Core(current_core);
}

/// What kernels see of a team; ends the job for one that is null, destroyed or of an earlier init.
inline const TeamView &checked_team(const Core &core, aclshmemx_team_t team, const char *call) noexcept {
  const void *&valid = core.handle()->team;
  if (team == nullptr || team != valid) {
    shmemx_device_check_team(team, call);
    valid = team;
  }
  return team->view;
}

inline TransferEvent &checked_event(const Core &core, TransferEvent *event, const char *call) noexcept {
  if (event == nullptr) prim::fail(core.handle(), call, "event", Fault::text, nullptr, 0, -1, "it is null: pass one of the kernel's own");
  return *event;
}

}  // namespace shoal::device::detail

/// `bytes` from `local` to `remote` (symmetric) of the team's member `peer`.
inline void aclshmemx_gm2gm_put(aclshmemx_team_t team, void *remote, const void *local, size_t bytes, int32_t peer) {
  const char *const call = "aclshmemx_gm2gm_put";
  const shoal::device::Core core = shoal::device::detail::calling_core(call);
  const int pe = core.pe(shoal::device::detail::checked_team(core, team, call), peer);
  core.move_bytes<shoal::device::Direction::put>(call, remote, local, bytes, pe, shoal::device::Engine::automatic, false, nullptr);
}
/// `bytes` from `remote` (symmetric) of PE `peer` to `local`.
inline void aclshmemx_gm2gm_get(void *local, const void *remote, size_t bytes, int32_t peer) {
  shoal::device::detail::calling_core("aclshmemx_gm2gm_get")
      .move_bytes<shoal::device::Direction::get>("aclshmemx_gm2gm_get", local, remote, bytes, peer, shoal::device::Engine::automatic, false, nullptr);
}
/// The low-level forms: through `staging`, `staging_bytes` of this core's scratch, by the engine given, told by the event.
inline void aclshmemx_gm2gm_put(aclshmemx_team_t team, void *remote, const void *local, size_t bytes, int32_t peer, void *staging,
                                size_t staging_bytes, shoal::device::Engine engine, shoal::device::TransferEvent *event) {
  const char *const call = "aclshmemx_gm2gm_put";
  const shoal::device::Core core = shoal::device::detail::calling_core(call);
  shoal::device::gm2gm::put(core, static_cast<char *>(remote), static_cast<const char *>(local), bytes,
                            core.pe(shoal::device::detail::checked_team(core, team, call), peer), {staging, staging_bytes}, engine,
                            shoal::device::detail::checked_event(core, event, call));
}
inline void aclshmemx_gm2gm_get(void *local, const void *remote, size_t bytes, int32_t peer, void *staging, size_t staging_bytes,
                                shoal::device::Engine engine, shoal::device::TransferEvent *event) {
  const char *const call = "aclshmemx_gm2gm_get";
  const shoal::device::Core core = shoal::device::detail::calling_core(call);
  shoal::device::gm2gm::get(core, static_cast<char *>(local), static_cast<const char *>(remote), bytes, peer, {staging, staging_bytes},
                            engine, shoal::device::detail::checked_event(core, event, call));
}
/// This core's puts and gets are complete.
inline void aclshmemx_quiet() { shoal::device::detail::calling_core("aclshmemx_quiet").quiet(); }

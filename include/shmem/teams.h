/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Teams: ordered sets of PEs. OpenSHMEM 1.6, section "Team Management Routines".
///
/// Queries accept SHMEM_TEAM_INVALID and answer -1 (or NULL, or nonzero); they are safe from any thread. Splits and
/// shmem_team_destroy are collective over the parent, or the team. A handle of a team that was destroyed, or a mask bit
/// that has no meaning, ends the job with a message.
#include <shmem/constants.h>

#if !defined(SHMEM_TEAMS_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_TEAMS_H
#endif
#include <shmem/begin.h>

/// The calling PE's number in `team`, in [0, shmem_team_n_pes(team)), or -1 for an invalid team.
SHMEM_API int SHMEM_FN(team_my_pe)(shmem_team_t team);

/// The number of PEs in `team`, or -1 for an invalid team.
SHMEM_API int SHMEM_FN(team_n_pes)(shmem_team_t team);

/// Writes those fields of the team's configuration that `config_mask` names. Returns 0, or nonzero for an invalid
/// team.
SHMEM_API int SHMEM_FN(team_get_config)(shmem_team_t team, long config_mask, shmem_team_config_t *config);

/// The number in `dest_team` of the PE that has number `src_pe` in `src_team`; -1 if it isn't a member, or a team or
/// the number is invalid.
SHMEM_API int SHMEM_FN(team_translate_pe)(shmem_team_t src_team, int src_pe, shmem_team_t dest_team);

/// As shmem_ptr, with `pe` counted in `team`. NULL for an invalid team.
SHMEM_API void *SHMEM_FN(team_ptr)(shmem_team_t team, const void *dest, int pe);

/// Makes a team of the `size` PEs start, start+stride, ... of `parent_team`. The stride may be negative, and 0 only
/// when `size` is 1; the sequence doesn't wrap around. Collective over the parent, with equal arguments. Members get
/// the team in `*new_team`, others SHMEM_TEAM_INVALID. Returns 0; nonzero, with SHMEM_TEAM_INVALID everywhere, if the
/// arguments are illegal or the library has no room for another team.
SHMEM_API int SHMEM_FN(team_split_strided)(shmem_team_t parent_team, int start, int stride, int size,
    const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team);

/// Lays the parent out in rows of `xrange` PEs (the last may be shorter) and makes each PE a member of a team along
/// its row (x) and of one along its column (y). An `xrange` above the parent's size counts as that size; below 1 is
/// illegal. Collective over the parent. Returns 0; nonzero, with both teams SHMEM_TEAM_INVALID, as above.
SHMEM_API int SHMEM_FN(team_split_2d)(shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config,
    long xaxis_mask, shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask,
    shmem_team_t *yaxis_team);

/// Ends a team and its contexts, collectively over it. A no-op for SHMEM_TEAM_INVALID; the predefined teams can't be
/// destroyed (an error that ends the job).
SHMEM_API void SHMEM_FN(team_destroy)(shmem_team_t team);

#include <shmem/end.h>
#endif

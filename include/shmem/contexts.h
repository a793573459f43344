/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Contexts: domains of ordering and completion. OpenSHMEM 1.6, section "Communication Management Routines".
///
/// A context belongs to the PE that made it; creation and destruction are local. Operations on SHMEM_CTX_INVALID end
/// the job with a message, except where said otherwise; so do option and mask bits that have no meaning.
#include <shmem/constants.h>

#if !defined(SHMEM_CONTEXTS_H) || defined(SHMEM_DECLARE_PSHMEM)
#ifndef SHMEM_DECLARE_PSHMEM
#define SHMEM_CONTEXTS_H
#endif
#include <shmem/begin.h>

/// Makes a context on the world team. `options` is an or of SHMEM_CTX_SERIALIZED (one thread at a time),
/// SHMEM_CTX_PRIVATE (the creating thread only) and SHMEM_CTX_NOSTORE (quiet and fence needn't cover stores), or 0.
/// Returns 0; nonzero, with SHMEM_CTX_INVALID, if there is none left.
SHMEM_API int SHMEM_FN(ctx_create)(long options, shmem_ctx_t *ctx);

/// As shmem_ctx_create on `team`: PE numbers used with the context count in that team. Nonzero, with
/// SHMEM_CTX_INVALID, for an invalid team too.
SHMEM_API int SHMEM_FN(team_create_ctx)(shmem_team_t team, long options, shmem_ctx_t *ctx);

/// Completes the context's operations and ends it. A no-op for SHMEM_CTX_INVALID; SHMEM_CTX_DEFAULT can't be destroyed
/// (an error that ends the job).
SHMEM_API void SHMEM_FN(ctx_destroy)(shmem_ctx_t ctx);

/// Writes the team that `ctx` was made on (the world for SHMEM_CTX_DEFAULT). Returns 0; nonzero, with
/// SHMEM_TEAM_INVALID, for SHMEM_CTX_INVALID.
SHMEM_API int SHMEM_FN(ctx_get_team)(shmem_ctx_t ctx, shmem_team_t *team);

/// Opens a session: a hint that operations up to shmem_ctx_session_stop follow a pattern. `options` is an or of
/// SHMEM_CTX_SESSION_BATCH (many small operations, whose single latency doesn't matter), or 0; `config_mask` names the
/// fields of `*config` that count. Order and completion don't change. In an open session the options are or-ed. A no-
/// op for SHMEM_CTX_INVALID.
SHMEM_API void SHMEM_FN(ctx_session_start)(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config,
    long config_mask);

/// Closes the session on `ctx`. A no-op for SHMEM_CTX_INVALID or without an open session.
SHMEM_API void SHMEM_FN(ctx_session_stop)(shmem_ctx_t ctx);

#include <shmem/end.h>
#endif

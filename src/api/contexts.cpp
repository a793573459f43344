// SPDX-License-Identifier: Apache-2.0
// Contexts and sessions: OpenSHMEM 1.6, "Communication Management Routines".
#include "api/define.hpp"
#include "base/error.hpp"

namespace shoal {

void bad_context(shmem_ctx_t ctx, const char* call) noexcept {
  world().fatal(call, ctx == SHMEM_CTX_INVALID
                          ? "the context is SHMEM_CTX_INVALID"
                          : strf("the context %p is not valid: destroyed already, or of an earlier init",
                                 static_cast<void*>(ctx)));
}

}  // namespace shoal

using namespace shoal;

namespace {

int create(const Team* team, std::uintptr_t team_handle, long options, shmem_ctx_t* ctx, const char* call) noexcept {
  *ctx = SHMEM_CTX_INVALID;
  if (team == nullptr) return -1;
  Job& here = job(call);
  const Observed observed(here.world().domain().observer, [&] { return Call{call, CallKind::local}; });
  if ((options & ~(SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE)) != 0)
    here.fatal(call, strf("options %#lx has bits that are no context option", static_cast<unsigned long>(options)));
  const Context& world = here.world();
  const Segment& heap = *here.team_space().heap;
  const Context::Members members =
      team_handle == 1 ? Context::Members{world.n_pes(), nullptr, heap.peers.data()} : team->context_members();
  const std::uintptr_t handle = here.contexts().insert(
      std::unique_ptr<UserContext>(new UserContext{Context(world.domain(), heap, members), team_handle}));
  *ctx = reinterpret_cast<shmem_ctx_t>(handle);
  return handle == 0 ? -1 : 0;
}

}  // namespace

SHOAL_API(int, ctx_create, (long options, shmem_ctx_t* ctx)) {
  constexpr const char* call = "shmem_ctx_create";
  return create(&job(call).world_team(), 1, options, ctx, call);
}

SHOAL_API(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t* ctx)) {
  constexpr const char* call = "shmem_team_create_ctx";
  return create(team_of(team, call), reinterpret_cast<std::uintptr_t>(team), options, ctx, call);
}

SHOAL_API(void, ctx_destroy, (shmem_ctx_t ctx)) {
  constexpr const char* call = "shmem_ctx_destroy";
  if (ctx == SHMEM_CTX_INVALID) return;
  Job& here = job(call);
  if (ctx == SHMEM_CTX_DEFAULT) here.fatal(call, "SHMEM_CTX_DEFAULT cannot be destroyed");
  const Context& context = context_of(ctx, call);
  watched(context, CallKind::quiet, call, [&] { context.quiet(); });
  here.contexts().erase(reinterpret_cast<std::uintptr_t>(ctx));
}

SHOAL_API(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t* team)) {
  constexpr const char* call = "shmem_ctx_get_team";
  *team = SHMEM_TEAM_INVALID;
  if (ctx == SHMEM_CTX_INVALID) return -1;
  context_of(ctx, call);
  *team = ctx == SHMEM_CTX_DEFAULT
              ? SHMEM_TEAM_WORLD
              : reinterpret_cast<shmem_team_t>(job(call).contexts().find(reinterpret_cast<std::uintptr_t>(ctx))->team);
  return 0;
}

// Sessions are hints about operations to come; on the load/store path there is nothing to prepare.
SHOAL_API(void, ctx_session_start,
          (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t* config, long config_mask)) {
  constexpr const char* call = "shmem_ctx_session_start";
  if (ctx == SHMEM_CTX_INVALID) return;
  const Context& context = context_of(ctx, call);
  const Observed observed(context.domain().observer, [&] { return Call{call, CallKind::local}; });
  if ((options & ~SHMEM_CTX_SESSION_BATCH) != 0)
    context.fatal(call, strf("options %#lx has bits that are no session option", static_cast<unsigned long>(options)));
  if ((config_mask & ~SHMEM_CTX_SESSION_TOTAL_OPS) != 0)
    context.fatal(call, strf("config_mask %#lx has bits other than SHMEM_CTX_SESSION_TOTAL_OPS",
                             static_cast<unsigned long>(config_mask)));
  if ((config_mask & SHMEM_CTX_SESSION_TOTAL_OPS) != 0 && config == nullptr)
    context.fatal(call, "config is NULL although config_mask names a field of it");
}

SHOAL_API(void, ctx_session_stop, (shmem_ctx_t ctx)) {
  constexpr const char* call = "shmem_ctx_session_stop";
  if (ctx == SHMEM_CTX_INVALID) return;
  const Observed observed(context_of(ctx, call).domain().observer, [&] { return Call{call, CallKind::local}; });
}

// SPDX-License-Identifier: Apache-2.0
// Fence and quiet: OpenSHMEM 1.6, "Memory Ordering Routines".
#include "api/define.hpp"
#include "base/error.hpp"

using namespace shoal;

SHOAL_API(void, fence, (void)) {
  watched(world(), CallKind::fence, "shmem_fence", [] { world().fence(); });
}

SHOAL_API(void, ctx_fence, (shmem_ctx_t ctx)) {
  if (ctx == SHMEM_CTX_INVALID) return;
  const Context& context = context_of(ctx, "shmem_ctx_fence");
  watched(context, CallKind::fence, "shmem_ctx_fence", [&] { context.fence(); });
}

SHOAL_API(void, quiet, (void)) {
  watched(world(), CallKind::quiet, "shmem_quiet", [] { world().quiet(); });
}

SHOAL_API(void, ctx_quiet, (shmem_ctx_t ctx)) {
  if (ctx == SHMEM_CTX_INVALID) return;
  const Context& context = context_of(ctx, "shmem_ctx_quiet");
  watched(context, CallKind::quiet, "shmem_ctx_quiet", [&] { context.quiet(); });
}

namespace {

void quiet_pes(const Context& context, const int* pes, size_t count, const char* call) noexcept {
  watched(context, CallKind::quiet, call, [&] {
    for (size_t i = 0; i < count; ++i)
      if (pes[i] < 0 || pes[i] >= context.n_pes())
        context.fatal(
            call, strf("target_pes[%zu] = %d is out of range: there are PEs 0 to %d", i, pes[i], context.n_pes() - 1));
    if (count != 0) context.quiet();
  });
}

}  // namespace

SHOAL_API(void, pe_quiet, (const int* target_pes, size_t npes)) {
  quiet_pes(world(), target_pes, npes, "shmem_pe_quiet");
}

SHOAL_API(void, ctx_pe_quiet, (shmem_ctx_t ctx, const int* target_pes, size_t npes)) {
  if (ctx != SHMEM_CTX_INVALID)
    quiet_pes(context_of(ctx, "shmem_ctx_pe_quiet"), target_pes, npes, "shmem_ctx_pe_quiet");
}

// SPDX-License-Identifier: Apache-2.0
// What programs do rarely: heap, teams, contexts.
#include <shmem.h>

#include <cstdlib>

#include "tests.hpp"
#include "world.hpp"

namespace shoal::perf {
namespace {

constexpr long kMost = 1L << 16;

template <class Operation>
Loop repeat(Operation operation) {
  return timed([operation](long count) {
    for (long i = 0; i < count; ++i) operation();
  });
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "shoal-perf: PE %d: %s failed\n", shmem_my_pe(), what);
  shmem_global_exit(1);
}

/// libc's own pair of calls, and as many meetings as the two symmetric ones need.
Named plain_malloc(World& w, std::size_t size) {
  return {"malloc, free + 2 barriers of plain flags", repeat([&w, size] {
            void* memory = std::malloc(size);
            use(memory);
            w.meet();
            w.meet();
            std::free(memory);
          })};
}

Case heap(World& w, std::size_t size) {
  return {.loop = repeat([size] {
            void* memory = shmem_malloc(size);
            if (memory == nullptr) fail("shmem_malloc");
            shmem_free(memory);
          }),
          .limits = {plain_malloc(w, size)},
          .most = kMost};
}

Case malloc_small(World& w, std::size_t) { return heap(w, 64); }
Case malloc_large(World& w, std::size_t) { return heap(w, 1u << 20); }

Named plain_split(World& w) {
  return {"2 barriers of plain flags", repeat([&w] {
            w.meet();
            w.meet();
          })};
}

Case team_split(World& w, std::size_t) {
  return {.loop = repeat([n = w.n] {
            shmem_team_t team = SHMEM_TEAM_INVALID;
            if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, nullptr, 0, &team) != 0)
              fail("shmem_team_split_strided");
            shmem_team_destroy(team);
          }),
          .limits = {plain_split(w)},
          .most = kMost};
}

Case team_split_2d(World& w, std::size_t) {
  return {.loop = repeat([] {
            shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;
            if (shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, nullptr, 0, &x, nullptr, 0, &y) != 0)
              fail("shmem_team_split_2d");
            shmem_team_destroy(x);
            shmem_team_destroy(y);
          }),
          .limits = {plain_split(w)},
          .most = kMost};
}

Case contexts(World&, std::size_t) {
  return {.loop = repeat([] {
            shmem_ctx_t ctx = SHMEM_CTX_INVALID;
            if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0) fail("shmem_ctx_create");
            shmem_ctx_destroy(ctx);
          }),
          .limits = {{"malloc, free of 64 B", repeat([] {
                        void* memory = std::malloc(64);
                        use(memory);
                        std::free(memory);
                      })}},
          .most = kMost};
}

Case context_put(World& w, std::size_t) {
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0) fail("shmem_ctx_create");
  return {.loop = repeat([&w, ctx] {
            shmem_ctx_putmem(ctx, w.dest, w.source, 8, w.peer);
            shmem_ctx_quiet(ctx);
          }),
          .limits = {{"copy + full fence", repeat([to = w.on(w.dest, w.peer), from = w.source] {
                        copy(to, from, 8);
                        full_fence();
                      })}},
          .bytes = 8,
          .finish = [ctx] { shmem_ctx_destroy(ctx); }};
}

}  // namespace

std::vector<Test> management_tests() {
  constexpr const char *kHeap = "heap", *kTeams = "teams", *kContexts = "contexts";
  return {
      {"malloc-64", kHeap, Who::all, By::once, Space::one, "shmem_malloc of 64 B, shmem_free", malloc_small},
      {"malloc-1m", kHeap, Who::all, By::once, Space::one, "shmem_malloc of 1 MiB, shmem_free", malloc_large},
      {"team-split_strided", kTeams, Who::all, By::once, Space::one,
       "team_split_strided of the whole world, team_destroy", team_split},
      {"team-split_2d", kTeams, Who::all, By::once, Space::one, "team_split_2d in rows of 2, both teams destroyed",
       team_split_2d},
      {"ctx-create", kContexts, Who::pe0, By::once, Space::one, "ctx_create, ctx_destroy", contexts},
      {"ctx-put", kContexts, Who::pe0, By::once, Space::one, "ctx_putmem of 8 B, ctx_quiet", context_put},
  };
}

}  // namespace shoal::perf

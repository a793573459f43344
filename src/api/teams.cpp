// SPDX-License-Identifier: Apache-2.0
// Teams: OpenSHMEM 1.6, "Team Management Routines".
#include "api/define.hpp"
#include "base/error.hpp"
#include "team/watched.hpp"

namespace shoal {

Team* team_of(shmem_team_t team, const char* call) noexcept {
  Job& here = job(call);
  const auto handle = reinterpret_cast<std::uintptr_t>(team);
  if (handle == 0) return nullptr;
  if (handle == 1) return &here.world_team();
  if (handle == 2) return &here.shared_team();
  Team* found = here.teams().find(handle);
  if (found == nullptr)
    here.fatal(call,
               strf("the team %p is not valid: destroyed already, or of an earlier init", static_cast<void*>(team)));
  return found;
}

}  // namespace shoal

using namespace shoal;

namespace {

/// The number of contexts asked for, or -1 for a configuration that makes no sense.
int contexts_wanted(const shmem_team_config_t* config, long mask) noexcept {
  if ((mask & SHMEM_TEAM_NUM_CONTEXTS) == 0) return 0;
  return config == nullptr || config->num_contexts < 0 ? -1 : config->num_contexts;
}

void check_mask(const Job& here, long mask, const char* call) noexcept {
  if ((mask & ~SHMEM_TEAM_NUM_CONTEXTS) != 0)
    here.fatal(call,
               strf("config_mask %#lx has bits other than SHMEM_TEAM_NUM_CONTEXTS", static_cast<unsigned long>(mask)));
}

/// Hands a new team to the user: its handle, or SHMEM_TEAM_INVALID for none.
shmem_team_t publish(Job& here, std::unique_ptr<Team> team) {
  return team == nullptr ? SHMEM_TEAM_INVALID : reinterpret_cast<shmem_team_t>(here.teams().insert(std::move(team)));
}

/// Runs a split; an exception inside (no memory) ends the job, since the other members are past returning an error.
template <class Split>
int guarded(const Job& here, const char* call, Split&& split) noexcept {
  try {
    return split() ? 0 : -1;
  } catch (const std::exception& error) {
    here.fatal(call, error.what());
  }
}

}  // namespace

SHOAL_API(int, team_my_pe, (shmem_team_t team)) {
  const Team* members = team_of(team, "shmem_team_my_pe");
  return members == nullptr ? -1 : members->rank();
}

SHOAL_API(int, team_n_pes, (shmem_team_t team)) {
  const Team* members = team_of(team, "shmem_team_n_pes");
  return members == nullptr ? -1 : members->size();
}

SHOAL_API(int, team_get_config, (shmem_team_t team, long config_mask, shmem_team_config_t* config)) {
  constexpr const char* call = "shmem_team_get_config";
  const Team* members = team_of(team, call);
  if (members == nullptr) return -1;
  check_mask(job(call), config_mask, call);
  if ((config_mask & SHMEM_TEAM_NUM_CONTEXTS) != 0) {
    if (config == nullptr) return -1;
    config->num_contexts = members->num_contexts();
  }
  return 0;
}

SHOAL_API(int, team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team)) {
  constexpr const char* call = "shmem_team_translate_pe";
  const Team* from = team_of(src_team, call);
  const Team* to = team_of(dest_team, call);
  if (from == nullptr || to == nullptr || src_pe < 0 || src_pe >= from->size()) return -1;
  return to->rank_of(from->world_pe(src_pe));
}

SHOAL_API(int, team_split_strided,
          (shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t* config,
           long config_mask, shmem_team_t* new_team)) {
  constexpr const char* call = "shmem_team_split_strided";
  *new_team = SHMEM_TEAM_INVALID;
  Team* parent = team_of(parent_team, call);
  if (parent == nullptr) return -1;
  Job& here = job(call);
  check_mask(here, config_mask, call);
  const int contexts = contexts_wanted(config, config_mask);
  if (contexts < 0) return -1;
  const WatchedCollective watched(*parent, CallKind::collective, call,
                                  {.unit = "", .also = {", start %ld, stride %ld, size %ld", start, stride, size}});
  return guarded(here, call, [&] {
    bool ok = false;
    *new_team = publish(here, parent->split_strided(start, stride, size, contexts, call, ok));
    return ok;
  });
}

SHOAL_API(int, team_split_2d,
          (shmem_team_t parent_team, int xrange, const shmem_team_config_t* xaxis_config, long xaxis_mask,
           shmem_team_t* xaxis_team, const shmem_team_config_t* yaxis_config, long yaxis_mask,
           shmem_team_t* yaxis_team)) {
  constexpr const char* call = "shmem_team_split_2d";
  *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
  Team* parent = team_of(parent_team, call);
  if (parent == nullptr || xrange < 1) return -1;
  Job& here = job(call);
  check_mask(here, xaxis_mask, call);
  check_mask(here, yaxis_mask, call);
  const int x_contexts = contexts_wanted(xaxis_config, xaxis_mask);
  const int y_contexts = contexts_wanted(yaxis_config, yaxis_mask);
  if (x_contexts < 0 || y_contexts < 0) return -1;

  const WatchedCollective watched(*parent, CallKind::collective, call, {.unit = "", .also = {", xrange %ld", xrange}});
  const int n = parent->size();
  const int row = parent->rank() / xrange, column = parent->rank() % xrange;
  return guarded(here, call, [&] {
    std::vector<int> x_members, y_members;
    for (long member = static_cast<long>(row) * xrange; member < std::min<long>(n, (row + 1L) * xrange); ++member)
      x_members.push_back(parent->world_pe(static_cast<int>(member)));
    for (long member = column; member < n; member += xrange)
      y_members.push_back(parent->world_pe(static_cast<int>(member)));
    bool x_ok = false, y_ok = false;
    auto x = parent->split(std::move(x_members), x_contexts, call, x_ok);
    auto y = parent->split(std::move(y_members), y_contexts, call, y_ok);
    if (!x_ok || !y_ok) {
      // Nobody has used the first team yet, but a member may still be inside the split: meet before its slot is free
      // again.
      parent->sync(call);
      return false;
    }
    *xaxis_team = publish(here, std::move(x));
    *yaxis_team = publish(here, std::move(y));
    return true;
  });
}

SHOAL_API(void, team_destroy, (shmem_team_t team)) {
  constexpr const char* call = "shmem_team_destroy";
  Team* members = team_of(team, call);
  if (members == nullptr) return;
  Job& here = job(call);
  const auto handle = reinterpret_cast<std::uintptr_t>(team);
  if (handle <= 2) here.fatal(call, "SHMEM_TEAM_WORLD and SHMEM_TEAM_SHARED cannot be destroyed");
  here.contexts().erase_if([&](const UserContext& one) {
    if (one.team != handle) return false;
    const auto part = [&] {
      Call quiet = one.context.call_of(call, CallKind::quiet, -1, nullptr, nullptr, 0);
      quiet.part = true;
      return quiet;
    };
    shoal::watched(one.context, part, call, [&] { one.context.quiet(); });
    return true;
  });
  std::optional<WatchedCollective> watched(std::in_place, *members, CallKind::collective, call, Collective{.unit = ""});
  const auto is_of_team = [&](const TeamHeap& heap) { return &heap.team() == members; };
  if (here.heaps().find_if(is_of_team) != nullptr) world().quiet();  // puts to heaps that end here
  members->sync(call);                                               // nobody uses them any more
  here.heaps().erase_if([&](const TeamHeap& heap) {
    if (!is_of_team(heap)) return false;
    heap.heap().check_guards(world(), call);
    return true;
  });
  watched.reset();
  here.teams().erase(handle);
}

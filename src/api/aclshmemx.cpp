// SPDX-License-Identifier: Apache-2.0
// The accelerator-style interface on the host: init attributes, teams, heaps. Its collectives are in
// aclshmemx_collectives.cpp.
#include "api/aclshmemx.hpp"

#include <aclshmemx.h>
#include <shmemx.h>

#include <cstring>
#include <string>

#include "api/life.hpp"
#include "shoal/device/group.hpp"
#include "team/watched.hpp"

namespace shoal {

DeviceSpace::TeamObject& acl_team(aclshmemx_team_t team, const char* call) noexcept {
  Job& here = job(call);
  if (!here.device(call).has_object(team)) {
    constexpr const char* kWhy = "not valid: null, destroyed already, or of an earlier init";
    if (const device::CoreState* core = running_core())
      core->runtime->fail(*core, call, "team", device::Fault::text, nullptr, 0, -1,
                          strf("%p is %s", static_cast<void*>(team), kWhy).c_str());
    here.fatal(call, strf("the team %p is %s", static_cast<void*>(team), kWhy));
  }
  return *reinterpret_cast<DeviceSpace::TeamObject*>(team);
}

}  // namespace shoal

using namespace shoal;

#define SHOAL_API_ACL extern "C" __attribute__((visibility("default")))

namespace {

constexpr std::int32_t kOk = 0;

Team& members_of(aclshmemx_team_t team, const char* call) noexcept {
  return *team_of(static_cast<shmem_team_t>(acl_team(team, call).handle), call);
}

/// What members of a team do together. They tell each other, so that two different things never wait for each other.
enum class Meeting : std::uint32_t { sync, destroy, split, split_node };
constexpr const char* kMeetingNames[] = {"aclshmemx_team_sync", "aclshmemx_team_destroy", "aclshmemx_team_split",
                                         "aclshmemx_team_split_node"};

struct Announced {
  Meeting meeting;
  std::int32_t argument;
};

/// All members come, with the same call and argument; else the job ends with a line that names both.
void meet(Team& team, Announced mine, const char* call) noexcept {
  const WatchedCollective watched(team, CallKind::meeting, call);
  world().quiet();
  const auto other = team.find_other(mine, call);
  if (!other) return;
  const auto named = [](const Announced& a) {
    return a.meeting == Meeting::split ? strf("aclshmemx_team_split(..., %d, ...)", a.argument)
                                       : std::string(kMeetingNames[static_cast<std::size_t>(a.meeting)]);
  };
  world().fatal(call, strf("the members of a team must make the same call: PE %d calls %s, but PE %d calls %s",
                           world().domain().me, named(mine).c_str(), other->first, named(other->second).c_str()));
}

/// The members [first, first + size) of a team as one of its own; null where that fails, on all.
aclshmemx_team_t new_team(Job& here, Team& parent, std::vector<int> members, const char* call) {
  bool ok = false;
  std::unique_ptr<Team> made = parent.split(std::move(members), 0, call, ok);
  if (!ok || made == nullptr) return nullptr;
  Team& team = *made;
  auto* handle = reinterpret_cast<void*>(here.teams().insert(std::move(made)));
  return handle == nullptr ? nullptr : reinterpret_cast<aclshmemx_team_t>(here.device(call).add_object(team, handle));
}

}  // namespace

SHOAL_API_ACL int32_t aclshmemx_init_attr(const aclshmemx_init_attr_t* attr, int32_t flags, void* reserved) {
  constexpr const char* call = "aclshmemx_init_attr";
  Life& life = Life::instance();
  const aclshmemx_init_attr_t given = attr == nullptr ? aclshmemx_init_attr_t{} : *attr;
  if (flags != 0 || reserved != nullptr) return life.refuse_init(call, "flags must be 0 and reserved null");
  if (given.thread_mode < ACLSHMEMX_THREAD_SINGLE || given.thread_mode > ACLSHMEMX_THREAD_MULTIPLE)
    return life.refuse_init(
        call,
        strf("thread_mode %d is none of ACLSHMEMX_THREAD_SINGLE, FUNNELED, SERIALIZED, MULTIPLE", given.thread_mode));
  if (given.log_level < ACLSHMEMX_LOG_DEFAULT || given.log_level > ACLSHMEMX_LOG_DEBUG)
    return life.refuse_init(
        call, strf("log_level %d is none of ACLSHMEMX_LOG_DEFAULT, ERROR, WARNING, INFO, DEBUG", given.log_level));
  if (given.timeout_s < 0 || given.silence_s < 0)
    return life.refuse_init(
        call, strf("timeout_s %d, silence_s %d: expected seconds, or 0", given.timeout_s, given.silence_s));
  if (given.n_pes < 0 || (given.n_pes > 0 && (given.my_pe < 0 || given.my_pe >= given.n_pes)))
    return life.refuse_init(
        call, strf("my_pe %d of n_pes %d: expected a number of PEs, and of this PE from 0 on below it", given.my_pe,
                   given.n_pes));
  // A launcher knows better; but not when the program means another job.
  const int launched = launched_as(process_environment);
  const char* const told_pes = process_environment("SHOAL_NPES");
  const bool by_hand = given.n_pes > 0 && process_environment("SHOAL_STORE_FD") == nullptr;
  const int told = told_pes == nullptr ? 0 : std::atoi(told_pes);
  if (given.n_pes > 0 && !by_hand && (launched != given.my_pe || told != given.n_pes))
    return life.refuse_init(
        call, strf("my_pe %d of n_pes %d, but shoalrun started this process as PE %d of %d: leave n_pes 0 "
                   "under a launcher",
                   given.my_pe, given.n_pes, launched, told));
  Life::Settings values;
  static constexpr const char* kLevels[] = {"", "error", "warning", "info", "debug"};
  if (given.log_level != ACLSHMEMX_LOG_DEFAULT) values["SHOAL_LOG"] = kLevels[given.log_level];
  if (given.heap_size != 0) values["SHMEM_SYMMETRIC_SIZE"] = std::to_string(given.heap_size);
  if (given.profile) values["SHOAL_PROFILE"] = std::string("1");
  if (given.timeout_s != 0) values["SHOAL_RDZV_TIMEOUT"] = std::to_string(given.timeout_s);
  if (given.silence_s != 0) values["SHOAL_SILENCE"] = std::to_string(given.silence_s);
  if (given.ip_port != nullptr && by_hand) values["SHOAL_RDZV"] = given.ip_port;
  if (!given.tls_enabled) values["SHOAL_TLS"] = std::string("0");
  int provided = 0;
  const StartInfo start = by_hand ? StartInfo{.rank = given.my_pe, .size = given.n_pes} : StartInfo{};
  const int code = life.init(call, given.thread_mode, &provided, start, std::move(values));
  if (code == 0) job(call).device(call);  // collective, as init is: kernels may come at any time
  return code;
}

SHOAL_API_ACL int32_t aclshmemx_finalize(int32_t flags, void* reserved) {
  if (flags != 0 || reserved != nullptr) return refused("aclshmemx_finalize", "flags must be 0 and reserved null");
  Life::instance().finalize();
  return kOk;
}

SHOAL_API_ACL int32_t aclshmemx_set_conf_store_tls(bool enable, const char* info, uint32_t length) {
  constexpr const char* call = "aclshmemx_set_conf_store_tls";
  Life& life = Life::instance();
  if (life.initialized())
    return refused(call, "called after init: set it before, it cannot change while connections are open");
  life.set_default("SHOAL_TLS", enable ? "1" : "0");
  std::string text = info == nullptr ? "" : length == 0 ? info : std::string(info, strnlen(info, length));
  static constexpr const char* kFiles[][2] = {{"ca", "SHOAL_TLS_CA"},
                                              {"cert", "SHOAL_TLS_CERT"},
                                              {"key", "SHOAL_TLS_KEY"},
                                              {"password", "SHOAL_TLS_KEY_PASSWORD_FILE"}};
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    bool known = false;
    for (const auto& [name, option] : kFiles)
      if (equals != std::string::npos && part.compare(0, equals, name) == 0) {
        life.set_default(option, part.substr(equals + 1));
        known = true;
      }
    if (!known)
      return refused(
          call, strf("\"%s\" is not valid: expected ca=FILE, cert=FILE, key=FILE and password=FILE, separated by ';'",
                     part.c_str()));
    begin = end + 1;
  }
  return kOk;
}

SHOAL_API_ACL const char* aclshmemx_strerror(int32_t code) {
  switch (code) {
    case 0: return "success";
    case static_cast<int>(Code::invalid_argument): return "an argument cannot be served; the line on stderr says which";
    case static_cast<int>(Code::invalid_option): return "an option of the environment is not valid";
    case static_cast<int>(Code::out_of_memory):
      return "no room: a limit of memory, address space or descriptors, or of the heap";
    case static_cast<int>(Code::not_initialized): return "called before init or after finalize";
    case static_cast<int>(Code::launcher): return "nobody answers at the address of the launcher";
    case static_cast<int>(Code::peer): return "another PE failed or disagrees";
    case static_cast<int>(Code::system): return "a system call failed; the line on stderr says which";
    case static_cast<int>(Code::security):
      return "credentials cannot be used, or another side has none; the line on stderr says which";
    case static_cast<int>(Code::unsupported): return "this machine or build cannot do it";
    default: return "no code of this library";
  }
}

SHOAL_API_ACL int32_t aclshmemx_team_get_default(aclshmemx_team_t* team) {
  constexpr const char* call = "aclshmemx_team_get_default";
  Job& here = job(call);
  *team = reinterpret_cast<aclshmemx_team_t>(here.device(call).default_object());
  return kOk;
}

// In kernels as well: no call of these looks at more than the object.
SHOAL_API_ACL int32_t aclshmemx_team_size(aclshmemx_team_t team) {
  return acl_team(team, "aclshmemx_team_size").view.size;
}
SHOAL_API_ACL int32_t aclshmemx_team_global_rank(aclshmemx_team_t team) {
  return acl_team(team, "aclshmemx_team_global_rank").view.rank;
}

SHOAL_API_ACL int32_t aclshmemx_team_sync(aclshmemx_team_t team) {
  constexpr const char* call = "aclshmemx_team_sync";
  if (device::CoreState* core = running_core())
    device::Group(device::Core(core)).complete(acl_team(team, call).view, call);
  else
    meet(members_of(team, call), {Meeting::sync, 0}, call);
  return kOk;
}

SHOAL_API_ACL int32_t aclshmemx_team_split(aclshmemx_team_t team, int32_t group_size, aclshmemx_team_t* sub) {
  constexpr const char* call = "aclshmemx_team_split";
  *sub = nullptr;
  Team& parent = members_of(team, call);
  if (group_size < 1) return refused(call, strf("group_size %d must be at least 1", group_size));
  meet(parent, {Meeting::split, group_size}, call);
  std::vector<int> members;
  const int first = parent.rank() / group_size * group_size;
  for (int member = first; member < std::min(parent.size(), first + group_size); ++member)
    members.push_back(parent.world_pe(member));
  *sub = new_team(job(call), parent, std::move(members), call);
  return *sub != nullptr ? kOk : static_cast<int32_t>(Code::out_of_memory);
}

SHOAL_API_ACL int32_t aclshmemx_team_split_node(aclshmemx_team_t team, aclshmemx_team_t* sub) {
  constexpr const char* call = "aclshmemx_team_split_node";
  *sub = nullptr;
  Team& parent = members_of(team, call);
  meet(parent, {Meeting::split_node, 0}, call);
  Job& here = job(call);
  std::vector<int> members;
  for (int member = 0; member < parent.size(); ++member)
    if (here.shared_team().rank_of(parent.world_pe(member)) >= 0) members.push_back(parent.world_pe(member));
  *sub = new_team(here, parent, std::move(members), call);
  return *sub != nullptr ? kOk : static_cast<int32_t>(Code::out_of_memory);
}

SHOAL_API_ACL int32_t aclshmemx_team_destroy(aclshmemx_team_t team) {
  constexpr const char* call = "aclshmemx_team_destroy";
  if (team == nullptr) return kOk;
  DeviceSpace::TeamObject& object = acl_team(team, call);
  if (object.handle == SHMEM_TEAM_WORLD) return refused(call, "the default team cannot be destroyed");
  meet(members_of(team, call), {Meeting::destroy, 0}, call);
  shmem_team_destroy(static_cast<shmem_team_t>(object.handle));
  job(call).device(call).remove_object(&object);
  return kOk;
}

SHOAL_API_ACL int32_t aclshmemx_create_heap(const aclshmemx_heap_attr_t* attr, aclshmemx_heap_t* heap) {
  constexpr const char* call = "aclshmemx_create_heap";
  if (attr == nullptr || heap == nullptr) return refused(call, "attr and heap must not be null");
  *heap = nullptr;
  job(call);
  if (attr->mem_kind != ACLSHMEMX_MEM_HOST && attr->mem_kind != ACLSHMEMX_MEM_DEVICE)
    return refused(call, strf("mem_kind %d is neither ACLSHMEMX_MEM_HOST nor ACLSHMEMX_MEM_DEVICE", attr->mem_kind));
  if (attr->heap_size == 0) return refused(call, "heap_size is 0");
  if ((attr->alignment & (attr->alignment - 1)) != 0 || attr->alignment > (std::size_t{2} << 20))
    return refused(call, strf("alignment %zu is no power of two up to 2 MiB", attr->alignment));
  // On the cpu device all memory is device memory: the kind changes nothing.
  const auto team =
      attr->team == nullptr ? SHMEM_TEAM_WORLD : static_cast<shmem_team_t>(acl_team(attr->team, call).handle);
  const shmemx_heap_attr_t asked = {attr->heap_size, attr->alignment, team};
  shmemx_heap_t made = SHMEMX_HEAP_INVALID;
  if (shmemx_heap_create(&asked, &made) != 0)
    return refused(call, strf("no room for a heap of %zu bytes on each PE", attr->heap_size), Code::out_of_memory);
  *heap = reinterpret_cast<aclshmemx_heap_t>(made);
  return kOk;
}

SHOAL_API_ACL int32_t aclshmemx_malloc(aclshmemx_heap_t heap, size_t size, void** ptr) {
  constexpr const char* call = "aclshmemx_malloc";
  if (ptr == nullptr) return refused(call, "ptr must not be null");
  *ptr = nullptr;
  if (heap == nullptr) return refused(call, "the heap is null: make one by aclshmemx_create_heap");
  const auto from = reinterpret_cast<shmemx_heap_t>(heap);
  *ptr = shmemx_heap_malloc(from, size);
  if (*ptr != nullptr || size == 0) return kOk;
  return refused(call,
                 strf("no room for %zu bytes: %zu of the heap's %zu are taken", size, shmemx_heap_used(from),
                      shmemx_heap_size(from)),
                 Code::out_of_memory);
}

SHOAL_API_ACL int32_t aclshmemx_free(void* ptr) {
  constexpr const char* call = "aclshmemx_free";
  if (ptr == nullptr) return kOk;
  Job& here = job(call);
  if (TeamHeap* found = here.heaps().find_if([&](const TeamHeap& heap) { return heap.heap().holds(ptr); }))
    found->heap().free(found->team(), ptr, call);
  else
    here.heap().free(here.world_team(), ptr, call);  // or ends the job: it is in no heap
  return kOk;
}

SHOAL_API_ACL int32_t aclshmemx_destroy_heap(aclshmemx_heap_t heap, int32_t flags, void* reserved) {
  constexpr const char* call = "aclshmemx_destroy_heap";
  if (flags != 0 || reserved != nullptr) return refused(call, "flags must be 0 and reserved null");
  shmemx_heap_destroy(reinterpret_cast<shmemx_heap_t>(heap));
  return kOk;
}

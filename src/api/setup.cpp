// SPDX-License-Identifier: Apache-2.0
// Set-up, exit, queries: OpenSHMEM 1.6, "Library Setup, Exit, and Query Routines" and "Thread Support".
#include <cstring>

#include "api/define.hpp"
#include "api/life.hpp"
#include "base/error.hpp"

using namespace shoal;

SHOAL_API(void, init, (void)) { Life::instance().init_or_exit("shmem_init"); }
SHOAL_API(void, finalize, (void)) { Life::instance().finalize(); }
SHOAL_API_LEGACY(void, start_pes, (int)) {
  if (!Life::instance().initialized()) Life::instance().init_or_exit("start_pes");
}

SHOAL_API(int, init_thread, (int requested, int* provided)) {
  return Life::instance().init("shmem_init_thread", requested, provided);
}

SHOAL_API(void, query_thread, (int* provided)) {
  world().require("shmem_query_thread");
  *provided = Life::instance().thread_level();
}

SHOAL_API(void, query_initialized, (int* initialized)) { *initialized = Life::instance().initialized(); }

SHOAL_API(void, global_exit, (int status)) {
  // A process's status has eight bits: a failure must not become a success on the way.
  job("shmem_global_exit").global_exit(status != 0 && (status & 0xff) == 0 ? 1 : status);
}

SHOAL_API(int, my_pe, (void)) {
  world().require("shmem_my_pe");
  return world().domain().me;
}

SHOAL_API(int, n_pes, (void)) {
  world().require("shmem_n_pes");
  return world().n_pes();
}

SHOAL_API(int, pe_accessible, (int pe)) {
  world().require("shmem_pe_accessible");
  return pe >= 0 && pe < world().n_pes() ? 1 : 0;
}

namespace {

/// The segment in which `address` is symmetric and has a counterpart at a world PE, or null.
const Segment* shared_segment(const void* address, int pe, const char* call) noexcept {
  const Job& here = job(call);
  if (pe < 0 || pe >= here.n_pes()) return nullptr;
  const Segment* segment = here.segments().find(reinterpret_cast<std::uintptr_t>(address), 1);
  return segment == nullptr || !segment->members[static_cast<std::size_t>(pe)] ? nullptr : segment;
}

/// Where `address` of a world PE is mapped here, or null when it isn't symmetric, not reachable or on another node.
void* peer_address(const void* address, int pe, const char* call) noexcept {
  const Segment* segment = shared_segment(address, pe, call);
  if (segment == nullptr) return nullptr;
  char* peer = segment->peers[static_cast<std::size_t>(pe)];
  return peer == nullptr ? nullptr : peer + (reinterpret_cast<std::uintptr_t>(address) - segment->base);
}

}  // namespace

namespace {

/// The same for plain loads and stores. Under chaos there is none but one's own: they could not be delayed.
void* usable_address(const void* address, int pe, const char* call) noexcept {
  void* const there = peer_address(address, pe, call);
  return world().domain().chaos == nullptr || pe == world().domain().me ? there : nullptr;
}

}  // namespace

SHOAL_API(int, addr_accessible, (const void* addr, int pe)) {
  return shared_segment(addr, pe, "shmem_addr_accessible") != nullptr ? 1 : 0;
}

SHOAL_API(void*, ptr, (const void* dest, int pe)) { return usable_address(dest, pe, "shmem_ptr"); }

SHOAL_API(void*, team_ptr, (shmem_team_t team, const void* dest, int pe)) {
  const Team* members = team_of(team, "shmem_team_ptr");
  if (members == nullptr || pe < 0 || pe >= members->size()) return nullptr;
  return usable_address(dest, members->world_pe(pe), "shmem_team_ptr");
}

SHOAL_API(void, info_get_version, (int* major, int* minor)) {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}

SHOAL_API(void, info_get_name, (char* name)) {
  static_assert(sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN);
  std::strcpy(name, SHMEM_VENDOR_STRING);
}

SHOAL_API(void, pcontrol, (int, ...)) {}

SHOAL_API_LEGACY(int, _my_pe, (void)) { return pshmem_my_pe(); }
SHOAL_API_LEGACY(int, _num_pes, (void)) { return pshmem_n_pes(); }

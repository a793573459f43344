// SPDX-License-Identifier: Apache-2.0
// What shoal/device/device.hpp asks the library for.
#include <shmemx.h>

#include "api/aclshmemx.hpp"
#include "api/define.hpp"
#include "base/error.hpp"

using namespace shoal;

#define SHOAL_API_X extern "C" __attribute__((visibility("default")))

SHOAL_API_X void* shmemx_device_backend(int abi) {
  constexpr const char* call = "shmemx_device_backend";
  Job& here = job(call);
  if (abi != device::kAbi)
    here.fatal(
        call,
        strf("the program was compiled for version %d of the device interface, the library has %d: compile it anew",
             abi, device::kAbi));
  return static_cast<device::Backend*>(&here.device(call).backend());
}

SHOAL_API_X int shmemx_device_current(uint64_t number, const char* call) {
  if (current.job != nullptr && current.job->device_number() == number) return 1;
  if (call != nullptr)
    job(call).fatal(call, "it belongs to a job that has ended, by shmem_finalize: make it anew after each shmem_init");
  return 0;
}

SHOAL_API_X void shmemx_device_check_team(const void* team, const char* call) {
  acl_team(static_cast<aclshmemx_team_t>(const_cast<void*>(team)), call);
}

SHOAL_API_X void shmemx_device_team(shmem_team_t team, void* view) {
  constexpr const char* call = "shmemx_device_team";
  Job& here = job(call);
  const Team* members = team_of(team, call);
  if (members == nullptr) here.fatal(call, "the team is SHMEM_TEAM_INVALID: this PE is no member");
  *static_cast<device::TeamView*>(view) = here.device(call).view(*members);
}

SHOAL_API_X void* shmemx_device_malloc(size_t size) {
  constexpr const char* call = "shmemx_device_malloc";
  Job& here = job(call);
  return here.device(call).memory().heap().allocate(here.world_team(), size, 0, call);
}

SHOAL_API_X void shmemx_device_free(void* ptr) {
  constexpr const char* call = "shmemx_device_free";
  Job& here = job(call);
  here.device(call).memory().heap().free(here.world_team(), ptr, call);
}

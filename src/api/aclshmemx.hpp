// SPDX-License-Identifier: Apache-2.0
// What the files of the accelerator-style interface share.
#pragma once
#include <aclshmemx.h>

#include <string>

#include "api/life.hpp"
#include "base/error.hpp"
#include "job/device_space.hpp"

namespace shoal {

/// What a team's handle points to; ends the job for anything else.
DeviceSpace::TeamObject& acl_team(aclshmemx_team_t team, const char* call) noexcept;

}  // namespace shoal

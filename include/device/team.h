// SPDX-License-Identifier: Apache-2.0
/// \file
/// Teams and collectives inside kernels. aclshmemx_team_size, aclshmemx_team_global_rank, aclshmemx_team_sync and the collectives of
/// aclshmemx.h may be called there: by all cores of a launch, on all members of the team, with the same arguments.
#pragma once

#include <aclshmemx.h>
#include <shoal/device/kernel.hpp>

#ifndef __CUDACC__
/// A kernel is a function: shoal::launch runs it.
#ifndef __global__
#define __global__
#endif
#endif

/// What a team's handle points to.
struct aclshmemx_team_object {
  shoal::device::TeamView view;
  void *handle;  ///< the library's
};

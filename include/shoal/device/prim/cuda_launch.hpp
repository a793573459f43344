// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the host and the kernels of a GPU share. Not for users.
#pragma once

#include "../view.hpp"

namespace shoal::device {

/// What the blocks of a launch share, in device memory: meeting points, by the first block of those that meet.
struct CudaLaunch {
  struct Meeting {
    unsigned arrived, epoch;
  };
  Meeting meetings[kMostCores];
};

}  // namespace shoal::device

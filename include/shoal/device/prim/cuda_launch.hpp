// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the host and the kernels of a GPU share. Not for users.
#pragma once

#include "../transfer.hpp"

namespace shoal::device {

/// What a kernel that made a mistake leaves for its host, which says it: in host memory that the GPU writes.
struct CudaFault {
  int told = 0;  ///< 1 once all else is there
  int core = 0, pe = -1;
  Fault fault = Fault::text;
  const void* address = nullptr;
  unsigned long long bytes = 0, launch = 0;
  char call[48] = {}, argument[48] = {}, text[160] = {};
};

/// What the blocks of a launch share, in device memory. One a stream.
struct CudaLaunch {
  /// Meeting points, by the first block of those that meet.
  struct Meeting {
    unsigned arrived, epoch;
  };
  Meeting meetings[kMostCores];
  unsigned failed;   ///< 1: some thread describes its mistake; 2: it has
  CudaFault* fault;  ///< of the device
};

}  // namespace shoal::device

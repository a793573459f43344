// SPDX-License-Identifier: Apache-2.0
#define SHOAL_ISA isa_baseline
#include "coll/kernels_table.hpp"

namespace shoal {

static bool runs_here() noexcept { return true; }

extern const Kernels kBaselineKernels;
constinit const Kernels kBaselineKernels = SHOAL_ISA::make_kernels("baseline", runs_here);

}  // namespace shoal

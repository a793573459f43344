// SPDX-License-Identifier: Apache-2.0
#define SHOAL_ISA isa_avx2
#include "coll/kernels_table.hpp"

namespace shoal {

static bool runs_here() noexcept {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && SHOAL_ISA::has_f16c();
}

extern const Kernels kAvx2Kernels;
constinit const Kernels kAvx2Kernels = SHOAL_ISA::make_kernels("avx2", runs_here);

}  // namespace shoal

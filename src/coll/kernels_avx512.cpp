// SPDX-License-Identifier: Apache-2.0
#define SHOAL_ISA isa_avx512
#include "coll/kernels_table.hpp"

namespace shoal {

static bool runs_here() noexcept {
  return SHOAL_ISA::has_f16c() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

extern const Kernels kAvx512Kernels;
constinit const Kernels kAvx512Kernels = SHOAL_ISA::make_kernels("avx512", runs_here);

}  // namespace shoal

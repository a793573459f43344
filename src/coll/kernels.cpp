// SPDX-License-Identifier: Apache-2.0
#include "coll/kernels.hpp"

#include <cstring>
#include <string>

#include "base/error.hpp"
#include "base/fence.hpp"

namespace shoal {

extern const Kernels kBaselineKernels;
#ifdef SHOAL_X86_KERNELS
extern const Kernels kAvx2Kernels, kAvx512Kernels;
#endif

namespace {

// The best first.
constexpr const Kernels* kAll[] = {
#ifdef SHOAL_X86_KERNELS
    &kAvx512Kernels, &kAvx2Kernels,
#endif
    &kBaselineKernels};

}  // namespace

void stream_fence() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#else
  release_fence();
#endif
}

const Kernels& choose_kernels(const char* name) {
  std::string names = "auto";
  for (const Kernels* kernels : kAll) {
    if (!kernels->runs_here()) continue;
    if (std::strcmp(name, "auto") == 0 || std::strcmp(name, kernels->name) == 0) return *kernels;
    names += std::string(", ") + kernels->name;
  }
  throw Error(Code::invalid_option,
              strf("SHOAL_KERNELS=\"%s\" is not valid: on this processor, expected one of %s", name, names.c_str()));
}

}  // namespace shoal

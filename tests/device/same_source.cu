// SPDX-License-Identifier: Apache-2.0
// The kernels of same_source.hpp on a GPU. Without one, says so and is skipped.
#include <shoal/device/cuda.hpp>

#include <cstdio>

#include "same_source.hpp"
#include "same_source_checks.hpp"

int main() {
  if (!shoal::has_cuda()) {
    std::printf("skipped: no GPU\n");
    return 77;
  }
  shmem_init();
  {
    shoal::CudaDevice device(std::size_t{64} << 20);
    shoal::CudaStream stream(device);
    const auto allocate = [&](auto sample, std::size_t n) { return device.allocate<decltype(sample)>(n); };
    check_same_source(stream, device.team(), allocate);
  }
  shmem_finalize();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// The kernels of same_source.hpp on a GPU. Without one, says so and is skipped. With an argument: a mistake in a kernel is told.
#include <shoal/device/cuda.hpp>

#include <cstdio>

#include "same_source.hpp"
#include "same_source_checks.hpp"

namespace {

SHOAL_KERNEL void overruns(shoal::device::DeviceView view, float* data, float* beyond) {
  shoal::device::Core(view).put(beyond, data, 4, 0);
}

void check_mistake(const shoal::CudaStream& stream, float* data, std::size_t n) {
  std::string told;
  try {
    launch(overruns, 2, stream, data, data + n - 2);
    stream.synchronize();
  } catch (const std::runtime_error& error) {
    told = error.what();
  }
  std::printf("%s\n", told.c_str());
  for (const char* part : {"shoal: PE 0: kernel (anonymous namespace)::overruns, core ", ": put: dest: ", "(16 bytes, PE 0) runs past the end"})
    expect(told.find(part) != std::string::npos, part);
}

}  // namespace

int main(int argc, char**) {
  if (!shoal::has_cuda()) {
    std::printf("skipped: no GPU\n");
    return 77;
  }
  shmem_init();
  {
    constexpr std::size_t kHeapBytes = std::size_t{64} << 20;
    shoal::CudaDevice device(kHeapBytes);
    shoal::CudaStream stream(device);
    if (argc > 1) {  // after it there is nothing more to be had of the GPU
      check_mistake(stream, device.allocate<float>(kHeapBytes / sizeof(float)), kHeapBytes / sizeof(float));
      shmem_global_exit(0);
    }
    const auto allocate = [&](auto sample, std::size_t n) { return device.allocate<decltype(sample)>(n); };
    check_same_source(stream, device.team(), allocate);
    check_stream_operations<shoal::CudaEvent>(stream, device.team(), allocate);
  }
  shmem_finalize();
  return 0;
}

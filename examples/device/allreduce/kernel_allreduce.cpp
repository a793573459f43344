// SPDX-License-Identifier: Apache-2.0
// All-gather and all-reduce inside one kernel: the PEs agree on the largest value, then on the sum of what they scale by it.
#include <shoal/device/device.hpp>
#include <shoal/shoal.hpp>

#include <cmath>
#include <cstdio>

namespace device = shoal::device;

namespace {

constexpr std::size_t kCount = 10'000;

/// out = the sum over the PEs of x / (the largest |x| of all): one launch, two collectives, no host in between.
SHOAL_KERNEL void normalised_sum(device::DeviceView view, device::TeamView team, float* out, float* x, float* largest, float* gathered) {
  const device::Core core(view);
  const device::Group all(core);
  if (core.id() == 0) {
    float most = 0;
    for (std::size_t i = 0; i < kCount; ++i) most = std::max(most, std::abs(x[i]));
    *largest = most;
  }
  all.meet();
  device::all_gather(all, team, gathered, largest, 1);
  float most = 0;
  for (int pe = 0; pe < team.size; ++pe) most = std::max(most, gathered[pe]);
  const device::Slice mine = all.part(kCount, sizeof(float));
  for (std::size_t i = mine.begin; i < mine.end; ++i) x[i] /= most;
  device::all_reduce(all, team, out, x, kCount, device::Sum());
}

}  // namespace

int main() {
  return shoal::run([](shoal::Job& job) {
    const shoal::Device here;
    const shoal::Stream stream(here);
    float* x = here.allocate<float>(kCount);
    float* out = here.allocate<float>(kCount);
    float* largest = here.allocate<float>(1);
    float* gathered = here.allocate<float>(static_cast<std::size_t>(job.n_pes()));
    for (std::size_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(job.my_pe() + 1) * static_cast<float>(i % 9);
    shoal::launch(normalised_sum, 2, stream, here.team(), out, x, largest, gathered);
    stream.synchronize();
    int wrong = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const float expected = static_cast<float>((job.n_pes() + 1) * job.n_pes() / 2) * static_cast<float>(i % 9) / static_cast<float>(8 * job.n_pes());
      wrong += std::abs(out[i] - expected) > 1e-5f * (1 + expected) ? 1 : 0;
    }
    if (job.my_pe() == 0) std::printf("%zu sums over %d PEs, %d of them wrong\n", kCount, job.n_pes(), wrong);
    job.barrier();
    for (float* block : {gathered, largest, out, x}) here.free(block);
    return wrong == 0 ? 0 : 1;
  });
}

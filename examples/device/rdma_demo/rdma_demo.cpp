// SPDX-License-Identifier: Apache-2.0
// A kernel writes into the next PE's device memory, then reads from it, by each engine, and says how fast that went.
#include <shoal/device/device.hpp>
#include <shoal/shoal.hpp>

#include <chrono>
#include <cstdio>

namespace device = shoal::device;

namespace {

constexpr std::size_t kCount = 1 << 20;

SHOAL_KERNEL void exchange(device::DeviceView view, device::TeamView team, float* inbox, float* outbox, float* back, device::Engine engine) {
  const device::Core core(view);
  const device::Group all(core);
  const int next = (core.my_pe() + 1) % core.n_pes();
  all.put_nbi(inbox, outbox, kCount, next, engine);  // each core moves its part
  all.barrier(team);                                 // completes it, everywhere
  all.get_nbi(back, inbox, kCount, next, engine);
  core.quiet();
  all.barrier(team);
}

}  // namespace

int main() {
  return shoal::run([](shoal::Job& job) {
    const shoal::Device here;
    const shoal::Stream stream(here);
    float* inbox = here.allocate<float>(kCount);
    float* outbox = here.allocate<float>(kCount);
    float* back = here.allocate<float>(kCount);
    for (std::size_t i = 0; i < kCount; ++i) outbox[i] = static_cast<float>(job.my_pe()) + static_cast<float>(i % 1000);
    int wrong = 0;
    const auto left = static_cast<float>((job.my_pe() + job.n_pes() - 1) % job.n_pes());
    for (const auto& [engine, name] : {std::pair(device::Engine::mte, "mte"), std::pair(device::Engine::xdma, "xdma"), std::pair(device::Engine::rdma, "rdma")}) {
      shoal::launch(exchange, 2, stream, here.team(), inbox, outbox, back, engine);  // once for the caches and the pages
      stream.synchronize();
      const auto began = std::chrono::steady_clock::now();
      shoal::launch(exchange, 2, stream, here.team(), inbox, outbox, back, engine);
      stream.synchronize();
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      for (std::size_t i = 0; i < kCount; ++i)
        wrong += inbox[i] != left + static_cast<float>(i % 1000) || back[i] != outbox[i] ? 1 : 0;
      if (job.my_pe() == 0) std::printf("%-5s %6.2f GB/s each way\n", name, 2.0 * kCount * sizeof(float) / seconds / 1e9);
      job.barrier();
    }
    for (float* block : {back, outbox, inbox}) here.free(block);
    return wrong == 0 ? 0 : 1;
  });
}

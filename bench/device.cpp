// SPDX-License-Identifier: Apache-2.0
// What kernels cost on the cpu device, beside what the host's calls cost in the same run:
//   launch of 1, 2, 4 cores: with a wait for each, and many in a row
//   p, g, put, get, fetch_add, barrier in a kernel    against   the host's
//   xdma copies and computing at the same time        against   one after the other (needs a processor free)
// Run: shoalrun -n 2 device_basics      (overlap: -n 1, on a machine with two processors or more)
#include <shoal/device/device.hpp>
#include <shoal/shoal.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace device = shoal::device;
using device::Core;
using device::DeviceView;

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Figure {
  double median, low, high;
};
template <class Body>
Figure measure(int samples, Body&& body) {
  std::vector<double> times;
  for (int i = 0; i < samples; ++i) times.push_back(body());
  std::sort(times.begin(), times.end());
  const std::size_t n = times.size();
  return {times[n / 2], times[n / 4], times[n * 3 / 4]};
}

SHOAL_KERNEL void empty(DeviceView) {}

void launches(const shoal::Stream& stream, bool speaks) {
  constexpr int kMany = 1000;
  for (const int cores : {1, 2, 4}) {
    const Figure waited = measure(15, [&] {
      const double began = seconds();
      for (int i = 0; i < kMany; ++i) {
        shoal::launch(empty, cores, stream);
        stream.synchronize();
      }
      return (seconds() - began) / kMany * 1e6;
    });
    const Figure queued = measure(15, [&] {
      const double began = seconds();
      for (int i = 0; i < kMany; ++i) shoal::launch(empty, cores, stream);
      stream.synchronize();
      return (seconds() - began) / kMany * 1e6;
    });
    if (speaks)
      std::printf("launch of %d core%s   %8.2f us (%.2f to %.2f) waited for, %.2f us in a row\n", cores, cores == 1 ? " " : "s", waited.median, waited.low,
                  waited.high, queued.median);
  }
}

/// Runs `in_kernel(core)` and `on_host()` kMany times each, in turns.
template <class InKernel, class OnHost>
void against_host(const char* name, const shoal::Stream& stream, bool speaks, int many, InKernel in_kernel, OnHost on_host) {
  std::vector<double> kernel, host;
  for (int sample = 0; sample < 31; ++sample) {
    double took = 0;
    double* const at = &took;
    shoal::barrier();
    shoal::launch([=](const DeviceView& view) {
      const Core core(view);
      const double began = seconds();
      for (int i = 0; i < many; ++i) in_kernel(core);
      *at = seconds() - began;
    }, 1, stream);
    stream.synchronize();
    kernel.push_back(took / many * 1e9);
    shoal::barrier();
    const double began = seconds();
    for (int i = 0; i < many; ++i) on_host();
    host.push_back((seconds() - began) / many * 1e9);
  }
  std::sort(kernel.begin(), kernel.end());
  std::sort(host.begin(), host.end());
  const double k = kernel[kernel.size() / 2], h = host[host.size() / 2];
  if (speaks)
    std::printf("%-16s %10.1f ns in a kernel (%.1f to %.1f), %10.1f ns on the host: %.2f times\n", name, k, kernel[kernel.size() / 4],
                kernel[kernel.size() * 3 / 4], h, k / h);
}

void operations(const shoal::Device& here, const shoal::Stream& stream, bool speaks) {
  constexpr std::size_t kCount = 1 << 16;
  const int peer = (shmem_my_pe() + 1) % shmem_n_pes();
  const auto team = here.team();
  long* remote = here.allocate<long>(kCount);
  long* on_host = static_cast<long*>(shmem_malloc(kCount * sizeof(long)));
  long* source = static_cast<long*>(shmem_malloc(kCount * sizeof(long)));
  std::fill_n(remote, kCount, 1L), std::fill_n(on_host, kCount, 1L), std::fill_n(source, kCount, 2L);
  against_host("p", stream, speaks, 100'000, [=](const Core& core) { core.p(remote, 3L, peer); }, [=] { shmem_long_p(on_host, 3L, peer); });
  volatile long sink = 0;
  volatile long* const keep = &sink;
  against_host("g", stream, speaks, 100'000, [=](const Core& core) { *keep = core.g(remote, peer); }, [=] { *keep = shmem_long_g(on_host, peer); });
  against_host("fetch_add", stream, speaks, 100'000, [=](const Core& core) { core.fetch_add(remote + 1, 1L, peer); },
               [=] { shmem_long_atomic_fetch_add(on_host + 1, 1L, peer); });
  for (const std::size_t n : {std::size_t{1}, std::size_t{128}, std::size_t{8192}}) {
    char name[32];
    const int many = n > 1000 ? 200 : 20'000;
    std::snprintf(name, sizeof name, "put %zu bytes", n * sizeof(long));
    against_host(name, stream, speaks, many, [=](const Core& core) { core.put(remote, source, n, peer); }, [=] { shmem_long_put(on_host, source, n, peer); });
    std::snprintf(name, sizeof name, "get %zu bytes", n * sizeof(long));
    against_host(name, stream, speaks, many, [=](const Core& core) { core.get(source, remote, n, peer); }, [=] { shmem_long_get(source, on_host, n, peer); });
  }
  against_host("barrier", stream, speaks, 2000, [=](const Core& core) { core.barrier(team); }, [] { shmem_barrier_all(); });
  shoal::barrier();
  shmem_free(source);
  shmem_free(on_host);
  here.free(remote);
}

/// Copies by xdma beside a core that computes, against one after the other.
void overlap(const shoal::Device& here, const shoal::Stream& stream, bool speaks) {
  constexpr std::size_t kCount = 8 << 20;
  float* from = here.allocate<float>(kCount);
  float* to = here.allocate<float>(kCount);
  std::fill_n(from, kCount, 1.0f), std::fill_n(to, kCount, 0.0f);
  volatile float result = 0;
  volatile float* const kept = &result;
  const auto run = [&](bool copies, bool computes) {
    return measure(7, [&] {
      const double began = seconds();
      shoal::launch([=](const DeviceView& view) {
        const Core core(view);
        if (copies) core.put_nbi(to, from, kCount, core.my_pe(), device::Engine::xdma);
        if (computes) {
          float x = 1.0f;
          for (int i = 0; i < 4'000'000; ++i) x = x * 1.0000001f + 1e-9f;
          *kept = x;
        }
        core.quiet();
      }, 1, stream);
      stream.synchronize();
      return (seconds() - began) * 1e3;
    }).median;
  };
  const double copying = run(true, false), computing = run(false, true), both = run(true, true);
  if (speaks)
    std::printf("xdma copy of %zu MiB %.2f ms, computing %.2f ms, both together %.2f ms: %.2f of the sum, %.2f of the longer\n",
                kCount * sizeof(float) >> 20, copying, computing, both, both / (copying + computing), both / std::max(copying, computing));
  here.free(to);
  here.free(from);
}

}  // namespace

int main() {
  return shoal::run([](shoal::Job& job) {
    const shoal::Device here;
    const shoal::Stream stream(here);
    const bool speaks = job.my_pe() == 0;
    launches(stream, speaks);
    operations(here, stream, speaks);
    overlap(here, stream, speaks);
  });
}

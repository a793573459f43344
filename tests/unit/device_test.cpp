// SPDX-License-Identifier: Apache-2.0
// The cpu device with PEs as threads of one process: what kernels of several PEs and cores do to each other, where ThreadSanitizer
// sees it; and the parts below: names of functions, the copy engine's order and rate.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/clock.hpp"
#include "device/cpu/kernel_name.hpp"
#include "device/cpu/stream.hpp"
#include "shoal/device/kernel.hpp"
#include "thread_job.hpp"

namespace shoal::test {
namespace {

using device::Cmp;
using device::DeviceView;
using device::Engine;
using device::TeamView;
using KernelCore = device::Core;
using Cores = device::Group;

/// Runs `kernel(view)` on `cores` cores of this PE, and waits.
template <class Kernel>
void run_kernel(Job& job, device::StreamQueue* stream, int cores, Kernel kernel) {
  device::Launch launch;
  launch.run = [](void* self, const DeviceView& view) { (*static_cast<Kernel*>(self))(view); };
  launch.destroy = [](void*) noexcept {};
  launch.self = &kernel;
  launch.cores = cores;
  launch.name = "test";
  auto& backend = job.device("test").backend();
  backend.launch(stream, launch);
  backend.synchronize(stream);
}

void exchange(Job& job, int cores, int rounds) {
  auto& backend = job.device("test").backend();
  auto* stream = backend.open_stream();
  const TeamView team = job.device("test").view(job.world_team());
  constexpr std::size_t kBlock = 700;
  auto* data = allocate<long>(job, kBlock * static_cast<std::size_t>(cores));
  auto* source = allocate<long>(job, kBlock * static_cast<std::size_t>(cores));
  auto* signals = allocate<std::uint64_t>(job, static_cast<std::size_t>(cores));
  auto* sums = allocate<long>(job, 1000);
  for (int i = 0; i < cores; ++i) signals[i] = 0;
  barrier(job);
  run_kernel(job, stream, cores, [=](const DeviceView& view) {
    const KernelCore core(view);
    const Cores all(core);
    const int right = (core.my_pe() + 1) % core.n_pes(), left = (core.my_pe() + core.n_pes() - 1) % core.n_pes();
    long* mine = data + static_cast<std::size_t>(core.id()) * kBlock;
    long* out = source + static_cast<std::size_t>(core.id()) * kBlock;
    for (int round = 1; round <= rounds; ++round) {
      for (std::size_t i = 0; i < kBlock; ++i) out[i] = round * 1000 + core.my_pe();
      if (round % 3 == 0) {
        core.put_signal(mine, out, kBlock, signals + core.id(), 1, device::SignalOp::add, right);
      } else {
        core.put_nbi(mine, out, kBlock, right, round % 3 == 1 ? Engine::xdma : Engine::rdma);
        core.quiet();
        core.signal(signals + core.id(), 1, device::SignalOp::add, right);
      }
      core.wait_until(signals + core.id(), Cmp::ge, static_cast<std::uint64_t>(round));
      for (std::size_t i = 0; i < kBlock; ++i) EXPECT_EQ(mine[i], round * 1000 + left);
      all.barrier(team);
      for (std::size_t i = all.part(1000, 8).begin; i < all.part(1000, 8).end; ++i) sums[i] = core.my_pe() + round;
      device::all_reduce(all, team, sums, sums, 1000, device::Sum());
      const int n = core.n_pes();
      EXPECT_EQ(sums[core.id()], n * (n - 1) / 2 + n * round);
      all.barrier(team);
    }
  });
  backend.close_stream(stream);
  barrier(job);
}

TEST(Device, KernelsOfSeveralPesExchange) {
  for (const int pes : {1, 2, 3})
    for (const int cores : {1, 3}) run_job(pes, {}, [&](Job& job) { exchange(job, cores, 10); });
}

TEST(Device, TheyDoWhenEverythingIsLate) {
  run_job(3, {"SHOAL_DEVICE_DELAY=100"}, [&](Job& job) { exchange(job, 2, 10); });
}

TEST(Device, StreamsRunBesideEachOther) {
  run_job(2, {}, [&](Job& job) {
    auto& backend = job.device("test").backend();
    auto* word = allocate<std::uint64_t>(job, 1);
    *word = 0;
    barrier(job);
    std::thread waiting([&] {
      auto* stream = backend.open_stream();
      run_kernel(job, stream, 2, [=](const DeviceView& view) { KernelCore(view).wait_until(word, Cmp::eq, std::uint64_t{5}); });
      backend.close_stream(stream);
    });
    auto* stream = backend.open_stream();
    run_kernel(job, stream, 1, [=](const DeviceView& view) {
      const KernelCore core(view);
      core.signal(word, 5, device::SignalOp::set, (core.my_pe() + 1) % core.n_pes());
    });
    waiting.join();
    backend.close_stream(stream);
    barrier(job);
  });
}

TEST(Device, IsMadeOnceWhenThreadsAskForItAtATime) {
  run_job(2, {}, [&](Job& job) {
    std::atomic<int> here{0};
    DeviceSpace* seen[2] = {};
    const auto ask = [&](int number) {
      here.fetch_add(1);
      while (here.load() != 2) std::this_thread::yield();
      seen[number] = &job.device("test");
    };
    std::thread other(ask, 1);
    ask(0);
    other.join();
    EXPECT_EQ(seen[0], seen[1]);
    barrier(job);
  });
}

TEST(Device, AnEmulatedLinkTakesItsTime) {
  run_job(1, {"SHOAL_XDMA_RATE=10000000", "SHOAL_XDMA_LATENCY=2000000"}, [&](Job& job) {
    auto& backend = job.device("test").backend();
    auto* stream = backend.open_stream();
    auto* data = allocate<char>(job, 400'000);
    std::uint64_t issued = 0, took = 0;
    run_kernel(job, stream, 1, [&, data](const DeviceView& view) {
      const KernelCore core(view);
      const std::uint64_t began = now_ns();
      for (int i = 0; i < 4; ++i) core.put_nbi(data + i * 100'000, data, 50'000, 0, Engine::xdma);
      issued = now_ns() - began;
      core.quiet();
      took = now_ns() - began;
    });
    EXPECT_GE(took, 22'000'000u);  // 200,000 bytes at 10 MB/s one after the other, and the latency once
    EXPECT_LT(issued, took);
    backend.close_stream(stream);
  });
}

/// Counts what somebody waits for at another node.
class CountingTransport final : public Transport {
 public:
  explicit CountingTransport(Transport& real) : real_(real) {}
  std::atomic<int> flushes{0}, single_gets{0};

  const char* name() const noexcept override { return real_.name(); }
  std::string address() const override { return real_.address(); }
  void start(std::vector<std::string>) override {}
  void leaving() noexcept override {}
  void close() noexcept override {}
  void put(const Far& to, const void* from, std::size_t bytes) noexcept override { real_.put(to, from, bytes); }
  void get(const Far& from, void* to, std::size_t bytes, Tally& tally, bool gather) noexcept override {
    if (!gather) ++single_gets;
    real_.get(from, to, bytes, tally, gather);
  }
  void update(const Far& word, const AtomicCall& call) noexcept override { real_.update(word, call); }
  void raise(const Far& word, std::uint64_t value) noexcept override { real_.raise(word, value); }
  void fetch(const Far& word, const AtomicCall& call, void* old, Tally& tally, bool gather) noexcept override {
    real_.fetch(word, call, old, tally, gather);
  }
  void fence() noexcept override { real_.fence(); }
  void flush(Tally& tally) noexcept override {
    ++flushes;
    real_.flush(tally);
  }
  bool progress() noexcept override { return real_.progress(); }
  void rest() noexcept override { real_.rest(); }

 private:
  Transport& real_;
};

TEST(Device, ABatchToAnotherNodeIsWaitedForOnce) {
  run_job(2, {"SHOAL_FAKE_NODES=2", "SHOAL_TRANSPORT=tcp"}, [](Job& job) {
    constexpr int kBlocks = 20;
    long* target = allocate<long>(job, kBlocks * 10);
    CountingTransport transport(*job.world().domain().transport);
    Domain domain = job.world().domain();
    domain.transport = &transport;
    const Segment& heap = *job.segments().find(job.world().heap_base(), 1);
    const Context world(domain, heap, {2, nullptr, heap.peers.data()});
    DeviceSetup setup;
    setup.world = &world;
    setup.heap = setup.sync = &heap;
    const CpuRuntime runtime(setup);
    barrier(job);
    if (job.me() == 0) {
      CpuStream stream(runtime);
      std::vector<long> source(kBlocks * 10), back(kBlocks * 10);
      for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<long>(i) + 5;
      int put_flushes = 0, get_flushes = 0;
      auto kernel = [&](const DeviceView& view) {
        const KernelCore core(view);
        std::vector<device::Block> out, in;
        for (std::size_t i = 0; i < kBlocks; ++i) {
          out.push_back({target + i * 10, source.data() + i * 10, (i % 11) * sizeof(long)});  // some of no bytes
          in.push_back({back.data() + i * 10, target + i * 10, (i % 11) * sizeof(long)});
        }
        core.put_batch(out.data(), out.size(), 1);
        out.clear();  // a blocking put has let go of it, and of the data
        const std::vector<long> sent = std::exchange(source, std::vector<long>(kBlocks * 10));
        core.quiet();
        put_flushes = transport.flushes.exchange(0);
        core.get_batch(in.data(), in.size(), 1);
        get_flushes = transport.flushes.exchange(0);
        for (std::size_t i = 0; i < back.size(); ++i) EXPECT_EQ(back[i], i % 10 < i / 10 % 11 ? sent[i] : 0) << i;
      };
      device::Launch launch;
      launch.run = [](void* self, const DeviceView& view) { (*static_cast<decltype(kernel)*>(self))(view); };
      launch.destroy = [](void*) noexcept {};
      launch.self = &kernel;
      launch.name = "test";
      stream.launch(launch);
      stream.synchronize();
      EXPECT_EQ(put_flushes, 1);
      EXPECT_EQ(get_flushes, 1);
      EXPECT_EQ(transport.single_gets.load(), 0);
    }
    barrier(job);
  });
}

__attribute__((noinline)) void function_with_a_name() { asm volatile(""); }

TEST(KernelName, FindsFunctionsInSymbolTables) {
  char name[128];
  kernel_name(reinterpret_cast<const void*>(&function_with_a_name), name, sizeof name);
  EXPECT_STREQ(name, "shoal::test::(anonymous namespace)::function_with_a_name");
  int local = 0;
  kernel_name(&local, name, sizeof name);
  EXPECT_EQ(std::string(name).substr(0, 2), "0x");
}

TEST(KernelName, ReadsMangledNames) {
  const auto read = [](const char* mangled, std::size_t size = 64) {
    char out[64] = "untouched";
    readable_name(mangled, out, size);
    return std::string(out);
  };
  EXPECT_EQ(read("_Z4ringN5shoal6device10DeviceViewE"), "ring");
  EXPECT_EQ(read("_ZL4ringv"), "ring");
  EXPECT_EQ(read("_ZN12_GLOBAL__N_14ringEPf"), "(anonymous namespace)::ring");
  EXPECT_EQ(read("_ZN3one3two5threeIfEEvv"), "one::two::three");
  EXPECT_EQ(read("plain_c"), "plain_c");
  EXPECT_EQ(read("_Z"), "_Z");
  EXPECT_EQ(read("_Z9ring"), "_Z9ring");  // a length past the end
  EXPECT_EQ(read("_Z4ringv", 3), "ri");
  EXPECT_EQ(read("_Z4ringv", 1), "");
}

}  // namespace
}  // namespace shoal::test

// SPDX-License-Identifier: Apache-2.0
// Puts, gets, strides, batches, signals and waits inside kernels, by each engine, to device memory and to the default heap. Run with
// and without delays in the engines: what is right must be right however late the engines are.
#include "support.hpp"

using namespace device_test;
using device::Core;
using device::DeviceView;
using device::Engine;
using device::Group;
using device::SignalOp;
using device::TeamView;

namespace {

constexpr std::size_t kMost = 200'000;  // elements: beyond the size from which xdma is chosen

/// Whether some PE cannot be mapped here: then only the transports reach it, and no other engine may be asked for.
bool spans_nodes = false;
Engine by(Engine engine) { return spans_nodes ? Engine::automatic : engine; }

long value_of(int pe, int core, std::size_t i) { return pe * 1'000'000'000L + core * 10'000'000L + static_cast<long>(i); }

/// Each core puts a block to the right neighbour and reads it back from there.
SHOAL_KERNEL void put_and_get(DeviceView view, TeamView team, long* target, long* source, long* back, std::size_t each, Engine engine) {
  const Core core(view);
  const Group all(core);
  const int right = (core.my_pe() + 1) % core.n_pes();
  const std::size_t at = static_cast<std::size_t>(core.id()) * each;
  for (std::size_t i = 0; i < each; ++i) source[at + i] = value_of(core.my_pe(), core.id(), i);
  core.put(target + at, source + at, each, right, by(engine));
  for (std::size_t i = 0; i < each; ++i) source[at + i] = -1;  // a blocking put has let go of it
  all.barrier(team);
  const int left = (core.my_pe() + core.n_pes() - 1) % core.n_pes();
  for (std::size_t i = 0; i < each; ++i) CHECK_EQ(target[at + i], value_of(left, core.id(), i));
  core.get(back + at, target + at, each, right, by(engine));
  for (std::size_t i = 0; i < each; ++i) CHECK_EQ(back[at + i], value_of(core.my_pe(), core.id(), i));
  all.barrier(team);
}

SHOAL_KERNEL void non_blocking(DeviceView view, TeamView team, long* target, long* source, long* back, std::size_t each, Engine engine) {
  const Core core(view);
  const Group all(core);
  const int right = (core.my_pe() + 1) % core.n_pes();
  const std::size_t at = static_cast<std::size_t>(core.id()) * each;
  for (std::size_t i = 0; i < each; ++i) {
    source[at + i] = value_of(core.my_pe(), core.id(), i) + 1;
    back[at + i] = 0;
  }
  device::TransferEvent event;
  core.put_nbi(target + at, source + at, each / 2, right, by(engine), &event);
  core.put_nbi(target + at + each / 2, source + at + each / 2, each - each / 2, right, by(engine), &event);
  core.wait(event);
  all.barrier(team);
  core.get_nbi(back + at, target + at, each, right, by(engine));
  core.quiet();
  for (std::size_t i = 0; i < each; ++i) CHECK_EQ(back[at + i], value_of(core.my_pe(), core.id(), i) + 1);
  all.barrier(team);
}

SHOAL_KERNEL void single_elements(DeviceView view, TeamView team, double* target) {
  const Core core(view);
  const Group all(core);
  const int n = core.n_pes();
  const auto slot = [&](int pe, int id) { return target + pe * 64 + id; };
  for (int pe = 0; pe < n; ++pe) core.p(slot(core.my_pe(), core.id()), core.my_pe() + core.id() / 100.0, pe);
  all.barrier(team);
  for (int pe = 0; pe < n; ++pe)
    for (int from = 0; from < n; ++from) CHECK(core.g(slot(from, core.id()), pe) == from + core.id() / 100.0);
  all.barrier(team);
}

SHOAL_KERNEL void strides(DeviceView view, TeamView team, int* target, int* local) {
  const Core core(view);
  const Group all(core);
  const int right = (core.my_pe() + 1) % core.n_pes(), left = (core.my_pe() + core.n_pes() - 1) % core.n_pes();
  int* there = target + core.id() * 1000;
  int* here = local + core.id() * 1000;
  for (int i = 0; i < 1000; ++i) here[i] = core.my_pe() * 10000 + core.id() * 1000 + i, there[i] = -7;
  all.barrier(team);
  core.iput(there + 1, here, 3, 2, 100, right);
  all.barrier(team);
  for (int i = 0; i < 300; ++i) CHECK_EQ(there[i], i % 3 == 1 ? left * 10000 + core.id() * 1000 + (i / 3) * 2 : -7);
  for (int i = 0; i < 1000; ++i) here[i] = 0;
  core.iget(here, there + 1, 2, 3, 100, right);
  for (int i = 0; i < 200; ++i) CHECK_EQ(here[i], i % 2 == 0 ? core.my_pe() * 10000 + core.id() * 1000 + i : 0);
  // rows of 5 of a matrix of width 20
  for (int i = 0; i < 1000; ++i) here[i] = i;
  all.barrier(team);
  core.put_2d(there, here + 40, 20, 10, 5, 8, right);
  all.barrier(team);
  for (int row = 0; row < 8; ++row)
    for (int k = 0; k < 5; ++k) CHECK_EQ(there[row * 20 + k], 40 + row * 10 + k);
  core.get_2d(here, there, 5, 20, 5, 8, right);
  for (int i = 0; i < 40; ++i) CHECK_EQ(here[i], 40 + i / 5 * 10 + i % 5);
  all.barrier(team);
}

SHOAL_KERNEL void batches(DeviceView view, TeamView team, int* target, int* local) {
  const Core core(view);
  const Group all(core);
  const int right = (core.my_pe() + 1) % core.n_pes();
  int* there = target + core.id() * 1000;
  int* here = local + core.id() * 1000;
  for (int i = 0; i < 1000; ++i) here[i] = i * 3;
  device::Block blocks[10];
  for (int b = 0; b < 10; ++b) blocks[b] = {there + b * 100, here + (9 - b) * 100, static_cast<std::size_t>(b) * 40};
  core.put_batch(blocks, 10, right);
  all.barrier(team);
  for (int b = 0; b < 10; ++b)
    for (int i = 0; i < b * 10; ++i) CHECK_EQ(there[b * 100 + i], ((9 - b) * 100 + i) * 3);
  for (int b = 0; b < 10; ++b) blocks[b] = {here + b * 100, there + b * 100, static_cast<std::size_t>(b) * 40};
  core.get_batch(blocks, 10, right);
  for (int b = 0; b < 10; ++b)
    for (int i = 0; i < b * 10; ++i) CHECK_EQ(here[b * 100 + i], ((9 - b) * 100 + i) * 3);
  all.barrier(team);
}

/// A pipeline round the ring: each core waits for the signal, checks the data and passes them on.
SHOAL_KERNEL void signals(DeviceView view, long* data, long* staging, std::uint64_t* signal, int rounds, bool blocking) {
  const Core core(view);
  const int right = (core.my_pe() + 1) % core.n_pes();
  constexpr std::size_t kBlock = 3000;
  long* mine = data + static_cast<std::size_t>(core.id()) * kBlock;
  long* out = staging + static_cast<std::size_t>(core.id()) * kBlock;
  std::uint64_t* flag = signal + core.id();
  for (int round = 1; round <= rounds; ++round) {
    if (core.my_pe() != 0 || round > 1) {
      const int awaited = core.my_pe() == 0 ? round - 1 : round;
      core.wait_until(flag, device::Cmp::ge, static_cast<std::uint64_t>(awaited));
      for (std::size_t i = 0; i < kBlock; ++i) CHECK_EQ(mine[i], awaited * 10000L + static_cast<long>(i));
    }
    for (std::size_t i = 0; i < kBlock; ++i) out[i] = round * 10000L + static_cast<long>(i);
    if (blocking) {
      core.put_signal(mine, out, kBlock, flag, 1, SignalOp::add, right);
    } else {
      device::TransferEvent sent;
      core.put_signal_nbi(mine, out, kBlock, flag, static_cast<std::uint64_t>(round), SignalOp::set, right, by(Engine::xdma), &sent);
      core.wait(sent);  // the source is written again
    }
  }
  if (core.my_pe() == 0) core.wait_until(flag, device::Cmp::ge, static_cast<std::uint64_t>(rounds));
}

SHOAL_KERNEL void cooperative(DeviceView view, TeamView team, float* target, float* source, std::uint64_t* signal, std::size_t n) {
  const Core core(view);
  const Group all(core);
  const int right = (core.my_pe() + 1) % core.n_pes();
  const device::Slice part = all.part(n, sizeof(float));
  for (std::size_t i = part.begin; i < part.end; ++i) source[i] = static_cast<float>(core.my_pe()) + static_cast<float>(i % 1000);
  all.put_signal(target, source, n, signal, 1, SignalOp::add, right);
  core.wait_until(signal, device::Cmp::ge, std::uint64_t{1});
  const int left = (core.my_pe() + core.n_pes() - 1) % core.n_pes();
  for (std::size_t i = 0; i < n; ++i) CHECK(target[i] == static_cast<float>(left) + static_cast<float>(i % 1000));
  all.barrier(team);
  all.get(source, target, n, right);
  all.barrier(team);
  for (std::size_t i = 0; i < n; ++i) CHECK(source[i] == static_cast<float>(core.my_pe()) + static_cast<float>(i % 1000));
  all.put_nbi(target, source, n, core.my_pe());
  all.barrier(team);
  for (std::size_t i = 0; i < n; ++i) CHECK(target[i] == source[i]);
}

SHOAL_KERNEL void families(DeviceView view, TeamView team, int* target, int* source) {
  const Core core(view);
  const Group all(core);
  const int right = (core.my_pe() + 1) % core.n_pes(), left = (core.my_pe() + core.n_pes() - 1) % core.n_pes();
  int* there = target + core.id() * 10000;
  int* here = source + core.id() * 10000;
  device::Staging staging{core.scratch<char>(700), 700};  // no multiple of anything
  for (const Engine engine : {Engine::mte, Engine::xdma, Engine::rdma}) {
    device::TransferEvent event;
    for (int i = 0; i < 10000; ++i) here[i] = core.my_pe() * 100 + i + static_cast<int>(engine);
    device::gm2gm::put(core, there, here, 10000, right, staging, by(engine), event);
    core.wait(event);
    all.barrier(team);
    for (int i = 0; i < 10000; ++i) CHECK_EQ(there[i], left * 100 + i + static_cast<int>(engine));
    device::gm2gm::get(core, here, there, 10000, right, staging, by(engine), event);
    core.wait(event);
    for (int i = 0; i < 10000; ++i) CHECK_EQ(here[i], core.my_pe() * 100 + i + static_cast<int>(engine));
    all.barrier(team);
  }
  device::gm2gm::put(core, there + 5000, here, 5000, right);
  core.quiet();
  all.barrier(team);
  for (int i = 0; i < 5000; ++i) CHECK_EQ(there[5000 + i], left * 100 + i + static_cast<int>(Engine::rdma));

  int* unified = core.scratch<int>(2000);
  device::ub2gm::get(core, unified, there + 5000, 2000, right);
  core.quiet();
  for (int i = 0; i < 2000; ++i) CHECK_EQ(unified[i], core.my_pe() * 100 + i + static_cast<int>(Engine::rdma));
  all.barrier(team);
  for (int i = 0; i < 2000; ++i) unified[i] = -i;
  device::TransferEvent event;
  device::ub2gm::put(core, there, unified, 2000, right, by(Engine::xdma), &event);
  core.wait(event);
  all.barrier(team);
  for (int i = 0; i < 2000; ++i) CHECK_EQ(there[i], -i);
  all.barrier(team);
  device::ub2gm::put_2d(core, there, unified, 100, 10, 10, 20, right);
  all.barrier(team);
  for (int i = 0; i < 200; ++i) CHECK_EQ(there[i / 10 * 100 + i % 10], -i);
  device::ub2gm::get_2d(core, unified + 1000, there, 10, 100, 10, 20, right);
  for (int i = 0; i < 200; ++i) CHECK_EQ(unified[1000 + i], -i);
  all.barrier(team);
}

/// Rounds of random puts, each core to its own part of everyone's memory; a model on the host says what must be there.
SHOAL_KERNEL void random_puts(DeviceView view, TeamView team, int* target, int* source, unsigned seed) {
  const Core core(view);
  const Group all(core);
  std::mt19937 random(seed * 1000 + static_cast<unsigned>(core.my_pe() * 64 + core.id()));
  constexpr int kBlock = 500;
  int* mine = source + core.id() * kBlock;
  int* theirs = target + (core.my_pe() * 64 + core.id()) * kBlock;
  for (int i = 0; i < kBlock; ++i) mine[i] = static_cast<int>(random());
  core.fence();
  for (int pe = 0; pe < core.n_pes(); ++pe)
    for (int begin = 0; begin < kBlock;) {
      const int n = std::min<int>(kBlock - begin, 1 + static_cast<int>(random() % 90));
      switch (random() % 4) {
        case 0: core.put(theirs + begin, mine + begin, static_cast<std::size_t>(n), pe); break;
        case 1: core.put_nbi(theirs + begin, mine + begin, static_cast<std::size_t>(n), pe, by(Engine::xdma)); break;
        case 2: core.put_nbi(theirs + begin, mine + begin, static_cast<std::size_t>(n), pe, Engine::rdma); break;
        default:
          for (int i = 0; i < n; ++i) core.p(theirs + begin + i, mine[begin + i], pe);
      }
      begin += n;
    }
  all.barrier(team);
  for (int pe = 0; pe < core.n_pes(); ++pe) {
    std::mt19937 model(seed * 1000 + static_cast<unsigned>(pe * 64 + core.id()));
    for (int i = 0; i < kBlock; ++i) CHECK_EQ(target[(pe * 64 + core.id()) * kBlock + i], static_cast<int>(model()));
  }
  all.barrier(team);
}

}  // namespace

int main() {
  return shoal::run([](Job&) {
    const Device device;
    const Stream stream(device);
    const TeamView team = device.team();
    for (int pe = 0; pe < shmem_n_pes(); ++pe) spans_nodes = spans_nodes || shmem_ptr(&spans_nodes, pe) == nullptr;
    const unsigned first_seed = seed();
    Memory<long> a(device, kMost), b(device, kMost), c(device, kMost);
    long* host = static_cast<long*>(shmem_malloc(kMost * sizeof(long)));
    Memory<int> small(device, 2 * 64 * 16 * 500), local(device, 100'000);
    Memory<std::uint64_t> signal(device, 64);
    for (const int cores : kCores) {
      const std::size_t big = kMost / static_cast<std::size_t>(cores);
      for (const Engine engine : {Engine::automatic, Engine::mte, Engine::xdma, Engine::rdma})
        for (const std::size_t each : {std::size_t{1}, std::size_t{1000}, big}) {
          run_kernel(stream, put_and_get, cores, team, a.get(), b.get(), c.get(), each, engine);
          run_kernel(stream, non_blocking, cores, team, a.get(), b.get(), c.get(), each, engine);
          run_kernel(stream, put_and_get, cores, team, host, b.get(), c.get(), each, engine);  // device to remote host and back
        }
      run_kernel(stream, single_elements, cores, team, reinterpret_cast<double*>(a.get()));
      run_kernel(stream, strides, cores, team, small.get(), local.get());
      run_kernel(stream, batches, cores, team, small.get(), local.get());
      for (const bool blocking : {true, false}) {
        for (std::size_t i = 0; i < 64; ++i) signal[i] = 0;
        shmem_barrier_all();
        run_kernel(stream, signals, cores, a.get(), b.get(), signal.get(), 20, blocking);
      }
      for (std::size_t i = 0; i < 64; ++i) signal[i] = 0;
      shmem_barrier_all();
      run_kernel(stream, cooperative, cores, team, reinterpret_cast<float*>(a.get()), reinterpret_cast<float*>(b.get()), signal.get(), std::size_t{50'001});
      run_kernel(stream, families, cores, team, small.get(), local.get());
      for (unsigned round = 0; round < 5; ++round) run_kernel(stream, random_puts, cores, team, small.get(), local.get(), first_seed + round);
    }
    shmem_free(host);
  });
}

// SPDX-License-Identifier: Apache-2.0
// Each kernel forgets one thing: a quiet, a fence, a signal's wait. With late engines the result must be wrong within a number of
// rounds, and its twin that forgets nothing must be right in all of them: what the delays are for.
#include "support.hpp"

using namespace device_test;
using device::Core;
using device::DeviceView;
using device::Engine;
using device::TeamView;

namespace {

constexpr std::size_t kBlock = 512;
constexpr int kRounds = 400;

struct Buffers {
  long* target;
  long* source;
  std::uint64_t* signal;
  long* wrong;  ///< grows with each wrong round, at the PE that saw it
};

bool all_are(const long* data, long value) {
  for (std::size_t i = 0; i < kBlock; ++i)
    if (__atomic_load_n(data + i, __ATOMIC_RELAXED) != value) return false;
  return true;
}
void fill(long* data, long value) {
  for (std::size_t i = 0; i < kBlock; ++i) __atomic_store_n(data + i, value, __ATOMIC_RELAXED);
}
int right_of(const Core& core) { return (core.my_pe() + 1) % core.n_pes(); }

/// Puts, then meets: sync completes nothing, a barrier does.
SHOAL_KERNEL void quiet_before_sync(DeviceView view, TeamView team, Buffers b, long round, bool correct) {
  const Core core(view);
  fill(b.source, round);
  core.put_nbi(b.target, b.source, kBlock, right_of(core), Engine::xdma);
  if (correct) core.quiet();
  core.sync(team);
  if (!all_are(b.target, round)) ++*b.wrong;
  core.barrier(team);
}

/// Uses what a get has not brought yet.
SHOAL_KERNEL void quiet_before_use(DeviceView view, TeamView team, Buffers b, long round, bool correct) {
  const Core core(view);
  fill(b.source, round);
  core.barrier(team);
  core.get_nbi(b.target, b.source, kBlock, right_of(core), Engine::xdma);
  if (correct) core.quiet();
  if (!all_are(b.target, round)) ++*b.wrong;
  core.barrier(team);
}

/// Changes the source of a put that is under way, by the core's own copies as well.
SHOAL_KERNEL void quiet_before_reuse(DeviceView view, TeamView team, Buffers b, long round, bool correct) {
  const Core core(view);
  fill(b.source, round);
  core.put_nbi(b.target, b.source, kBlock, right_of(core), Engine::mte);
  if (correct) core.quiet();
  fill(b.source, -round);
  core.barrier(team);
  if (!all_are(b.target, round)) ++*b.wrong;
  core.barrier(team);
}

/// Tells of data that may come later: a put and a signal are not ordered.
SHOAL_KERNEL void fence_before_signal(DeviceView view, TeamView team, Buffers b, long round, bool correct) {
  const Core core(view);
  fill(b.source, round);
  core.put(b.target, b.source, kBlock, right_of(core));
  if (correct) core.fence();
  core.signal(b.signal, static_cast<std::uint64_t>(round), device::SignalOp::set, right_of(core));
  core.wait_until(b.signal, device::Cmp::ge, static_cast<std::uint64_t>(round));
  if (!all_are(b.target, round)) ++*b.wrong;
  core.barrier(team);
}

/// Reads without waiting for the signal.
SHOAL_KERNEL void wait_for_signal(DeviceView view, TeamView team, Buffers b, long round, bool correct) {
  const Core core(view);
  fill(b.source, round);
  core.put_signal(b.target, b.source, kBlock, b.signal, static_cast<std::uint64_t>(round), device::SignalOp::set, right_of(core));
  if (correct) core.wait_until(b.signal, device::Cmp::ge, static_cast<std::uint64_t>(round));
  if (!all_are(b.target, round)) ++*b.wrong;
  core.barrier(team);
}

/// Two transfers by xdma arrive in any order: the second overtakes the first.
SHOAL_KERNEL void fence_between_puts(DeviceView view, TeamView team, Buffers b, long round, bool correct) {
  const Core core(view);
  fill(b.source, -round);
  fill(b.source + kBlock, round);
  core.put_nbi(b.target, b.source, kBlock, right_of(core), Engine::xdma);
  if (correct) core.fence();
  core.put_nbi(b.target, b.source + kBlock, kBlock, right_of(core), Engine::xdma);
  core.barrier(team);
  if (!all_are(b.target, round)) ++*b.wrong;
  core.barrier(team);
}

using Kernel = void (*)(DeviceView, TeamView, Buffers, long, bool);

void both(const Stream& stream, const TeamView& team, const char* name, Kernel kernel) {
  Memory<long> target(stream.device(), kBlock), source(stream.device(), 2 * kBlock), wrong(stream.device(), 1), found(stream.device(), 1);
  Memory<std::uint64_t> signal(stream.device(), 1);
  const Buffers buffers{target.get(), source.get(), signal.get(), wrong.get()};
  long round = 0;
  for (int i = 0; i < kRounds; ++i) launch(kernel, 1, stream, team, buffers, ++round, true);
  stream.synchronize();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, found.get(), wrong.get(), 1);
  CHECK_EQ(found[0], 0L);
  for (int i = 0; i < kRounds && found[0] == 0; ++i) {
    launch(kernel, 1, stream, team, buffers, ++round, false);
    stream.synchronize();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, found.get(), wrong.get(), 1);
  }
  if (found[0] == 0) {
    std::fprintf(stderr, "PE %d: %s: the mistake stayed hidden for %d rounds\n", shmem_my_pe(), name, kRounds);
    shmem_global_exit(1);
  }
}

}  // namespace

int main() {
  return shoal::run([](Job&) {
    const Device device;
    const Stream stream(device);
    const TeamView team = device.team();
    both(stream, team, "quiet before sync", quiet_before_sync);
    both(stream, team, "quiet before use", quiet_before_use);
    both(stream, team, "quiet before reuse", quiet_before_reuse);
    both(stream, team, "fence before signal", fence_before_signal);
    both(stream, team, "wait for signal", wait_for_signal);
    both(stream, team, "fence between puts", fence_between_puts);
  });
}

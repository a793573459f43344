// SPDX-License-Identifier: Apache-2.0
// Kernels that both devices run: compiled by the C++ compiler for the processor, by nvcc for a GPU.
#pragma once
#include <shoal/device/kernel.hpp>

namespace same_source {

namespace device = shoal::device;

/// Each core puts a block to the right neighbour, with a signal, and waits for the left one's.
SHOAL_KERNEL void shift(device::DeviceView view, device::TeamView team, long long* target, long long* source, std::uint64_t* signals, int n) {
  const device::Core core(view);
  const device::Group all(core);
  const int right = (team.rank + 1) % team.size;
  const auto each = static_cast<std::size_t>(n);
  const std::size_t at = static_cast<std::size_t>(core.id()) * each;
  core.for_each(each, [&](std::size_t i) { source[at + i] = 1000LL * team.rank + 10 * core.id() + static_cast<long long>(i); });
  core.put_signal(target + at, source + at, each, signals + core.id(), 1, device::SignalOp::add, core.pe(team, right));
  core.wait_until(signals + core.id(), device::Cmp::ge, std::uint64_t{1});
  all.barrier(team);
}

template <class T>
SHOAL_KERNEL void reduce(device::DeviceView view, device::TeamView team, T* dest, T* source, int n) {
  device::all_reduce(device::Group(device::Core(view)), team, dest, source, static_cast<std::size_t>(n), device::Sum());
}

SHOAL_KERNEL void count(device::DeviceView view, device::TeamView team, int* counter, int rounds) {
  const device::Core core(view);
  const device::Group all(core);
  for (int i = 0; i < rounds; ++i) core.add(counter, 1, core.pe(team, i % team.size));
  all.barrier(team);
  core.sync(team);
}

SHOAL_KERNEL void move(device::DeviceView view, device::TeamView team, float* dest, float* source, float* strided, int n) {
  const device::Core core(view);
  const device::Group all(core);
  const auto each = static_cast<std::size_t>(n);
  device::all_gather(all, team, dest, source, each);
  device::all_to_all(all, team, dest, source, each / static_cast<std::size_t>(team.size));
  device::broadcast(all, team, strided, source, each, team.size - 1);
  all.barrier(team);
  float* scratch = core.scratch<float>(128);
  device::ub2gm::get(core, scratch, source, 64, core.pe(team, 0));
  core.quiet();
  device::TransferEvent event;
  device::gm2gm::put(core, strided + core.id() * 64, source, 32, core.my_pe(), {scratch + 64, 256}, device::Engine::mte, event);
  core.wait(event);
  core.iput(strided + core.id() * 64 + 32, scratch, 2, 1, 8, core.my_pe());
  all.barrier(team);
}

}  // namespace same_source

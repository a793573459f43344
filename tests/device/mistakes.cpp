// SPDX-License-Identifier: Apache-2.0
// One mistake in a kernel, chosen by the command line, made by the last PE on core 1 of 2: mistakes_test.py reads what is said.
#include "support.hpp"

#include <cstring>
#include <stdexcept>

using namespace device_test;
using device::Core;
using device::DeviceView;
using device::Engine;
using device::TeamView;

namespace {

struct Case {
  char name[64];
};

struct Memories {
  long* device;
  long* stack;
  TeamView team;
};

volatile int zero = 0;

SHOAL_KERNEL void faulty(DeviceView view, Case wanted, Memories m) {
  const Core core(view);
  const auto is = [&](const char* name) { return std::strcmp(wanted.name, name) == 0; };
  if (core.my_pe() != core.n_pes() - 1 || core.id() != 1) return;
  long* end = m.device + (std::size_t{1} << 30) / sizeof(long);
  if (is("pe_n")) core.p(m.device, 1L, core.n_pes());
  if (is("pe_minus")) core.get(m.stack, m.device, 1, -1);
  if (is("pe_atomic")) core.add(m.device, 1L, 99);
  if (is("foreign_dest")) core.put(m.stack, m.device, 4, 0);
  if (is("foreign_source")) core.g(m.stack, 0);
  if (is("foreign_null")) core.p(static_cast<long*>(nullptr), 1L, 0);
  if (is("overrun_dest")) core.put(end - 2, m.device, 4, 0);
  if (is("overrun_source")) core.put(m.device, end - 2, 4, 0);
  if (is("overrun_get")) core.get(end - 2, m.device, 4, 0);
  if (is("overrun_huge")) core.put_nbi(m.device, m.device, SIZE_MAX / 16, 0);
  if (is("overrun_scratch")) core.put(m.device, core.scratch<long>(8), 1 << 16, 0);
  if (is("misaligned")) core.add(reinterpret_cast<long*>(reinterpret_cast<char*>(m.device) + 4), 1L, 0);
  if (is("misaligned_wait")) core.wait_until(reinterpret_cast<int*>(reinterpret_cast<char*>(m.device) + 2), device::Cmp::eq, 1);
  if (is("wait_private")) core.wait_until(m.stack, device::Cmp::eq, 1L);
  if (is("stride")) core.iput(m.device, m.device + 100, 0, 1, 4, 0);
  if (is("strided_overrun")) core.iput(end - 10, m.device, 4, 1, 4, 0);
  if (is("scratch")) core.scratch<double>(100'000);
  if (is("staging")) {
    device::TransferEvent event;
    device::gm2gm::put(core, m.device, m.device + 10, 5, 0, {m.stack, 8}, Engine::mte, event);
  }
  if (is("not_scratch")) device::ub2gm::put(core, m.device, m.device + 10, 5, 0);
  if (is("group")) device::Group(core, 1, 2);
  if (is("team_rank")) core.pe(m.team, 7);
  if (is("throws")) throw std::runtime_error("no more apples");
  if (is("throws_int")) throw 42;
  if (is("segv")) *reinterpret_cast<volatile int*>(std::uintptr_t{16} + static_cast<unsigned>(zero)) = 1;
  if (is("fpe")) zero = 12345 / zero;
  if (is("abort")) std::abort();
}

/// Only one PE comes to the team's meeting.
SHOAL_KERNEL void lonely(DeviceView view, TeamView team) {
  const Core core(view);
  if (core.my_pe() == core.n_pes() - 1) core.barrier(team);
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  {
    const Device device;
    Case wanted{};
    std::strncpy(wanted.name, argc > 1 ? argv[1] : "", sizeof wanted.name - 1);
    long stack[8] = {};
    const Memories memories{device.allocate<long>(1000), stack, device.team()};
    const Stream stream(device);
    if (std::strcmp(wanted.name, "cores") == 0) launch(faulty, 65, stream, wanted, memories);
    if (std::strcmp(wanted.name, "launch_scratch") == 0) launch({std::size_t{1} << 40}, faulty, 1, stream, wanted, memories);
    if (std::strcmp(wanted.name, "lambda") == 0) launch([=](const DeviceView& view) { Core(view).p(memories.device, 1L, -5); }, 1, stream);
    if (std::strcmp(wanted.name, "named") == 0)
      launch({0, "my operator"}, [=](const DeviceView& view) { Core(view).p(memories.device, 1L, -5); }, 1, stream);
    if (std::strcmp(wanted.name, "lonely") == 0)
      launch(lonely, 2, stream, memories.team);
    else
      launch(faulty, 2, stream, wanted, memories);
    stream.synchronize();
  }
  shmem_finalize();
  return 0;
}

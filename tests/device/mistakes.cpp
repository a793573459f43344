// SPDX-License-Identifier: Apache-2.0
// One mistake in a kernel, chosen by the command line, made by the last PE on core 1 of 2: mistakes_test.py reads what is said.
#include <device/gm2gm.h>

#include "support.hpp"

#include <cstring>
#include <stdexcept>
#include <thread>

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
  long* heap;      // the default one
  long* part;      // of a heap that PE 0 is no member of; null in PE 0
  TeamView team;
  aclshmemx_team_t destroyed;
  const Stream* stream;
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
  if (is("past_block")) core.put(m.device + 998, m.device, 4, 0);
  if (is("past_block_local")) core.get(m.device + 998, m.heap, 4, 0);
  if (is("overrun_source")) core.put(m.device, end - 2, 4, 0);
  if (is("overrun_get")) core.get(end - 2, m.device, 4, 0);
  if (is("overrun_huge")) core.put_nbi(m.device, m.device, SIZE_MAX / 16, 0);
  if (is("overrun_local")) core.get(end - 2, m.heap, 4, 0);  // nothing was done to device memory before
  if (is("wraps")) core.put(m.device, m.device, SIZE_MAX / sizeof(long) + 5, 0);  // 32 bytes, when it wraps
  if (is("stride_wraps")) core.iput(m.device, m.device, std::ptrdiff_t{1} << 61, 1, 4, 0);
  if (is("rows_wrap")) core.put_2d(m.device, m.device, 1, 1, SIZE_MAX / sizeof(long) + 5, 1, 0);
  if (is("scratch_wraps")) device::ub2gm::put(core, m.device, core.scratch<long>(8), SIZE_MAX / sizeof(long) + 5, 0);
  if (is("not_member")) core.put(m.part, m.device, 4, 0);
  if (is("left_out")) device::Group(core).barrier(m.team);  // core 0 has returned
  if (is("waits_for_itself")) m.stream->synchronize();
  if (is("team_null")) aclshmemx_gm2gm_put(nullptr, m.device, m.stack, 8, 0);
  if (is("team_destroyed")) aclshmemx_gm2gm_put(m.destroyed, m.device, m.stack, 8, 0);
  if (is("event_null")) aclshmemx_gm2gm_get(m.stack, m.device, 8, 0, core.scratch<long>(8), 64, Engine::mte, nullptr);
  if (is("overrun_scratch")) core.put(m.device, core.scratch<long>(8), 1 << 16, 0);
  if (is("overrun_scratch_later")) {
    long mine = 0;  // between the same segments, perhaps
    core.put(m.device, &mine, 1, 0);
    core.put(m.device, core.scratch<long>(8), 1 << 16, 0);
  }
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

/// Meets in several rounds; the last PE has a core more than the others.
SHOAL_KERNEL void uneven(DeviceView view, TeamView team) {
  const Core core(view);
  for (int i = 0; i < 3; ++i) core.barrier(team);
}

/// The last PE's group has other cores than those of the others, and starts at another one; who is in none has ended.
SHOAL_KERNEL void shifted(DeviceView view, TeamView team, int first, int count) {
  const Core core(view);
  if (core.id() >= first && core.id() < first + count) device::Group(core, first, count).barrier(team);
}

/// One PE takes the sum to memory of its own.
SHOAL_KERNEL void mixed(DeviceView view, Memories m) {
  const Core core(view);
  device::all_reduce(device::Group(core), m.team, core.my_pe() == core.n_pes() - 1 ? m.stack : m.device, m.device + 8, 4, device::Sum());
}

/// Uses up the stack.
int deep(volatile int* from, int levels) {
  volatile int here[1000] = {*from};
  return levels == 0 ? 0 : deep(here, levels - 1) + here[1];
}
SHOAL_KERNEL void bottomless(DeviceView view) {
  const Core core(view);
  if (core.my_pe() == core.n_pes() - 1 && core.id() == 0) deep(&zero, 1 << 30);
}

/// What a stream is given that is no faulty kernel; then it is waited for. @return whether there was such a case
bool other_mistake(const std::string& name, const Stream& stream, const Memories& m) {
  const bool last = shmem_my_pe() == shmem_n_pes() - 1;
  if (name == "mixed") {
    launch(mixed, 2, stream, m);
  } else if (name == "uneven") {
    launch(uneven, 2, stream, m.team);  // these agree
    launch(uneven, last ? 3 : 2, stream, m.team);
    stream.synchronize();
    while (true) std::this_thread::yield();  // no end of the job tells
  } else if (name == "shifted" || name == "shifted_apart" || name == "shifted_within") {
    const int others = name == "shifted_apart" ? 1 : name == "shifted" ? 2 : 3;  // from core 0 on
    const int count = name == "shifted" ? 2 : 1;                                 // the last PE's, from core 1 on
    launch(shifted, 3, stream, m.team, last ? 1 : 0, last ? count : others);
    stream.synchronize();
    while (true) std::this_thread::yield();  // no end of the job tells
  } else if (name == "overflow") {
    launch(bottomless, 2, stream);
  } else if (name == "overflow_on_stream") {
    launch(bottomless, 2, stream);
    while (!stream.idle()) std::this_thread::yield();
  } else if (name == "two_meet") {
    const Stream other;
    if (last) {
      launch(lonely, 1, stream, m.team);
      launch(lonely, 1, other, m.team);
      other.synchronize();
    }
    shmem_barrier_all();  // the others stay
  } else if (name == "call_throws") {
    if (last) stream.call([] { throw std::runtime_error("no more pears"); });
  } else if (name == "call_waits") {
    if (last) stream.call([&stream] { stream.synchronize(); });
  } else {
    return false;
  }
  stream.synchronize();
  return true;
}

/// A stream of an earlier job.
void use_after_finalize() {
  shmem_init();
  const Stream stream;
  shmem_finalize();
  shmem_init();
  const Device now;
  if (shmem_my_pe() == shmem_n_pes() - 1) stream.synchronize();
  shmem_finalize();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "stale") == 0) {
    use_after_finalize();
    return 0;
  }
  shmem_init();
  {
    const Device device;
    Case wanted{};
    std::strncpy(wanted.name, argc > 1 ? argv[1] : "", sizeof wanted.name - 1);
    long stack[8] = {};
    shmem_team_t part = SHMEM_TEAM_INVALID;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, shmem_n_pes() - 1, nullptr, 0, &part);
    shmemx_heap_t heap_of_part = SHMEMX_HEAP_INVALID;
    long* in_part = nullptr;
    if (part != SHMEM_TEAM_INVALID) {
      const shmemx_heap_attr_t attributes{1 << 20, 0, part};
      shmemx_heap_create(&attributes, &heap_of_part);
      in_part = static_cast<long*>(shmemx_heap_malloc(heap_of_part, 64));
    }
    aclshmemx_team_t world = nullptr, destroyed = nullptr;
    aclshmemx_team_get_default(&world);
    aclshmemx_team_split(world, 1, &destroyed);
    aclshmemx_team_t gone = destroyed;
    aclshmemx_team_destroy(destroyed);
    const Stream stream(device);
    const Memories memories{device.allocate<long>(1000), stack, static_cast<long*>(shmem_malloc(64)), in_part, device.team(), gone, &stream};
    if (std::strcmp(wanted.name, "cores") == 0) launch(faulty, 65, stream, wanted, memories);
    if (std::strcmp(wanted.name, "launch_scratch") == 0) launch({std::size_t{1} << 40}, faulty, 1, stream, wanted, memories);
    if (std::strcmp(wanted.name, "lambda") == 0) launch([=](const DeviceView& view) { Core(view).p(memories.device, 1L, -5); }, 1, stream);
    if (std::strcmp(wanted.name, "named") == 0)
      launch({0, "my operator"}, [=](const DeviceView& view) { Core(view).p(memories.device, 1L, -5); }, 1, stream);
    if (std::strcmp(wanted.name, "lonely") == 0)
      launch(lonely, 2, stream, memories.team);
    else if (!other_mistake(wanted.name, stream, memories))
      launch(faulty, 2, stream, wanted, memories);
    stream.synchronize();
    if (part != SHMEM_TEAM_INVALID) shmemx_heap_destroy(heap_of_part);
  }
  shmem_finalize();
  return 0;
}

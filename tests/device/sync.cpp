// SPDX-License-Identifier: Apache-2.0
// Atomics, teams, meetings and waiting inside kernels, and how kernels, streams and events follow one another.
#include "support.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace device_test;
using device::Cmp;
using device::Core;
using device::DeviceView;
using device::Group;
using device::TeamView;

namespace {

template <class T>
SHOAL_KERNEL void atomics(DeviceView view, TeamView team, T* words) {
  const Core core(view);
  const Group all(core);
  const int n = core.n_pes();
  for (int i = 0; i < 200; ++i) {
    core.add(words, T{1}, i % n);
    core.fetch_add(words + 1, T{2}, (i + 1) % n);
  }
  T seen = core.fetch(words + 2, 0);
  for (int i = 0; i < 50; ++i)
    for (T before; (before = core.compare_swap(words + 2, seen, static_cast<T>(seen + 3), 0)) != seen;) seen = before;
  all.barrier(team);
  long sum = 0, twos = 0;
  for (int pe = 0; pe < n; ++pe) sum += static_cast<long>(core.fetch(words, pe)), twos += static_cast<long>(core.fetch(words + 1, pe));
  const long makers = static_cast<long>(n) * core.count();
  CHECK_EQ(sum, 200 * makers);
  CHECK_EQ(twos, 400 * makers);
  CHECK_EQ(static_cast<long>(core.fetch(words + 2, 0)), 150 * makers);
  all.barrier(team);
  core.fetch_or(words + 3, static_cast<T>(T{1} << (core.id() % 16)), (core.my_pe() + 1) % n);
  all.barrier(team);
  CHECK_EQ(static_cast<long>(core.g(words + 3, core.my_pe())), (1L << std::min(16, core.count())) - 1);
  all.barrier(team);
  core.fetch_xor(words + 3, static_cast<T>(T{1} << core.id()), core.my_pe());
  all.barrier(team);
  CHECK_EQ(static_cast<long>(core.g(words + 3, core.my_pe())), 0L);
  all.barrier(team);
  core.set(words + 4 + core.id(), static_cast<T>(core.id() + 7), core.my_pe());
  CHECK_EQ(static_cast<long>(core.swap(words + 4 + core.id(), T{0}, core.my_pe())), core.id() + 7L);
  core.fetch_and(words + 4 + core.id(), T{0}, core.my_pe());
  all.barrier(team);
}

SHOAL_KERNEL void float_atomics(DeviceView view, TeamView team, double* sum) {
  const Core core(view);
  const Group all(core);
  for (int i = 0; i < 100; ++i) core.add(sum, 0.5, 0);
  all.barrier(team);
  CHECK(core.g(sum, 0) == 50.0 * core.n_pes() * core.count());
  all.barrier(team);
}

/// A counter a PE: nobody is ever more than one barrier ahead.
SHOAL_KERNEL void barriers(DeviceView view, TeamView team, long* counters, int rounds) {
  const Core core(view);
  const Group all(core);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < team.size; ++i) core.add(counters, 1L, core.pe(team, i));
    all.barrier(team);
    CHECK_EQ(core.g(counters, core.my_pe()), static_cast<long>(round + 1) * team.size * core.count());
    all.sync(team);
  }
}

/// Cores of the same number meet without the others.
SHOAL_KERNEL void core_barriers(DeviceView view, TeamView team, long* counters) {
  const Core core(view);
  for (int round = 1; round <= 20 + core.id(); ++round) {
    for (int i = 0; i < team.size; ++i) core.add(counters + core.id(), 1L, core.pe(team, i));
    core.barrier(team);
    CHECK_EQ(core.g(counters + core.id(), core.my_pe()), static_cast<long>(round) * team.size);
    core.barrier(team);
  }
}

SHOAL_KERNEL void halves(DeviceView view, long* counters) {
  const Core core(view);
  const int half = core.count() / 2;
  if (half == 0) return;
  const bool upper = core.id() >= half;
  const Group group(core, upper ? half : 0, upper ? core.count() - half : half);
  for (long round = 1; round <= 100; ++round) {
    core.add(counters + (upper ? 1 : 0), 1L, core.my_pe());
    group.meet();
    CHECK_EQ(core.g(counters + (upper ? 1 : 0), core.my_pe()), round * group.size());
    group.meet();
  }
}

/// What one PE does as one group, the next does as two, one of which comes late: odd, but each meeting starts at the same core.
SHOAL_KERNEL void regrouped(DeviceView view, TeamView team) {
  const Core core(view);
  const Group all(core), apart = core.id() == 0 ? Group(core, 0, 1) : Group(core, 1, core.count() - 1);
  for (int round = 0; round < 3; ++round) {
    if (core.my_pe() % 2 == 0) {
      all.barrier(team);
    } else if (core.id() == 0) {
      for (int i = 0; i < 20'000; ++i) std::this_thread::yield();  // the others look for what may be wrong
      apart.barrier(team);
    }
    if (core.id() != 0) apart.barrier(team);
  }
}

SHOAL_KERNEL void pairs(DeviceView view, long* slots, int rounds) {
  const Core core(view);
  if (core.id() != 0) return;
  for (int round = 0; round < rounds; ++round)
    for (int distance = 0; distance < core.n_pes(); ++distance) {
      // Everyone meets everyone: in the order of the sum of both numbers, so that nobody waits in a circle.
      for (int pe = 0; pe < core.n_pes(); ++pe) {
        if ((pe + core.my_pe()) % core.n_pes() != distance) continue;
        core.p(slots + core.my_pe(), static_cast<long>(round * 100 + distance), pe);
        core.sync_pe(pe);
        CHECK_EQ(slots[pe], static_cast<long>(round * 100 + distance));
        core.sync_pe(pe);
      }
    }
}

/// Every core waits for the next: with fewer processors than cores this ends only if waiting gives the processor away.
SHOAL_KERNEL void baton(DeviceView view, std::uint64_t* word, int rounds) {
  const Core core(view);
  for (int round = 0; round < rounds; ++round) {
    const auto turn = static_cast<std::uint64_t>(round * core.count() + core.id());
    core.wait_until(word, Cmp::eq, turn);
    core.signal(word, turn + 1, device::SignalOp::set, core.my_pe());
  }
}

SHOAL_KERNEL void wait_and_answer(DeviceView view, std::uint64_t* question, std::uint64_t* answer) {
  const Core core(view);
  const auto asked = core.wait_until(question, Cmp::gt, std::uint64_t{0});
  core.signal(answer, asked + 1, device::SignalOp::set, core.my_pe());
}

SHOAL_KERNEL void comparisons(DeviceView view, int* words) {
  const Core core(view);
  if (core.id() != 0) return;
  *words = 5;
  core.fence();
  CHECK(core.test(words, Cmp::eq, 5) && !core.test(words, Cmp::eq, 4) && core.test(words, Cmp::ne, 4) && !core.test(words, Cmp::ne, 5));
  CHECK(core.test(words, Cmp::gt, -6) && !core.test(words, Cmp::gt, 5) && core.test(words, Cmp::ge, 5) && !core.test(words, Cmp::ge, 6));
  CHECK(core.test(words, Cmp::lt, 6) && !core.test(words, Cmp::lt, 5) && core.test(words, Cmp::le, 5) && !core.test(words, Cmp::le, -1));
  CHECK_EQ(core.wait_until(words, Cmp::ge, -1), 5);
}

SHOAL_KERNEL void append(DeviceView view, int* list, int value) {
  const Core core(view);
  if (core.id() != 0) return;
  list[++list[0]] = value;
}

void streams_are_in_order(const Device& device, const Stream& stream) {
  Memory<int> list(device, 100);
  for (int i = 0; i < 50; ++i) launch(append, 1 + i % 3, stream, list.get(), i);
  stream.synchronize();
  CHECK_EQ(list[0], 50);
  for (int i = 0; i < 50; ++i) CHECK_EQ(list[static_cast<std::size_t>(i) + 1], i);
  CHECK(stream.idle());
}

void copies_go_all_ways(const Device& device, const Stream& stream) {
  Memory<int> here(device, 1000), there(device, 1000);
  auto* heap = static_cast<int*>(shmem_malloc(1000 * sizeof(int)));
  std::vector<int> host(1000), back(1000);
  for (int i = 0; i < 1000; ++i) host[static_cast<std::size_t>(i)] = shmem_my_pe() * 1000 + i;
  const int right = (shmem_my_pe() + 1) % shmem_n_pes(), left = (shmem_my_pe() + shmem_n_pes() - 1) % shmem_n_pes();
  const TeamView team = device.team();
  stream.copy(here.get(), host.data(), 1000);         // host to device
  stream.copy(there.get(), here.get(), 1000);         // device to device
  stream.barrier(team);
  stream.put(heap, there.get(), 1000, right);         // device to remote host
  stream.barrier(team);
  stream.get(here.get(), heap, 1000, right);          // remote host to device
  stream.copy(back.data(), here.get(), 1000);         // device to host
  bool called = false;
  stream.call([&called] { called = true; });
  stream.synchronize();
  CHECK(called);
  for (int i = 0; i < 1000; ++i) {
    CHECK_EQ(heap[i], left * 1000 + i);
    CHECK_EQ(back[static_cast<std::size_t>(i)], shmem_my_pe() * 1000 + i);
  }
  shmem_barrier_all();
  shmem_free(heap);
}

void streams_follow_signals_and_events(const Device& device) {
  Memory<long> data(device, 1000), out(device, 1000);
  Memory<std::uint64_t> word(device, 2);
  const Stream first(device), second(device);
  const Event made(device);
  const int right = (shmem_my_pe() + 1) % shmem_n_pes();
  CHECK(made.passed());
  launch([=, to = out.get()](const DeviceView& view) {
    const Core core(view);
    core.for_each(1000, [&](std::size_t i) { to[i] = core.my_pe() * 1000L + static_cast<long>(i); });
  }, 1, first);
  made.record(first);
  second.wait(made);
  second.put_signal(data.get(), out.get(), 1000, word.get(), 1, device::SignalOp::add, right);
  first.wait_until(word.get(), Cmp::ge, std::uint64_t{1});
  bool right_data = true;
  first.call([&] {
    const int left = (shmem_my_pe() + shmem_n_pes() - 1) % shmem_n_pes();
    for (std::size_t i = 0; i < 1000; ++i) right_data = right_data && data[i] == left * 1000L + static_cast<long>(i);
  });
  first.synchronize();
  made.synchronize();
  CHECK(made.passed() && right_data);

  // A kernel in one stream waits for a kernel that another stream is given later.
  launch(wait_and_answer, 1, first, word.get() + 1, word.get());
  second.signal(word.get() + 1, 41, device::SignalOp::set, shmem_my_pe());
  first.synchronize();
  CHECK_EQ(word[0], 42u);
  shmem_barrier_all();

  first.all_reduce(device.team(), data.get(), out.get(), 1000, device::Sum(), 2);
  first.synchronize();
  for (std::size_t i = 0; i < 1000; ++i) {
    const int n = shmem_n_pes();
    CHECK_EQ(data[i], n * (n - 1) / 2 * 1000L + n * static_cast<long>(i));
  }
  shmem_barrier_all();
}

/// Who waits for an event waits for the point that was recorded then, not for a later one in another stream.
void an_event_recorded_again_lets_nobody_pass_early(const Device& device) {
  const Stream slow(device), quick(device), waiting(device);
  const Event event(device);
  std::atomic<bool> go{false}, passed{false};
  slow.call([&] {
    while (!go.load()) std::this_thread::yield();
  });
  event.record(slow);
  waiting.wait(event);
  waiting.call([&] { passed.store(true); });
  event.record(quick);
  quick.synchronize();
  CHECK(event.passed());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);  // if it is wrong, it shows within this
  while (!passed.load() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  CHECK(!passed.load());
  go.store(true);
  waiting.synchronize();
  CHECK(passed.load());
  slow.synchronize();
}

/// A kernel waits for the host's own put, and the host for a kernel's.
void kernels_and_hosts_talk(const Device& device, const Stream& stream) {
  Memory<std::uint64_t> words(device, 2);
  launch(wait_and_answer, 1, stream, words.get(), words.get() + 1);
  const int right = (shmem_my_pe() + 1) % shmem_n_pes();
  shmem_uint64_atomic_set(words.get(), 7, right);
  shmem_uint64_wait_until(words.get() + 1, SHMEM_CMP_EQ, 8);
  stream.synchronize();
  shmem_barrier_all();
}

void teams_come_and_go(const Device& device, const Stream& stream) {
  Memory<long> counters(device, 8);
  for (int round = 0; round < 6; ++round) {
    shmem_team_t half = SHMEM_TEAM_INVALID;
    const int n = shmem_n_pes(), parity = round % 2;
    const int size = (n - parity + 1) / 2;
    if (size < 1) continue;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, parity, 2, size, nullptr, 0, &half);
    counters[0] = 0;
    shmem_barrier_all();
    if (half != SHMEM_TEAM_INVALID) {
      const TeamView team = device.team(half);
      CHECK_EQ(team.size, size);
      CHECK_EQ(team.rank, shmem_team_my_pe(half));
      launch(barriers, 2, stream, team, counters.get(), 5 + round);  // leaves the words of this slot at different counts
      stream.synchronize();
      shmem_team_destroy(half);
    }
    shmem_barrier_all();
  }
}

}  // namespace

int main() {
  return shoal::run([](Job&) {
    const Device device;
    const Stream stream(device);
    const TeamView team = device.team();
    CHECK_EQ(std::string(device.kind()) == "cpu", true);
    CHECK(device.cores() >= 8 && device.scratch_bytes() == 192 * 1024);
    for (const int cores : kCores) {
      {
        Memory<int> words(device, 16);
        run_kernel(stream, atomics<int>, cores, team, words.get());
      }
      {
        Memory<std::uint64_t> words(device, 16);
        run_kernel(stream, atomics<std::uint64_t>, cores, team, words.get());
      }
      Memory<double> sum(device, 1);
      run_kernel(stream, float_atomics, cores, team, sum.get());
      Memory<long> counters(device, 64), more(device, 64), pair_slots(device, 64);
      run_kernel(stream, barriers, cores, team, counters.get(), 50);
      run_kernel(stream, core_barriers, cores, team, more.get());
      counters[0] = counters[1] = 0;
      shmem_barrier_all();
      run_kernel(stream, halves, cores, counters.get());
      if (cores > 1) run_kernel(stream, regrouped, cores, team);
      run_kernel(stream, pairs, cores, pair_slots.get(), 5);
      Memory<std::uint64_t> word(device, 1);
      run_kernel(stream, baton, cores, word.get(), 20);
      Memory<int> compared(device, 1);
      run_kernel(stream, comparisons, cores, compared.get());
    }
    streams_are_in_order(device, stream);
    copies_go_all_ways(device, stream);
    streams_follow_signals_and_events(device);
    an_event_recorded_again_lets_nobody_pass_early(device);
    kernels_and_hosts_talk(device, stream);
    teams_come_and_go(device, stream);
  }, shoal::ThreadLevel::multiple);
}

// SPDX-License-Identifier: Apache-2.0
// What the kernels of same_source.hpp must leave behind, whatever device ran them.
#pragma once
#include <shmem.h>

#include <cstdio>
#include <vector>

#include "same_source.hpp"

inline void expect(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "PE %d: failed: %s\n", shmem_my_pe(), what);
  shmem_global_exit(1);
}

/// Communication in order with a stream's other work, and events that order two streams.
template <class Event, class Stream, class Allocate>
void check_stream_operations(const Stream& stream, const shoal::device::TeamView& team, Allocate&& allocate) {
  using shoal::device::Cmp;
  using shoal::device::SignalOp;
  constexpr std::size_t kCount = 1000;
  const int n = shmem_n_pes(), me = shmem_my_pe(), right = (me + 1) % n, left = (me + n - 1) % n;
  auto* target = allocate(0LL, kCount);
  auto* source = allocate(0LL, kCount);
  auto* sum = allocate(0LL, kCount);
  auto* signals = allocate(std::uint64_t{0}, 2);
  std::vector<long long> values(kCount), got(kCount), back(kCount), sums(kCount);
  const std::vector<std::uint64_t> zeros(2);
  for (std::size_t i = 0; i < kCount; ++i) values[i] = 1000 * me + static_cast<long long>(i);
  stream.copy(signals, zeros.data(), zeros.size());
  stream.copy(source, values.data(), kCount);
  stream.synchronize();
  shmem_barrier_all();
  const Stream other(stream.device());
  const Event put_away(stream.device());
  expect(put_away.passed(), "an event that was never recorded");
  stream.put_signal(target, source, kCount, signals, 1, SignalOp::add, right);
  stream.wait_until(signals, Cmp::ge, std::uint64_t{1});
  put_away.record(stream);
  other.wait(put_away);
  other.copy(got.data(), target, kCount);
  other.signal(signals + 1, 7, SignalOp::set, me);
  stream.wait_until(signals + 1, Cmp::eq, std::uint64_t{7});
  stream.get(back.data(), target, kCount, right);
  stream.all_reduce(team, sum, source, kCount, shoal::device::Sum(), 2);
  stream.copy(sums.data(), sum, kCount);
  stream.barrier(team);
  bool called = false;
  stream.call([&called] { called = true; });
  stream.synchronize();
  other.synchronize();
  put_away.synchronize();
  expect(called && stream.idle() && other.idle() && put_away.passed(), "streams and an event at their end");
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto at = static_cast<long long>(i);
    expect(got[i] == 1000 * left + at, "put_signal of a stream, and a copy after an event");
    expect(back[i] == 1000 * me + at, "get of a stream");
    expect(sums[i] == 500LL * n * (n - 1) + n * at, "all_reduce of a stream");
  }
  shmem_barrier_all();
}

template <class Stream, class Allocate>
void check_same_source(const Stream& stream, const shoal::device::TeamView& team, Allocate&& allocate) {
  constexpr int kCores = 3, kCount = 5000;
  constexpr std::size_t kAll = kCores * kCount;
  const int n = shmem_n_pes(), me = shmem_my_pe(), left = (me + n - 1) % n;
  {
    auto* target = allocate(0LL, kAll);
    auto* source = allocate(0LL, kAll);
    auto* signals = allocate(std::uint64_t{0}, kCores);
    const std::vector<std::uint64_t> zeros(kCores);
    stream.copy(signals, zeros.data(), zeros.size());
    stream.synchronize();
    shmem_barrier_all();
    launch(same_source::shift, kCores, stream, team, target, source, signals, kCount);
    std::vector<long long> got(kAll);
    stream.copy(got.data(), target, kAll);
    stream.synchronize();
    for (int core = 0; core < kCores; ++core)
      for (int i = 0; i < kCount; ++i)
        expect(got[static_cast<std::size_t>(core * kCount + i)] == 1000LL * left + 10 * core + i, "shift");
  }
  {
    auto* dest = allocate(0.0f, kAll);
    auto* source = allocate(0.0f, kAll);
    std::vector<float> values(kAll), got(kAll);
    for (std::size_t i = 0; i < kAll; ++i) values[i] = static_cast<float>(me + static_cast<int>(i % 100));
    stream.copy(source, values.data(), kAll);
    launch(same_source::reduce<float>, kCores, stream, team, dest, source, static_cast<int>(kAll));
    stream.copy(got.data(), dest, kAll);
    stream.synchronize();
    for (std::size_t i = 0; i < kAll; ++i) expect(got[i] == static_cast<float>(n * (n - 1) / 2 + n * static_cast<int>(i % 100)), "all-reduce");
    auto* more = allocate(0.0f, kAll * static_cast<std::size_t>(n));
    launch(same_source::move, kCores, stream, team, more, source, dest, 960);
    stream.copy(got.data(), dest, kAll);
    stream.synchronize();
    for (int core = 0; core < kCores; ++core) {
      const float* const mine = got.data() + core * 64;
      for (int i = 0; i < 32; ++i) expect(mine[i] == static_cast<float>(me + i), "gm2gm put");
      for (int i = 0; i < 8; ++i) expect(mine[32 + 2 * i] == static_cast<float>(i), "ub2gm get, and iput of it");
    }
  }
  {
    auto* dest = allocate(shmemx_half_t{}, 1000);
    auto* source = allocate(shmemx_half_t{}, 1000);
    std::vector<shmemx_half_t> values(1000), got(1000);
    for (std::size_t i = 0; i < 1000; ++i) values[i] = shmemx_half_from_float(0.25f * static_cast<float>(me) + static_cast<float>(i % 8));
    stream.copy(source, values.data(), 1000);
    launch(same_source::reduce<shmemx_half_t>, kCores, stream, team, dest, source, 1000);
    stream.copy(got.data(), dest, 1000);
    stream.synchronize();
    for (std::size_t i = 0; i < 1000; ++i)
      expect(shmemx_half_to_float(got[i]) == 0.125f * static_cast<float>(n * (n - 1)) + static_cast<float>(n) * static_cast<float>(i % 8), "all-reduce of float16");
  }
  {
    auto* counter = allocate(0, 1);
    const int zero = 0;
    stream.copy(counter, &zero, 1);
    stream.synchronize();
    shmem_barrier_all();
    launch(same_source::count, kCores, stream, team, counter, 60 * n);
    int got = 0;
    stream.copy(&got, counter, 1);
    stream.synchronize();
    expect(got == 60 * n * kCores, "atomic counts");
  }
  shmem_barrier_all();
}

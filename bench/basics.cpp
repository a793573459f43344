// SPDX-License-Identifier: Apache-2.0
// The basic costs beside the limits that the hardware sets, both measured in this run on the same memory by two PEs:
//   put of 8 bytes + quiet     against   memcpy of 8 bytes + a full fence
//   get, p, g, fetch_add       against   the plain access
//   barrier of two             against   a cache line's round trip between the two cores
// Run: shoalrun -n 2 --bind core basics
#include <shmem.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr int kSamples = 31;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Figure {
  double median, low, high;  // nanoseconds an operation; low and high are quartiles
};

/// Times `operations` calls of `body(i)`, kSamples times. Every PE runs it; only PE 0's figure is used.
template <class Body>
Figure measure(int operations, Body&& body) {
  std::vector<double> samples;
  for (int s = 0; s < kSamples; ++s) {
    shmem_barrier_all();
    const double start = seconds();
    for (int i = 0; i < operations; ++i) body(i);
    samples.push_back((seconds() - start) / operations * 1e9);
    shmem_barrier_all();
  }
  std::sort(samples.begin(), samples.end());
  return {samples[kSamples / 2], samples[kSamples / 4], samples[kSamples * 3 / 4]};
}

void print(const char* name, const Figure& figure, const char* limit_name, const Figure& limit) {
  if (shmem_my_pe() != 0) return;
  std::printf("%-26s %8.2f ns  [%.2f, %.2f]   limit %8.2f ns (%s)   ratio %.2f\n", name, figure.median, figure.low, figure.high,
              limit.median, limit_name, figure.median / limit.median);
}

}  // namespace

int main() {
  shmem_init();
  const int me = shmem_my_pe();
  if (shmem_n_pes() != 2) {
    if (me == 0) std::fprintf(stderr, "basics: run it with 2 PEs: shoalrun -n 2 --bind core basics\n");
    shmem_global_exit(2);
  }
  const int peer = 1 - me;
  auto* words = static_cast<std::uint64_t*>(shmem_align(4096, 4096));
  auto* flags = static_cast<std::uint64_t*>(shmem_align(4096, 4096));
  std::memset(words, 0, 4096);
  std::memset(flags, 0, 4096);
  shmem_barrier_all();
  auto* there = static_cast<std::uint64_t*>(shmem_ptr(words, peer));
  std::uint64_t value = 1;
  const auto barrier_to_compiler = [&] { asm volatile("" : : "r"(there), "r"(&value) : "memory"); };
  constexpr int kMany = 200'000, kFew = 20'000;
  const bool active = me == 0;  // one-sided: the other PE waits in the barrier

  const Figure copy_fence = measure(active ? kMany : 1, [&](int) {
    std::memcpy(there, &value, 8);
    barrier_to_compiler();
    std::atomic_thread_fence(std::memory_order_seq_cst);
  });
  const Figure put_quiet = measure(active ? kMany : 1, [&](int) {
    shmem_putmem(words, &value, 8, peer);
    shmem_quiet();
  });
  print("put 8 B + quiet", put_quiet, "memcpy + fence", copy_fence);

  const Figure load = measure(active ? kMany : 1, [&](int) { value += std::atomic_ref(*there).load(std::memory_order_relaxed); });
  const Figure g = measure(active ? kMany : 1, [&](int) { value += shmem_uint64_g(words, peer); });
  print("g", g, "load + add", load);
  const Figure store = measure(active ? kMany : 1, [&](int i) {
    there[i & 63] = value;
    barrier_to_compiler();
  });
  const Figure p = measure(active ? kMany : 1, [&](int i) { shmem_uint64_p(words + (i & 63), value, peer); });
  print("p", p, "store", store);
  const Figure add = measure(active ? kMany : 1, [&](int) { std::atomic_ref(*there).fetch_add(1); });
  const Figure fetch_add = measure(active ? kMany : 1, [&](int) { value += shmem_uint64_atomic_fetch_add(words, 1, peer); });
  print("fetch_add", fetch_add, "fetch_add by hand", add);

  std::uint64_t turn = 0;
  const std::atomic_ref<std::uint64_t> mine(flags[0]);
  const std::atomic_ref<std::uint64_t> theirs(*static_cast<std::uint64_t*>(shmem_ptr(flags, peer)));
  const Figure round_trip = measure(kFew, [&](int) {
    ++turn;
    if (me == 0) theirs.store(turn, std::memory_order_release);
    while (mine.load(std::memory_order_acquire) < turn) {
    }
    if (me == 1) theirs.store(turn, std::memory_order_release);
  });
  const Figure barrier = measure(kFew, [](int) { shmem_barrier_all(); });
  print("barrier of 2 PEs", barrier, "cache line round trip", round_trip);
  std::uint64_t* word = flags + 8;
  std::uint64_t ball = 0;
  const Figure ping_pong = measure(kFew, [&](int) {
    ++ball;
    if (me == 0) shmem_uint64_p(word, ball, peer);
    shmem_uint64_wait_until(word, SHMEM_CMP_GE, ball);
    if (me == 1) shmem_uint64_p(word, ball, peer);
  });
  print("p + wait_until, there+back", ping_pong, "cache line round trip", round_trip);
  const Figure signal = measure(kFew, [&](int) {
    ++ball;
    if (me == 0) shmem_putmem_signal(words, &value, 8, word, ball, SHMEM_SIGNAL_SET, peer);
    shmem_signal_wait_until(word, SHMEM_CMP_GE, ball);
    if (me == 1) shmem_putmem_signal(words, &value, 8, word, ball, SHMEM_SIGNAL_SET, peer);
  });
  print("put_signal, there+back", signal, "cache line round trip", round_trip);
  shmem_finalize();
  return 0;
}

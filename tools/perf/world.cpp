// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runner.hpp"

namespace shoal::perf {
namespace {

void* symmetric(std::size_t bytes) {
  void* memory = shmem_align(4096, bytes);
  if (memory != nullptr) return memory;
  if (shmem_my_pe() == 0)
    std::fprintf(
        stderr,
        "shoal-perf: %s of symmetric heap are not there: set SHMEM_SYMMETRIC_SIZE higher, or choose a smaller --max\n",
        size_text(bytes).c_str());
  shmem_global_exit(1);
}

void pin(const cpu_set_t& allowed, int which) {
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && which-- == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ::sched_setaffinity(0, sizeof one, &one);
    }
}

}  // namespace

World::World(const Options& given, bool threads, std::size_t bytes, std::size_t table_bytes)
    : options(given),
      capacity((bytes + 4095) & ~std::size_t{4095}),
      table(nullptr),
      table_words(table_bytes / sizeof(std::uint64_t)) {
  const int wanted = threads ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  shmem_init_thread(wanted, &thread_level);
  me = shmem_my_pe();
  n = shmem_n_pes();
  peer = (me ^ 1) < n ? me ^ 1 : me;
  next = (me + 1) % n;
  cpus = CPU_COUNT(&allowed);
  if (options.pin) pin(allowed, me % cpus);
  polling = {n <= cpus ? 1u << 20 : 64, 0};

  source = static_cast<char*>(symmetric(capacity));
  dest = static_cast<char*>(symmetric(capacity));
  lines = static_cast<Line*>(symmetric(sizeof(Line) * kLines));
  agreed = static_cast<long*>(symmetric(sizeof(long)));
  times = static_cast<double*>(symmetric(sizeof(double) * static_cast<std::size_t>(n)));
  if (table_bytes != 0) table = static_cast<std::uint64_t*>(symmetric(table_bytes));
  // The owner touches its pages first, so that they lie near its processor. Bytes of 1 make small numbers of every
  // type.
  std::memset(source, 1, capacity);
  std::memset(dest, 0, capacity);
  std::memset(static_cast<void*>(lines), 0, sizeof(Line) * kLines);
  if (table != nullptr) std::memset(table, 0, table_bytes);
  for (int pe = 0; pe < n; ++pe) mapped = mapped && shmem_ptr(source, pe) != nullptr;
  for (int round = 0; (1 << round) < n; ++round)
    partners_[round] = on(word(meet_line + round), (me + (1 << round)) % n);
  shmem_barrier_all();
  if (mapped && n > 1 && n <= cpus) choose_polling();
}

World::~World() { shmem_finalize(); }

/// Whether pausing between polls makes a flag's trip shorter or longer depends on the processor: the better way counts.
void World::choose_polling() {
  constexpr std::uint32_t kEager[] = {0, 256};
  double best[2] = {1, 1};
  for (int round = 0; round < 30; ++round) {
    polling.eager = kEager[round % 2];
    shmem_barrier_all();
    meet();
    const double start = seconds();
    for (int i = 0; i < 500; ++i) meet();
    best[round % 2] = std::min(best[round % 2], seconds() - start);
  }
  if (me == 0)
    for (int pe = 0; pe < n; ++pe) shmem_long_p(agreed, best[1] < best[0], pe);
  shmem_barrier_all();
  polling.eager = kEager[*agreed];
  shmem_barrier_all();
}

void World::meet() {
  ++epoch_;
  for (int distance = 1, round = 0; distance < n; distance *= 2, ++round) {
    store_release(partners_[round], epoch_);
    await(word(meet_line + round), epoch_);
  }
}

}  // namespace shoal::perf

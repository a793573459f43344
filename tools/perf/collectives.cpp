// SPDX-License-Identifier: Apache-2.0
// Collectives that move data, over the world. The size is what each PE contributes: to everybody (collect), to each
// other PE (alltoall). The limit is everybody's copies, by everybody at once, and one barrier of plain flags.
#include <shmem.h>

#include <algorithm>

#include "tests.hpp"
#include "world.hpp"

namespace shoal::perf {
namespace {

template <class Operation>
Loop repeat(Operation operation) {
  return timed([operation](long count) {
    for (long i = 0; i < count; ++i) operation(i);
  });
}

/// Everybody's copies, then a meeting.
template <class Copies>
Named plain(World& w, const char* name, Copies copies) {
  return {name, repeat([&w, copies](long i) {
            copies(i);
            w.meet();
          })};
}

std::vector<char*> places(World& w, char* object) {
  std::vector<char*> all;
  for (int pe = 0; pe < w.n; ++pe) all.push_back(w.on(object, pe));
  return all;
}

Case broadcast(World& w, std::size_t size) {
  return {.loop = repeat([&w, size](long i) {
            shmem_broadcastmem(SHMEM_TEAM_WORLD, w.dest, w.source, size, static_cast<int>(i % w.n));
          }),
          .limits = {plain(w, "a copy on each PE + a barrier",
                           [&w, size, from = places(w, w.source)](long i) {
                             copy(w.dest, from[static_cast<std::size_t>(i % w.n)], size);
                           })},
          .bytes = static_cast<double>(size)};
}

/// Each PE fetches every PE's contribution, its own neighbour's first.
Named plain_gather(World& w, std::size_t size) {
  return plain(w, "n copies on each PE + a barrier", [&w, size, from = places(w, w.source)](long) {
    for (int k = 0; k < w.n; ++k) {
      const auto pe = static_cast<std::size_t>((w.me + k) % w.n);
      copy(w.dest + pe * size, from[pe], size);
    }
  });
}

Case fcollect(World& w, std::size_t size) {
  return {.loop = repeat([&w, size](long) { shmem_fcollectmem(SHMEM_TEAM_WORLD, w.dest, w.source, size); }),
          .limits = {plain_gather(w, size)},
          .bytes = static_cast<double>(size) * w.n};
}

Case collect(World& w, std::size_t size) {
  return {.loop = repeat([&w, size](long) { shmem_collectmem(SHMEM_TEAM_WORLD, w.dest, w.source, size); }),
          .limits = {plain_gather(w, size)},
          .bytes = static_cast<double>(size) * w.n};
}

Case alltoall(World& w, std::size_t size) {
  const auto copies = [&w, size, from = places(w, w.source)](long) {
    for (int k = 0; k < w.n; ++k) {
      const auto pe = static_cast<std::size_t>((w.me + k) % w.n);
      copy(w.dest + pe * size, from[pe] + static_cast<std::size_t>(w.me) * size, size);
    }
  };
  return {.loop = repeat([&w, size](long) { shmem_alltoallmem(SHMEM_TEAM_WORLD, w.dest, w.source, size); }),
          .limits = {plain(w, "n copies on each PE + a barrier", copies)},
          .bytes = static_cast<double>(size) * w.n};
}

Case alltoalls(World& w, std::size_t size) {
  const std::size_t many = std::max<std::size_t>(size / 8, 1), stride = w.options.stride, block = many * stride;
  const auto copies = [=, &w, from = places(w, w.source)](long) {
    for (int k = 0; k < w.n; ++k) {
      const auto pe = static_cast<std::size_t>((w.me + k) % w.n);
      auto* to = reinterpret_cast<std::uint64_t*>(w.dest) + pe * block;
      const auto* there = reinterpret_cast<const std::uint64_t*>(from[pe]) + static_cast<std::size_t>(w.me) * block;
      strided(to, there, many, stride);
    }
  };
  const auto apart = static_cast<std::ptrdiff_t>(stride);
  return {.loop = repeat([=, &w](long) {
            shmem_uint64_alltoalls(SHMEM_TEAM_WORLD, reinterpret_cast<std::uint64_t*>(w.dest),
                                   reinterpret_cast<const std::uint64_t*>(w.source), apart, apart, many);
          }),
          .limits = {plain(w, "n strided copy loops + a barrier", copies)},
          .bytes = static_cast<double>(many * 8) * w.n};
}

}  // namespace

std::vector<Test> collective_tests() {
  constexpr const char* kCollectives = "collectives";
  return {
      {"broadcast", kCollectives, Who::all, By::bytes, Space::one, "broadcastmem; the root rotates", broadcast},
      {"collect", kCollectives, Who::all, By::bytes, Space::per_pe, "collectmem of equal parts", collect},
      {"fcollect", kCollectives, Who::all, By::bytes, Space::per_pe, "fcollectmem", fcollect},
      {"alltoall", kCollectives, Who::all, By::bytes, Space::per_pe, "alltoallmem", alltoall},
      {"alltoalls", kCollectives, Who::all, By::bytes, Space::per_pe_strided,
       "uint64_alltoalls; elements --stride apart", alltoalls},
  };
}

}  // namespace shoal::perf

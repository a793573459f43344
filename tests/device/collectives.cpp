// SPDX-License-Identifier: Apache-2.0
// Collectives inside kernels against a model, for all types and operators, on the world and on a part of it.
#include "support.hpp"

#include <vector>

using namespace device_test;
using device::Core;
using device::DeviceView;
using device::Group;
using device::TeamView;

namespace {

constexpr std::size_t kMost = 20'000;

template <class T>
T value_of(unsigned seed, int pe, std::size_t i) {
  const auto mixed = static_cast<unsigned>(i) * 2654435761u ^ static_cast<unsigned>(pe + 1) * 40503u ^ seed;
  if constexpr (std::is_same_v<T, shmemx_half_t>) return shmemx_half_from_float(static_cast<float>(mixed % 17) / 8.0f);
  else if constexpr (std::is_same_v<T, shmemx_bfloat16_t>) return shmemx_bfloat16_from_float(static_cast<float>(mixed % 17) / 8.0f);
  else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(mixed % 1000) / static_cast<T>(16);
  else return static_cast<T>(mixed);
}
template <class T>
bool same(T a, T b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// What a reduction of all members gives: combined in the order of members, rounded once.
template <class T, class Op>
T expected(const TeamView& team, unsigned seed, std::size_t i, Op op) {
  using A = device::Accumulator<T>;
  auto sum = A::widen(value_of<T>(seed, team.world[0], i));
  for (int m = 1; m < team.size; ++m) sum = op(sum, A::widen(value_of<T>(seed, team.world[m], i)));
  return A::narrow(sum);
}

template <class T, class Op>
void reductions(const Stream& stream, const TeamView& team, int cores, T* source, T* dest, std::size_t n, Op op, unsigned seed) {
  const int me = shmem_my_pe();
  std::vector<T> local(n);
  const auto fill = [&](T* data) {
    for (std::size_t i = 0; i < n * static_cast<std::size_t>(team.size); ++i) data[i] = value_of<T>(seed, me, i);
  };
  fill(source);
  T* outside = local.data();
  launch([=](const DeviceView& view) {
    const Group all{Core(view)};
    device::all_reduce(all, team, dest, source, n, op);
    for (std::size_t i = 0; i < n; ++i) CHECK(same(dest[i], expected<T>(team, seed, i, op)));
    device::all_reduce(all, team, outside, source, n, op);  // memory that no other PE reaches
    for (std::size_t i = 0; i < n; ++i) CHECK(same(outside[i], dest[i]));
    device::reduce_scatter(all, team, dest, source, n / static_cast<std::size_t>(team.size), op);
    const std::size_t block = n / static_cast<std::size_t>(team.size), first = block * static_cast<std::size_t>(team.rank);
    all.meet();
    for (std::size_t i = 0; i < block; ++i) CHECK(same(dest[i], expected<T>(team, seed, first + i, op)));
    device::all_reduce(all, team, source, source, n, op);  // in place
    for (std::size_t i = 0; i < n; ++i) CHECK(same(source[i], expected<T>(team, seed, i, op)));
    all.barrier(team);
  }, cores, stream);
  stream.synchronize();
}

template <class T>
void movements(const Stream& stream, const TeamView& team, int cores, T* source, T* dest, std::size_t n, unsigned seed) {
  const int me = shmem_my_pe();
  const auto members = static_cast<std::size_t>(team.size);
  for (std::size_t i = 0; i < n * members; ++i) source[i] = value_of<T>(seed, me, i);
  launch([=](const DeviceView& view) {
    const Group all{Core(view)};
    device::all_gather(all, team, dest, source, n);
    for (std::size_t m = 0; m < members; ++m)
      for (std::size_t i = 0; i < n; ++i) CHECK(same(dest[m * n + i], value_of<T>(seed, team.world[m], i)));
    all.meet();
    device::all_to_all(all, team, dest, source, n);
    for (std::size_t m = 0; m < members; ++m)
      for (std::size_t i = 0; i < n; ++i)
        CHECK(same(dest[m * n + i], value_of<T>(seed, team.world[m], static_cast<std::size_t>(team.rank) * n + i)));
    all.meet();
    for (int root = 0; root < team.size; ++root) {
      device::broadcast(all, team, dest, source, n, root);
      for (std::size_t i = 0; i < n; ++i) CHECK(same(dest[i], value_of<T>(seed, team.world[root], i)));
    }
    all.barrier(team);
    device::broadcast(all, team, source, source, n, team.size - 1);
    for (std::size_t i = 0; i < n; ++i) CHECK(same(source[i], value_of<T>(seed, team.world[team.size - 1], i)));
    all.barrier(team);
  }, cores, stream);
  stream.synchronize();
}

template <class T>
void one_type(const Device& device, const Stream& stream, const TeamView& team, bool member, int cores, unsigned seed) {
  Memory<T> source(device, kMost), dest(device, kMost);
  if (member) {
    const std::size_t most = kMost / static_cast<std::size_t>(team.size);
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{1000}, most}) {
      reductions(stream, team, cores, source.get(), dest.get(), n, device::Sum(), seed);
      reductions(stream, team, cores, source.get(), dest.get(), n, device::Max(), seed + 1);
      if (n == 1000) {
        reductions(stream, team, cores, source.get(), dest.get(), n, device::Min(), seed + 2);
        reductions(stream, team, cores, source.get(), dest.get(), n, device::Prod(), seed + 3);
        if constexpr (std::is_integral_v<T>) {
          reductions(stream, team, cores, source.get(), dest.get(), n, device::BitAnd(), seed + 4);
          reductions(stream, team, cores, source.get(), dest.get(), n, device::BitOr(), seed + 5);
          reductions(stream, team, cores, source.get(), dest.get(), n, device::BitXor(), seed + 6);
        }
      }
      movements(stream, team, cores, source.get(), dest.get(), n, seed + 7);
    }
  }
  shmem_barrier_all();
}

void all_types(const Device& device, const Stream& stream, const TeamView& team, bool member, int cores, unsigned seed) {
  one_type<float>(device, stream, team, member, cores, seed);
  one_type<double>(device, stream, team, member, cores, seed);
  one_type<shmemx_half_t>(device, stream, team, member, cores, seed);
  one_type<shmemx_bfloat16_t>(device, stream, team, member, cores, seed);
  one_type<std::int8_t>(device, stream, team, member, cores, seed);
  one_type<std::int16_t>(device, stream, team, member, cores, seed);
  one_type<std::int32_t>(device, stream, team, member, cores, seed);
  one_type<std::int64_t>(device, stream, team, member, cores, seed);
  one_type<std::uint8_t>(device, stream, team, member, cores, seed);
  one_type<std::uint64_t>(device, stream, team, member, cores, seed);
}

}  // namespace

int main() {
  return shoal::run([](Job&) {
    const Device device;
    const Stream stream(device);
    const unsigned first_seed = seed();
    for (const int cores : {1, 3}) all_types(device, stream, device.team(), true, cores, first_seed);
    if (shmem_n_pes() < 3) return;
    // The upper PEs, in reverse: numbers here are not those of the world.
    shmem_team_t part = SHMEM_TEAM_INVALID;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, shmem_n_pes() - 1, -1, shmem_n_pes() - 1, nullptr, 0, &part);
    const bool member = part != SHMEM_TEAM_INVALID;
    all_types(device, stream, member ? device.team(part) : TeamView{0, 1, nullptr, 0}, member, 2, first_seed);
    shmem_team_destroy(part);
  });
}

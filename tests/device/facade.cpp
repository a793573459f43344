// SPDX-License-Identifier: Apache-2.0
// The accelerator-style interface: its collectives on the host, from several threads, and in kernels; its heaps and teams.
#include <device/gm2gm.h>

#include "support.hpp"

#include <cstring>
#include <thread>
#include <vector>

using namespace device_test;

namespace {

aclshmemx_team_t world() {
  aclshmemx_team_t team = nullptr;
  aclshmemx_team_get_default(&team);
  return team;
}

/// A heap takes the addresses of one before it: what was known of that one must be forgotten.
void heaps_come_and_go() {
  const int n = shmem_n_pes();
  for (std::size_t bytes : {std::size_t{1} << 20, std::size_t{4} << 20, std::size_t{1} << 20, std::size_t{16} << 20}) {
    aclshmemx_heap_attr_t attributes;
    attributes.heap_size = bytes;
    aclshmemx_heap_t heap = nullptr;
    CHECK_EQ(aclshmemx_create_heap(&attributes, &heap), 0);
    const std::size_t count = bytes / 2 / sizeof(std::int64_t) - 1024;
    void *in = nullptr, *out = nullptr;
    CHECK_EQ(aclshmemx_malloc(heap, count * sizeof(std::int64_t), &in), 0);
    CHECK_EQ(aclshmemx_malloc(heap, count * sizeof(std::int64_t), &out), 0);
    auto* values = static_cast<std::int64_t*>(in);
    auto* sums = static_cast<std::int64_t*>(out);
    for (std::size_t i = 0; i < count; ++i) values[i] = shmem_my_pe() + static_cast<std::int64_t>(i);
    CHECK_EQ(aclshmemx_allreduce(world(), in, out, count, ACLSHMEMX_SUM, ACLSHMEMX_INT64), 0);
    for (std::size_t i = 0; i < count; ++i) CHECK_EQ(sums[i], n * (n - 1) / 2 + n * static_cast<std::int64_t>(i));
    CHECK_EQ(aclshmemx_free(out), 0);
    CHECK_EQ(aclshmemx_free(in), 0);
    CHECK_EQ(aclshmemx_destroy_heap(heap, 0, nullptr), 0);
  }
}

/// Two threads, each with a team of its own: whatever the order on each PE, nobody waits for a turn.
void threads_reduce_beside_each_other() {
  const int n = shmem_n_pes();
  aclshmemx_team_t other = nullptr;
  CHECK_EQ(aclshmemx_team_split(world(), n, &other), 0);
  auto* words = static_cast<std::int64_t*>(shmem_malloc(4 * sizeof(std::int64_t)));
  const auto reduce = [n](aclshmemx_team_t team, std::int64_t* in, std::int64_t* out) {
    for (std::int64_t round = 0; round < 300; ++round) {
      *in = round + shmem_my_pe();
      CHECK_EQ(aclshmemx_allreduce(team, in, out, 1, ACLSHMEMX_SUM, ACLSHMEMX_INT64), 0);
      CHECK_EQ(*out, n * round + n * (n - 1) / 2);
    }
  };
  std::thread second(reduce, other, words + 2, words + 3);
  reduce(world(), words, words + 1);
  second.join();
  shmem_free(words);
  CHECK_EQ(aclshmemx_team_destroy(other), 0);
}

template <class T>
T number(double value) {
  if constexpr (std::is_same_v<T, shmemx_half_t>) return shmemx_half_from_float(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, shmemx_bfloat16_t>) return shmemx_bfloat16_from_float(static_cast<float>(value));
  else return static_cast<T>(value);
}
template <class T>
bool same(T a, T b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// Each collective, by the cores of the calling kernel or, on the host, by one. Small numbers: exact in every type.
template <class T>
void collectives(aclshmemx_team_t team, std::int32_t type, T* in, T* out, const device::Group* cores) {
  constexpr std::size_t kCount = 100;
  const int size = aclshmemx_team_size(team), rank = aclshmemx_team_global_rank(team);
  const auto meet = [&] {
    if (cores != nullptr) aclshmemx_team_sync(team);
  };
  const bool fills = cores == nullptr || cores->rank() == 0;
  const auto of = [](int member, std::size_t i) { return member + static_cast<double>(i % 5); };
  if (fills)
    for (std::size_t i = 0; i < kCount * static_cast<std::size_t>(size); ++i) in[i] = number<T>(of(rank, i));
  meet();
  CHECK_EQ(aclshmemx_allreduce(team, in, out, kCount, ACLSHMEMX_MAX, type), 0);
  for (std::size_t i = 0; i < kCount; ++i) CHECK(same(out[i], number<T>(of(size - 1, i))));
  meet();
  CHECK_EQ(aclshmemx_reduce_scatter(team, in, out, kCount, ACLSHMEMX_SUM, type), 0);
  if (cores != nullptr) cores->meet();
  for (std::size_t i = 0; i < kCount; ++i)
    CHECK(same(out[i], number<T>(size * (size - 1) / 2 + size * static_cast<double>((static_cast<std::size_t>(rank) * kCount + i) % 5))));
  meet();
  CHECK_EQ(aclshmemx_allgather(team, in, out, kCount, type), 0);
  if (cores != nullptr) cores->meet();
  for (std::size_t i = 0; i < kCount * static_cast<std::size_t>(size); ++i) CHECK(same(out[i], number<T>(of(static_cast<int>(i / kCount), i % kCount))));
  meet();
  CHECK_EQ(aclshmemx_alltoall(team, in, out, kCount, type), 0);
  if (cores != nullptr) cores->meet();
  for (std::size_t i = 0; i < kCount * static_cast<std::size_t>(size); ++i)
    CHECK(same(out[i], number<T>(of(static_cast<int>(i / kCount), static_cast<std::size_t>(rank) * kCount + i % kCount))));
  meet();
  CHECK_EQ(aclshmemx_broadcast(team, in, out, kCount, size - 1, type), 0);
  if (cores != nullptr) cores->meet();
  for (std::size_t i = 0; i < kCount; ++i) CHECK(same(out[i], number<T>(of(size - 1, i))));
  meet();
}

template <class T>
SHOAL_KERNEL void in_kernel(device::DeviceView view, aclshmemx_team_t team, std::int32_t type, T* in, T* out) {
  const device::Group cores{device::Core(view)};
  collectives(team, type, in, out, &cores);
}

template <class T>
void one_type(const Stream& stream, aclshmemx_team_t team, std::int32_t type) {
  const std::size_t count = 100 * static_cast<std::size_t>(shmem_n_pes());
  auto* in = static_cast<T*>(shmem_malloc(count * sizeof(T)));
  auto* out = static_cast<T*>(shmem_malloc(count * sizeof(T)));
  collectives(team, type, in, out, nullptr);
  launch(in_kernel<T>, 3, stream, team, type, in, out);
  stream.synchronize();
  shmem_free(out);
  shmem_free(in);
}

void all_types(const Stream& stream, aclshmemx_team_t team) {
  one_type<float>(stream, team, ACLSHMEMX_FLOAT32);
  one_type<double>(stream, team, ACLSHMEMX_FLOAT64);
  one_type<shmemx_half_t>(stream, team, ACLSHMEMX_FLOAT16);
  one_type<shmemx_bfloat16_t>(stream, team, ACLSHMEMX_BFLOAT16);
  one_type<std::int8_t>(stream, team, ACLSHMEMX_INT8);
  one_type<std::int16_t>(stream, team, ACLSHMEMX_INT16);
  one_type<std::int32_t>(stream, team, ACLSHMEMX_INT32);
  one_type<std::int64_t>(stream, team, ACLSHMEMX_INT64);
  one_type<std::uint8_t>(stream, team, ACLSHMEMX_UINT8);
  one_type<std::uint16_t>(stream, team, ACLSHMEMX_UINT16);
  one_type<std::uint32_t>(stream, team, ACLSHMEMX_UINT32);
  one_type<std::uint64_t>(stream, team, ACLSHMEMX_UINT64);
}

}  // namespace

int main() {
  aclshmemx_init_attr_t attributes;
  attributes.thread_mode = ACLSHMEMX_THREAD_MULTIPLE;
  CHECK_EQ(aclshmemx_init_attr(&attributes, 0, nullptr), 0);
  {
    const Stream stream;
    heaps_come_and_go();
    threads_reduce_beside_each_other();
    all_types(stream, world());
    aclshmemx_team_t pairs = nullptr;
    CHECK_EQ(aclshmemx_team_split(world(), 2, &pairs), 0);
    all_types(stream, pairs);
    CHECK_EQ(aclshmemx_team_destroy(pairs), 0);
  }
  return aclshmemx_finalize(0, nullptr);
}

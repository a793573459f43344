// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of remote_kernels.hpp. "alone" as argument runs the first as printed, where only one PE synchronises.
#include "remote_kernels.hpp"

#include <shoal/device/device.hpp>

#include <cstdio>
#include <cstring>

namespace {

/// remote_write_kernel with all PEs at the meeting.
__global__ void remote_write_and_meet(aclshmemx_team_t team, void* local_buffer, void* remote_buffer, size_t data_size, int32_t peer_rank) {
  if (aclshmemx_team_global_rank(team) == peer_rank) aclshmemx_gm2gm_put(team, remote_buffer, local_buffer, data_size, peer_rank);
  aclshmemx_team_sync(team);
}

bool all_are(const int* data, int n, int value) {
  for (int i = 0; i < n; ++i)
    if (data[i] != value + i) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  aclshmemx_init_attr_t attributes;
  if (aclshmemx_init_attr(&attributes, 0, nullptr) != 0) return 1;
  aclshmemx_team_t team;
  aclshmemx_team_get_default(&team);
  aclshmemx_heap_attr_t heap_attributes;
  heap_attributes.heap_size = 1 << 20;
  aclshmemx_heap_t heap;
  if (aclshmemx_create_heap(&heap_attributes, &heap) != 0) return 1;
  constexpr int kCount = 5000;
  void *local = nullptr, *remote = nullptr;
  if (aclshmemx_malloc(heap, kCount * sizeof(int), &local) != 0 || aclshmemx_malloc(heap, kCount * sizeof(int), &remote) != 0) return 1;
  const int me = aclshmemx_team_global_rank(team), n = aclshmemx_team_size(team);
  auto* mine = static_cast<int*>(local);
  auto* theirs = static_cast<int*>(remote);
  for (int i = 0; i < kCount; ++i) mine[i] = 1000 * me + i, theirs[i] = -1;
  aclshmemx_team_sync(team);
  int failures = 0;
  if (argc > 1 && std::strcmp(argv[1], "alone") == 0) {
    {
      const shoal::Stream stream;
      shoal::launch(remote_write_kernel, 1, stream, team, local, remote, kCount * sizeof(int), n - 1);
    }
    return aclshmemx_finalize(0, nullptr);
  }
  {
    const shoal::Stream stream;
    shoal::launch(remote_write_and_meet, 2, stream, team, local, remote, kCount * sizeof(int), n - 1);
    stream.synchronize();
    if (me == n - 1 && !all_are(theirs, kCount, 1000 * me)) ++failures;
    // Everyone reads what the next PE holds.
    shoal::launch(remote_read_kernel, 1, stream, team, remote, local, kCount * sizeof(int), (me + 1) % n);
    stream.synchronize();
  }
  if (!all_are(theirs, kCount, 1000 * ((me + 1) % n))) ++failures;
  if (failures != 0) std::printf("PE %d: wrong data\n", me);
  aclshmemx_team_sync(team);
  aclshmemx_free(remote);
  aclshmemx_free(local);
  aclshmemx_destroy_heap(heap, 0, nullptr);
  aclshmemx_finalize(0, nullptr);
  return failures;
}

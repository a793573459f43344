// SPDX-License-Identifier: Apache-2.0
// The encryption switch as printed in an article on such libraries, and what it refuses.
#include "shmem.h"

#include <cstdio>
#include <cstring>

int main() {
  int failures = 0;
  const auto check = [&](bool good, const char* what) {
    if (!good) std::printf("failed: %s\n", what), ++failures;
  };
  check(aclshmemx_set_conf_store_tls(true, "ca=/a;paper=/b", 0) != 0, "unknown file");
  check(aclshmemx_set_conf_store_tls(true, "ca=/a;nothing", 0) != 0, "no file");

  aclshmemx_set_conf_store_tls(false, NULL, 0);
  aclshmemx_init_attr_t init_attr;
  check(aclshmemx_init_attr(&init_attr, 0, NULL) == 0, "init");

  const int code = aclshmemx_set_conf_store_tls(true, NULL, 0);
  check(code != 0, "refused after init");
  check(std::strstr(aclshmemx_strerror(code), "argument") != nullptr, "its text");
  check(aclshmemx_init_attr(nullptr, 1, nullptr) != 0, "flags");
  init_attr.thread_mode = 77;
  check(aclshmemx_init_attr(&init_attr, 0, nullptr) != 0, "thread mode");
  aclshmemx_heap_attr_t heap_attr;
  aclshmemx_heap_t heap = nullptr;
  check(aclshmemx_create_heap(&heap_attr, &heap) != 0 && heap == nullptr, "a heap of no size");
  heap_attr.heap_size = 1 << 16;
  heap_attr.alignment = 100;
  check(aclshmemx_create_heap(&heap_attr, &heap) != 0 && heap == nullptr, "an alignment that is no power of two");
  heap_attr.alignment = 4096;
  check(aclshmemx_create_heap(&heap_attr, &heap) == 0, "a good heap");
  void* block = nullptr;
  check(aclshmemx_malloc(heap, 1 << 20, &block) != 0 && block == nullptr, "more than the heap has");
  check(aclshmemx_malloc(heap, 100, &block) == 0 && reinterpret_cast<uintptr_t>(block) % 4096 == 0, "aligned");
  check(aclshmemx_free(block) == 0 && aclshmemx_free(nullptr) == 0, "free");
  aclshmemx_team_t team = nullptr, pair = nullptr, node = nullptr;
  aclshmemx_team_get_default(&team);
  check(aclshmemx_team_destroy(team) != 0, "the default team stays");
  check(aclshmemx_team_split(team, 0, &pair) != 0, "groups of none");
  check(aclshmemx_team_split(team, 2, &pair) == 0 && aclshmemx_team_size(pair) >= 1 && aclshmemx_team_size(pair) <= 2, "pairs");
  check(aclshmemx_team_global_rank(pair) == aclshmemx_team_global_rank(team) % 2, "rank in a pair");
  aclshmemx_team_t one = nullptr;
  check(aclshmemx_team_split(pair, 1, &one) == 0 && aclshmemx_team_size(one) == 1, "nested");
  check(aclshmemx_team_split_node(team, &node) == 0 && aclshmemx_team_size(node) == aclshmemx_team_size(team), "one machine");

  auto* values = static_cast<float*>(shmem_malloc(64 * sizeof(float)));
  auto* sums = static_cast<float*>(shmem_malloc(64 * sizeof(float)));
  for (int i = 0; i < 64; ++i) values[i] = static_cast<float>(shmem_my_pe() + i);
  const int n = shmem_n_pes();
  check(aclshmemx_allreduce(team, values, sums, 64, ACLSHMEMX_SUM, ACLSHMEMX_FLOAT32) == 0, "allreduce on the host");
  for (int i = 0; i < 64; ++i) check(sums[i] == static_cast<float>(n * (n - 1) / 2 + n * i), "its sums");
  check(aclshmemx_allreduce(team, values, sums, 64, 99, ACLSHMEMX_FLOAT32) != 0, "no operator");
  check(aclshmemx_allreduce(team, values, sums, 64, ACLSHMEMX_SUM, 99) != 0, "no type");
  check(aclshmemx_broadcast(team, values, sums, 64, n, ACLSHMEMX_FLOAT32) != 0, "no root");
  check(aclshmemx_broadcast(team, values, sums, 64, n - 1, ACLSHMEMX_FLOAT32) == 0 && sums[3] == static_cast<float>(n + 2), "broadcast");
  check(aclshmemx_allgather(team, values, sums, 2, ACLSHMEMX_FLOAT32) == 0 && sums[2 * n - 1] == static_cast<float>(n), "allgather");
  check(aclshmemx_reduce_scatter(team, values, sums, 1, ACLSHMEMX_MAX, ACLSHMEMX_FLOAT32) == 0 &&
            sums[0] == static_cast<float>(n - 1 + shmem_my_pe()), "reduce_scatter");
  check(aclshmemx_alltoall(team, values, sums, 1, ACLSHMEMX_FLOAT32) == 0 && sums[n - 1] == static_cast<float>(n - 1 + shmem_my_pe()), "alltoall");
  aclshmemx_team_sync(team);
  aclshmemx_team_destroy(one);
  aclshmemx_team_destroy(pair);
  aclshmemx_team_destroy(node);
  aclshmemx_destroy_heap(heap, 0, NULL);
  aclshmemx_finalize(0, NULL);
  return failures;
}

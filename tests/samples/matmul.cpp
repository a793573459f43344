// SPDX-License-Identifier: Apache-2.0
// Runs the kernel of matmul_kernel.hpp: rows shared out over the PEs, the all-reduce puts them together.
#include "matmul_kernel.hpp"

#include <shoal/device/device.hpp>

#include <cstdio>

int main() {
  aclshmemx_init_attr_t attributes;
  if (aclshmemx_init_attr(&attributes, 0, nullptr) != 0) return 1;
  aclshmemx_team_t team;
  aclshmemx_team_get_default(&team);
  const int n = aclshmemx_team_size(team);
  const int rows = 6 * n, columns = 13, inner = 17;
  auto* a = static_cast<float*>(shmem_malloc(static_cast<size_t>(rows * inner) * sizeof(float)));
  auto* b = static_cast<float*>(shmem_malloc(static_cast<size_t>(inner * columns) * sizeof(float)));
  auto* c = static_cast<float*>(shmem_calloc(static_cast<size_t>(rows * columns), sizeof(float)));
  auto* sum = static_cast<float*>(shmem_calloc(static_cast<size_t>(rows * columns), sizeof(float)));
  for (int i = 0; i < rows * inner; ++i) a[i] = static_cast<float>(i % 7 - 3);
  for (int i = 0; i < inner * columns; ++i) b[i] = static_cast<float>(i % 5 - 2);
  shmem_barrier_all();
  {
    const shoal::Stream stream;
    shoal::launch(matmul_allreduce_kernel, 1, stream, team, a, b, c, sum, rows, columns, inner);
    stream.synchronize();
  }
  int wrong = 0;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      float expected = 0;
      for (int k = 0; k < inner; ++k) expected += a[i * inner + k] * b[k * columns + j];
      wrong += c[i * columns + j] != expected ? 1 : 0;  // whole numbers: exact
    }
  if (wrong != 0) std::printf("%d elements are wrong\n", wrong);
  shmem_barrier_all();
  aclshmemx_finalize(0, nullptr);
  return wrong != 0;
}

// SPDX-License-Identifier: Apache-2.0
// Lines of an article that name an argument, `pe=3`, unaltered: they are C++ where there is a variable of that name. They count on PE 3.
#include <shmem.h>
#include <shmemx.h>

#include <cstdio>

static float remote_matrix[4][8][16];

int main() {
  shmem_init();
  const int my_pe = shmem_my_pe(), row = 7, col = 12;
  const float update_value = 2.5f;
  int pe = -1;
  if (my_pe == 0) {
    shmem_float_p(&remote_matrix[3][row][col],update_value,pe=3);
    shmem_quiet();
    shmem_sync(pe=3);
  }
  int failures = 0;
  if (my_pe == 3) {
    shmem_sync(pe=0);
    failures = remote_matrix[3][row][col] != update_value;
  }
  shmem_barrier_all();
  shmem_finalize();
  if (failures != 0) std::printf("PE 3 does not see the value\n");
  return failures + (my_pe == 0 && pe != 3);
}

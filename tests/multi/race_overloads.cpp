// SPDX-License-Identifier: Apache-2.0
// Two races by one overload of C++: what is called in both places is the same function, for race_test.py.
#include <shmem.h>

static long data[8], source[8];

int main() {
  shmem_init();
  if (shmem_my_pe() < 2) {
    shmem_put(data, source, 4, 2);
    shmem_put(&data[4], source, 4, 2);
  }
  shmem_barrier_all();
  shmem_finalize();
}

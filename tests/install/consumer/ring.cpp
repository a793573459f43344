// SPDX-License-Identifier: Apache-2.0
#include <shmem.h>

#include <iostream>
#include <vector>

int main() {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  long* from_left = static_cast<long*>(shmem_malloc(sizeof(long)));
  *from_left = -1;
  shmem_barrier_all();
  const std::vector<long> mine{me};
  shmem_put(from_left, mine.data(), mine.size(), (me + 1) % n);  // the C++ overload
  shmem_barrier_all();
  const bool ok = *from_left == (me + n - 1) % n;
  if (me == 0) std::cout << "ring of " << n << ": " << (ok ? "closed" : "broken") << std::endl;
  shmem_free(from_left);
  shmem_finalize();
  return ok ? 0 : 1;
}

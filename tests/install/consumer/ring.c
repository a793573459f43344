/* SPDX-License-Identifier: Apache-2.0 */
#include <shmem.h>
#include <stdio.h>

static int from_left = -1; /* static data is symmetric, too */

int main(int argc, char **argv) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  shmem_int_p(&from_left, me, (me + 1) % n);
  shmem_barrier_all();
  const int ok = from_left == (me + n - 1) % n;
  if (me == 0) printf("ring of %d: %s%s%s\n", n, ok ? "closed" : "broken", argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
  shmem_finalize();
  return ok ? 0 : 1;
}

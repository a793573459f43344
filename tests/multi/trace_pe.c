// SPDX-License-Identifier: Apache-2.0
// A known number of calls, for trace_test.py: `trace_pe [kill | nbi | many]`. With `kill`, PE 1 dies after them; `nbi` adds atomics
// without blocking, `many` 20,000 puts.
#include <shmem.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static long word, counter, fetched, data[1024];

int main(int argc, char **argv) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  for (int i = 0; i < 100; ++i) shmem_long_p(&word, i, (me + 1) % n);
  for (int i = 0; i < 10; ++i) shmem_long_put(data, data, 1024, (me + 1) % n);
  shmem_long_atomic_add(&counter, 1, 0);
  if (argc > 1 && strcmp(argv[1], "chdir") == 0 && chdir("/") != 0) return 1;
  if (argc > 1 && strcmp(argv[1], "nbi") == 0) {
    shmem_long_atomic_fetch_nbi(&fetched, &counter, (me + 1) % n);
    shmem_long_atomic_compare_swap_nbi(&fetched, &counter, -1, 0, (me + 1) % n);
    shmem_long_atomic_fetch_add_nbi(&fetched, &counter, 0, (me + 1) % n);
  }
  const int more = argc > 1 && strcmp(argv[1], "many") == 0 ? 20000 : 0;
  for (int i = 0; i < more; ++i) shmem_long_p(&word, i, (me + 1) % n);
  shmem_quiet();
  shmem_barrier_all();
  if (argc > 1 && strcmp(argv[1], "kill") == 0) {
    if (me == 1) raise(SIGKILL);
    shmem_long_wait_until(&word, SHMEM_CMP_EQ, -1);
  }
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, data, data, 16);
  shmem_finalize();
  return 0;
}

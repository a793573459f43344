/* SPDX-License-Identifier: Apache-2.0
 *
 * Hello: every PE says who it is, and PE 0 counts that all of them came.
 * Shows: init and finalize, my_pe and n_pes, a symmetric global variable, an atomic, the barrier.
 */
#include <shmem.h>
#include <stdio.h>

static int greetings = 0; /* a global or static variable exists on every PE, at the same (symmetric) address */

int main(void) {
  shmem_init();
  const int me = shmem_my_pe();
  const int pes = shmem_n_pes();
  int major;
  int minor;
  char vendor[SHMEM_MAX_NAME_LEN];
  shmem_info_get_version(&major, &minor);
  shmem_info_get_name(vendor);
  printf("Hello from PE %d of %d (OpenSHMEM %d.%d, %s)\n", me, pes, major, minor, vendor);

  shmem_int_atomic_inc(&greetings, 0); /* adds 1 to PE 0's variable; PE 0 takes no part in it */
  shmem_barrier_all();                 /* afterwards all the additions are there */

  int status = 0;
  if (me == 0) {
    printf("PE 0 was greeted by %d PEs\n", greetings);
    if (greetings != pes) {
      fprintf(stderr, "hello: expected %d greetings\n", pes);
      status = 1;
    }
  }
  shmem_finalize();
  return status;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Ring: a token goes round all PEs a few times, and each PE adds its number to it.
 * Shows: shmem_p (write one value into another PE's memory) and shmem_wait_until (wait until somebody wrote).
 */
#include <shmem.h>
#include <stdio.h>

enum { kRounds = 5 };

static long token = -1; /* symmetric: my left neighbour writes mine, I write my right neighbour's */

int main(void) {
  shmem_init();
  const int me = shmem_my_pe();
  const int pes = shmem_n_pes();
  const int right = (me + 1) % pes;

  long last = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (me == 0) {
      shmem_p(&token, last, right); /* C11 picks shmem_long_p by the type of the variable */
    }
    shmem_wait_until(&token, SHMEM_CMP_NE, -1L);
    last = token + me;
    token = -1; /* ready for the next round: the token can't come again before I have passed it on */
    if (me != 0) {
      shmem_p(&token, last, right);
    }
  }

  int status = 0;
  if (me == 0) {
    const long expected = kRounds * ((long)pes * (pes - 1) / 2);
    printf("after %d rounds over %d PEs the token is %ld\n", kRounds, pes, last);
    if (last != expected) {
      fprintf(stderr, "ring: expected %ld\n", expected);
      status = 1;
    }
  }
  shmem_finalize();
  return status;
}

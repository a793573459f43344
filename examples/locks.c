/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks: all PEs book into one account on PE 0, whose three fields must always fit each other. What a single atomic
 * can't do, a lock can: read, compute and write back several words with nobody in between.
 * Shows: shmem_set_lock, shmem_test_lock, shmem_clear_lock; shmem_get and shmem_put of a few words; shmem_quiet.
 */
#include <shmem.h>
#include <stdio.h>

enum { kBookings = 200, kBalance = 0, kNumber = 1, kChecksum = 2, kFields = 3 };

static long lock = 0;         /* symmetric; zero is free */
static long account[kFields]; /* the one on PE 0 is used */

static long checksum(const long* a) { return a[kBalance] * 31 + a[kNumber] * 17; }

int main(void) {
  shmem_init();
  const int me = shmem_my_pe();
  const int pes = shmem_n_pes();
  int status = 0;
  int at_once = 0;

  for (int i = 0; i < kBookings; ++i) {
    if (shmem_test_lock(&lock) == 0) {
      ++at_once; /* it was free and is mine now; else there would have been time to do something else */
    } else {
      shmem_set_lock(&lock);
    }
    long copy[kFields];
    shmem_get(copy, account, kFields, 0);
    if (copy[kChecksum] != checksum(copy)) {
      fprintf(stderr, "locks: PE %d: found a half-written account\n", me);
      status = 1;
    }
    copy[kBalance] += me + i;
    copy[kNumber] += 1;
    copy[kChecksum] = checksum(copy);
    shmem_put(account, copy, kFields, 0);
    shmem_quiet(); /* the account is written before the lock is given away */
    shmem_clear_lock(&lock);
  }
  shmem_barrier_all();

  if (me == 0) {
    const long number = (long)pes * kBookings;
    const long balance = kBookings * ((long)pes * (pes - 1) / 2) + pes * ((long)kBookings * (kBookings - 1) / 2);
    printf("%ld bookings by %d PEs, the balance is %ld; PE 0 found the lock free %d times of %d\n", account[kNumber],
           pes, account[kBalance], at_once, kBookings);
    if (account[kNumber] != number || account[kBalance] != balance) {
      fprintf(stderr, "locks: expected %ld bookings and the balance %ld\n", number, balance);
      status = 1;
    }
  }
  shmem_finalize();
  return status;
}

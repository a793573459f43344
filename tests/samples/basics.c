/* SPDX-License-Identifier: Apache-2.0 */
/* Puts, gets, order and atomics as printed in an article on such libraries, in a program round them. It counts on 8 PEs. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

static float remote_matrix[4][8][16];
static int flag, counter, lock, ticket;

int main(void) {
  int failures = 0;
  shmem_init();
  int my_pe = shmem_my_pe();
  int n_pe = shmem_n_pes();
  if (n_pe != 8) return 2;
  double *local_data = shmem_malloc(1024 * sizeof(double));
  for (int i = 0; i < 1024; ++i) local_data[i] = 0.5 * i + my_pe;
  shmem_barrier_all();

  float update_value = 2.5f;
  if (my_pe == 0) shmem_float_p(&remote_matrix[3][7][12], update_value, 3);
  double val = 42.0;
  if (my_pe == 1) shmem_double_p(&local_data[100], val, 3);
  double remote_val = shmem_double_g(&local_data[200], 5);
  failures += remote_val != 100.0 + 5;
  shmem_barrier_all();
  if (my_pe == 3) failures += (remote_matrix[3][7][12] != 2.5f) + (local_data[100] != 42.0);
  shmem_barrier_all();

  double send_buf[256], recv_buf[256];
  for (int i = 0; i < 256; i++) send_buf[i] = my_pe * 1000 + i;
  if (my_pe == 2) shmem_double_put(local_data, send_buf, 256, 3);
  shmem_double_get(recv_buf, local_data + 512, 256, 5);
  for (int i = 0; i < 256; ++i) failures += recv_buf[i] != 0.5 * (512 + i) + 5;

  shmem_fence();
  shmem_quiet();
  shmem_barrier_all();
  if (my_pe == 3)
    for (int i = 0; i < 256; ++i) failures += local_data[i] != 2000 + i;
  if (my_pe == 4) shmemx_sync_pe(3); /* printed as shmem_sync(pe=3), which is no C: see named.cpp */
  if (my_pe == 3) shmemx_sync_pe(4);

  int count = 64, target_pe = (my_pe + 1) % n_pe;
  double *remote_buf = local_data + 700;
  shmem_barrier_all();
  shmem_double_put(remote_buf, send_buf, (size_t)count, target_pe);
  shmem_quiet();
  shmem_int_atomic_inc(&flag, target_pe);
  shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);
  for (int i = 0; i < count; ++i) failures += remote_buf[i] != ((my_pe + n_pe - 1) % n_pe) * 1000 + i;

  shmem_int_atomic_add(&counter, 1, 3);
  int old = shmem_int_atomic_compare_swap(&lock, 0, 1, 5);
  int my_ticket = shmem_int_atomic_fetch_add(&ticket, 1, 2);
  failures += my_ticket < 0 || my_ticket >= n_pe;
  static int winners, holders;
  winners = old == 0;
  shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &holders, &winners, 1);
  failures += holders != 1;
  if (my_pe == 3) failures += counter != n_pe;
  if (my_pe == 2) failures += ticket != n_pe;
  shmem_barrier_all();
  shmem_free(local_data);
  shmem_finalize();
  if (failures) printf("PE %d: %d failures\n", my_pe, failures);
  return failures != 0;
}

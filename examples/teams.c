/* SPDX-License-Identifier: Apache-2.0
 *
 * Teams: the PEs form a grid; each row and each column is a team of its own and adds up its members' numbers.
 * Shows: shmem_team_split_2d, reductions over a team, shmem_team_translate_pe, shmem_team_split_strided.
 */
#include <shmem.h>
#include <stdio.h>

static long mine, row_sum, column_sum, even_sum;

static int check(const char* what, long found, long expected) {
  if (found == expected) return 0;
  fprintf(stderr, "teams: PE %d: %s is %ld, expected %ld\n", shmem_my_pe(), what, found, expected);
  return 1;
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe();
  const int pes = shmem_n_pes();
  int width = 1; /* of the grid: the last row may be shorter */
  while (width * width < pes) ++width;

  shmem_team_t row;
  shmem_team_t column;
  int wrong = shmem_team_split_2d(SHMEM_TEAM_WORLD, width, NULL, 0, &row, NULL, 0, &column);

  mine = me + 1;
  wrong |= shmem_sum_reduce(row, &row_sum, &mine, 1);
  wrong |= shmem_sum_reduce(column, &column_sum, &mine, 1);

  const int my_row = me / width;
  const int my_column = me % width;
  long expected_row = 0;
  long expected_column = 0;
  for (int pe = 0; pe < pes; ++pe) {
    if (pe / width == my_row) expected_row += pe + 1;
    if (pe % width == my_column) expected_column += pe + 1;
  }
  wrong |= check("the sum of my row", row_sum, expected_row);
  wrong |= check("the sum of my column", column_sum, expected_column);
  wrong |= check("my number in the row", shmem_team_my_pe(row), my_column);
  wrong |= check("my number in the column", shmem_team_my_pe(column), my_row);

  /* A team's own numbers are only good within it; this is how to find a member's number elsewhere. */
  const int head = shmem_team_translate_pe(row, 0, SHMEM_TEAM_WORLD);
  wrong |= check("the first PE of my row", head, my_row * width);

  /* Every second PE: the others get the invalid team and take no part. */
  shmem_team_t even;
  wrong |= shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (pes + 1) / 2, NULL, 0, &even);
  if (even != SHMEM_TEAM_INVALID) {
    wrong |= shmem_sum_reduce(even, &even_sum, &mine, 1);
    long expected_even = 0;
    for (int pe = 0; pe < pes; pe += 2) expected_even += pe + 1;
    wrong |= check("the sum of the even PEs", even_sum, expected_even);
    shmem_team_destroy(even);
  } else {
    wrong |= check("an even PE's team", me % 2, 1);
  }
  if (me == 0) printf("%d PEs in %d columns: row and column sums are right\n", pes, width);

  shmem_team_destroy(column);
  shmem_team_destroy(row);
  shmem_finalize();
  return wrong != 0;
}

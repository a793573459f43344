/* SPDX-License-Identifier: Apache-2.0
 *
 * Halo exchange: heat spreads on a torus that is cut into one rectangle a PE. In each step a PE puts its rim into the
 * halos (the extra rows and columns) of its four neighbours.
 * Shows: shmem_put for rows (contiguous), shmem_iput for columns (strided), shmem_barrier_all between steps.
 */
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 12, kColumns = 20, kWidth = kColumns + 2, kSteps = 40 };

/* Two grids with a halo; the steps take turns: while one is read, the neighbours already write the other's halo. */
static double grid[2][(kRows + 2) * kWidth];

static int wrap(int i, int n) { return (i % n + n) % n; }

static double start_value(int row, int column) { return (double)((row * 31 + column * 17) % 101); }

static double average(double here, double up, double down, double left, double right) {
  return 0.5 * here + 0.125 * (up + down + left + right);
}

/* The same on one PE, without halos: the whole torus, kSteps steps. */
static double* serial(int rows, int columns) {
  const size_t cells = (size_t)rows * (size_t)columns;
  double* now = malloc(cells * sizeof *now);
  double* next = malloc(cells * sizeof *next);
  if (now == NULL || next == NULL) abort();
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) now[r * columns + c] = start_value(r, c);
  for (int step = 0; step < kSteps; ++step) {
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c)
        next[r * columns + c] =
            average(now[r * columns + c], now[wrap(r - 1, rows) * columns + c], now[wrap(r + 1, rows) * columns + c],
                    now[r * columns + wrap(c - 1, columns)], now[r * columns + wrap(c + 1, columns)]);
    double* swap = now;
    now = next;
    next = swap;
  }
  free(next);
  return now;
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe();
  const int pes = shmem_n_pes();

  /* PEs in a grid, as square as their number allows. */
  int pe_rows = 1;
  for (int i = 1; i * i <= pes; ++i)
    if (pes % i == 0) pe_rows = i;
  const int pe_columns = pes / pe_rows;
  const int my_row = me / pe_columns;
  const int my_column = me % pe_columns;
  const int up = wrap(my_row - 1, pe_rows) * pe_columns + my_column;
  const int down = wrap(my_row + 1, pe_rows) * pe_columns + my_column;
  const int left = my_row * pe_columns + wrap(my_column - 1, pe_columns);
  const int right = my_row * pe_columns + wrap(my_column + 1, pe_columns);

  for (int r = 1; r <= kRows; ++r)
    for (int c = 1; c <= kColumns; ++c)
      grid[0][r * kWidth + c] = start_value(my_row * kRows + r - 1, my_column * kColumns + c - 1);

  for (int step = 0; step < kSteps; ++step) {
    double* now = grid[step % 2];
    double* next = grid[(step + 1) % 2];
    shmem_put(&now[(kRows + 1) * kWidth + 1], &now[1 * kWidth + 1], kColumns, up); /* my top row: below its last one */
    shmem_put(&now[1], &now[kRows * kWidth + 1], kColumns, down);                  /* my last row: above its top one */
    shmem_iput(&now[kWidth + kColumns + 1], &now[kWidth + 1], kWidth, kWidth, kRows, left);
    shmem_iput(&now[kWidth], &now[kWidth + kColumns], kWidth, kWidth, kRows, right);
    shmem_barrier_all(); /* all halos of this step are filled; nobody still reads the other grid */
    for (int r = 1; r <= kRows; ++r)
      for (int c = 1; c <= kColumns; ++c) {
        const double* cell = &now[r * kWidth + c];
        next[r * kWidth + c] = average(cell[0], cell[-kWidth], cell[kWidth], cell[-1], cell[1]);
      }
  }

  int status = 0;
  double difference = 0;
  double* expected = serial(pe_rows * kRows, pe_columns * kColumns);
  for (int r = 1; r <= kRows; ++r)
    for (int c = 1; c <= kColumns; ++c) {
      const double wanted = expected[(my_row * kRows + r - 1) * pe_columns * kColumns + my_column * kColumns + c - 1];
      difference = fmax(difference, fabs(grid[kSteps % 2][r * kWidth + c] - wanted));
    }
  free(expected);
  if (!(difference < 1e-12)) {
    fprintf(stderr, "halo: PE %d: differs from the serial run by %g\n", me, difference);
    status = 1;
  }
  if (me == 0) {
    printf("%d steps on a torus of %d x %d cells, cut into %d x %d parts: same as the serial run (%g)\n", kSteps,
           pe_rows * kRows, pe_columns * kColumns, pe_rows, pe_columns, difference);
  }
  shmem_finalize();
  return status;
}

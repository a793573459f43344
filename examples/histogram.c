/* SPDX-License-Identifier: Apache-2.0
 *
 * Histogram: the cells are dealt out to all PEs, every PE draws numbers and counts each in its cell, wherever that is.
 * Shows: remote atomics (shmem_atomic_inc, shmem_atomic_fetch_add) and symmetric heap memory (shmem_calloc).
 */
#include <inttypes.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCells = 100, kDraws = 20000 };

/* The next number of a random sequence (xorshift), so that the check can draw the same ones again. */
static uint64_t next(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static uint64_t seed(int pe) { return 88172645463325252u + (uint64_t)pe * 7919u; }

/* The sum of two dice has a peak in the middle: neighbouring PEs meet in the same few cells. */
static int draw(uint64_t* state) {
  const uint64_t first = next(state) % (kCells / 2);
  return (int)(first + next(state) % (kCells / 2 + 1));
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe();
  const int pes = shmem_n_pes();

  /* Cell c is number c / pes on PE c % pes. */
  const size_t cells_per_pe = (size_t)((kCells + pes - 1) / pes);
  uint64_t* cells = shmem_calloc(cells_per_pe, sizeof *cells);
  uint64_t* drawn = shmem_calloc(1, sizeof *drawn);
  if (cells == NULL || drawn == NULL) {
    if (me == 0) fprintf(stderr, "histogram: the symmetric heap is full\n");
    shmem_finalize();
    return 1;
  }

  uint64_t state = seed(me);
  for (int i = 0; i < kDraws; ++i) {
    const int cell = draw(&state);
    shmem_atomic_inc(&cells[cell / pes], cell % pes);
  }
  const uint64_t before = shmem_atomic_fetch_add(drawn, (uint64_t)kDraws, 0); /* gives the value it had */
  shmem_barrier_all();

  int status = before % kDraws == 0 ? 0 : 1;
  uint64_t expected[kCells] = {0};
  for (int pe = 0; pe < pes; ++pe) {
    uint64_t replay = seed(pe);
    for (int i = 0; i < kDraws; ++i) ++expected[draw(&replay)];
  }
  for (int cell = me; cell < kCells; cell += pes) {
    if (cells[cell / pes] != expected[cell]) {
      fprintf(stderr, "histogram: PE %d: cell %d is %" PRIu64 ", expected %" PRIu64 "\n", me, cell, cells[cell / pes],
              expected[cell]);
      status = 1;
    }
  }
  if (me == 0) {
    printf("%" PRIu64 " numbers counted in %d cells on %d PEs\n", *drawn, kCells, pes);
    for (int cell = 5; cell < kCells; cell += 10) { /* every tenth cell, read from the PE that has it */
      const uint64_t count = shmem_g(&cells[cell / pes], cell % pes);
      printf("%4d %8" PRIu64 " ", cell, count);
      for (uint64_t dot = 0; dot < count * 2500 / *drawn; ++dot) putchar('*');
      putchar('\n');
    }
    if (*drawn != (uint64_t)kDraws * (uint64_t)pes) status = 1;
  }
  shmem_free(drawn);
  shmem_free(cells);
  shmem_finalize();
  return status;
}

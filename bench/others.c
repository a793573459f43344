// SPDX-License-Identifier: Apache-2.0
// What others take for a float sum of 4 MiB over 2 PEs: Open MPI's OpenSHMEM, or with -DBY_MPI its MPI. bench/wire.py
// builds it by oshcc and runs it over the same wire. Medians, as in nodes.cpp.
#include <mpi.h>
#ifndef BY_MPI
#include <shmem.h>
#endif
#include <stdio.h>
#include <stdlib.h>

enum { kRounds = 9, kReductions = 10, kCount = 1 << 20 };

static int by_value(const void* a, const void* b) { return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b); }

#ifdef BY_MPI
static float *source, *sum;
static int begin(void) {
  int rank;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  source = malloc(kCount * sizeof(float)), sum = malloc(kCount * sizeof(float));
  return rank;
}
static void reduce(void) { MPI_Allreduce(source, sum, kCount, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
static void end(void) { MPI_Finalize(); }
#else
static long sync_words[SHMEM_REDUCE_SYNC_SIZE];
static float *source, *sum, *work;
static int begin(void) {
  shmem_init();
  source = shmem_malloc(kCount * sizeof(float)), sum = shmem_malloc(kCount * sizeof(float));
  work = shmem_malloc((kCount / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE) * sizeof(float));
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) sync_words[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  return shmem_my_pe();
}
static void reduce(void) {
  shmem_float_sum_to_all(sum, source, kCount, 0, 0, shmem_n_pes(), work, sync_words);
  shmem_barrier_all();  // before the words are used again
}
static void end(void) { shmem_finalize(); }
#endif

int main(void) {
  const int rank = begin();
  for (int i = 0; i < kCount; ++i) source[i] = 1;
  double each[kRounds];
  for (int round = -1; round < kRounds; ++round) {  // the first is to warm up
    const double began = MPI_Wtime();
    for (int i = 0; i < kReductions; ++i) reduce();
    if (round >= 0) each[round] = (MPI_Wtime() - began) / kReductions * 1e6;
  }
  qsort(each, kRounds, sizeof each[0], by_value);
  if (rank == 0) printf("  float sum reduce, 4 MiB      %10.3f us    (%.3f, %.3f)\n", each[kRounds / 2], each[0], each[kRounds - 1]);
  fflush(stdout);
  end();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// All-reduce: mean, spread, smallest and largest value of numbers that are dealt out to all PEs; every PE gets all
// four. Shows: reductions over the team of all PEs, by the C++ overloads (shmem_sum_reduce picks the type), and a scan.
#include <shmem.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace {

constexpr std::size_t kVector = 1000;

// Symmetric, as every reduction needs it: the source and the destination of all PEs.
double sums[2], total_sums[2];
std::int64_t extremes[2], smallest[1], largest[1];
float vector_source[kVector], vector_sum[kVector];
std::int64_t count[1], before_me[1];

std::int64_t value(std::int64_t i) { return i * i % 1009 - 300; }

bool check(const char* what, double found, double expected) {
  if (std::abs(found - expected) <= 1e-9 * std::abs(expected)) return true;
  std::fprintf(stderr, "allreduce: PE %d: %s is %.12g, expected %.12g\n", shmem_my_pe(), what, found, expected);
  return false;
}

}  // namespace

int main() {
  shmem_init();
  const int me = shmem_my_pe();
  const int pes = shmem_n_pes();

  // PE p has p + 1 blocks of 100 numbers. The scan says how many the PEs before have: that is where mine begin.
  count[0] = 100 * (me + 1);
  int failed = shmem_sum_exscan(SHMEM_TEAM_WORLD, before_me, count, 1);
  const std::int64_t begin = me == 0 ? 0 : before_me[0];

  extremes[0] = extremes[1] = value(begin);
  for (std::int64_t i = begin; i < begin + count[0]; ++i) {
    const std::int64_t v = value(i);
    sums[0] += static_cast<double>(v);
    sums[1] += static_cast<double>(v * v);
    if (v < extremes[0]) extremes[0] = v;
    if (v > extremes[1]) extremes[1] = v;
  }
  failed |= shmem_sum_reduce(SHMEM_TEAM_WORLD, total_sums, sums, 2);  // two sums by one call
  failed |= shmem_min_reduce(SHMEM_TEAM_WORLD, smallest, &extremes[0], 1);
  failed |= shmem_max_reduce(SHMEM_TEAM_WORLD, largest, &extremes[1], 1);

  // A longer vector: element by element.
  for (std::size_t i = 0; i < kVector; ++i) vector_source[i] = static_cast<float>(i % 64) + static_cast<float>(me);
  failed |= shmem_sum_reduce(SHMEM_TEAM_WORLD, vector_sum, vector_source, kVector);

  const std::int64_t all = 100LL * pes * (pes + 1) / 2;
  double expected_sum = 0, expected_squares = 0;
  std::int64_t expected_min = value(0), expected_max = value(0);
  for (std::int64_t i = 0; i < all; ++i) {
    const std::int64_t v = value(i);
    expected_sum += static_cast<double>(v);
    expected_squares += static_cast<double>(v * v);
    if (v < expected_min) expected_min = v;
    if (v > expected_max) expected_max = v;
  }
  bool ok = failed == 0;
  ok &= check("begin", static_cast<double>(begin), 100.0 * me * (me + 1) / 2);
  ok &= check("sum", total_sums[0], expected_sum);
  ok &= check("sum of squares", total_sums[1], expected_squares);
  ok &= check("smallest", static_cast<double>(smallest[0]), static_cast<double>(expected_min));
  ok &= check("largest", static_cast<double>(largest[0]), static_cast<double>(expected_max));
  for (std::size_t i = 0; i < kVector && ok; ++i) {
    ok &= check("vector element", vector_sum[i], static_cast<double>(i % 64) * pes + pes * (pes - 1) / 2.0);
  }
  if (me == 0) {
    const double mean = total_sums[0] / static_cast<double>(all);
    std::printf("%lld numbers on %d PEs: mean %.3f, deviation %.3f, smallest %lld, largest %lld\n",
                static_cast<long long>(all), pes, mean,
                std::sqrt(total_sums[1] / static_cast<double>(all) - mean * mean), static_cast<long long>(smallest[0]),
                static_cast<long long>(largest[0]));
  }
  shmem_finalize();
  return ok ? 0 : 1;
}

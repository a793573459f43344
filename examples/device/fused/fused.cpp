// SPDX-License-Identifier: Apache-2.0
// Two layers of a network whose weights are spread over the PEs: all-gather fused with the first product, all-reduce with the second.
#include <shoal/ops/matmul.hpp>
#include <shoal/shoal.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace ops = shoal::ops;

namespace {

constexpr std::size_t kRows = 64;     // of the input on each PE
constexpr std::size_t kWidth = 96;
constexpr std::size_t kHidden = 48;   // columns of the first layer on each PE

float weight(std::size_t i, std::size_t j, unsigned salt) { return static_cast<float>((i * 31 + j * 17 + salt) % 13) / 13.0f - 0.5f; }

}  // namespace

int main() {
  return shoal::run([](shoal::Job& job) {
    const shoal::Device here;
    const shoal::Stream stream(here);
    const auto n = static_cast<std::size_t>(job.n_pes()), me = static_cast<std::size_t>(job.my_pe());
    const std::size_t rows = kRows * n;
    float* x = here.allocate<float>(kRows * kWidth);       // this PE's part of the rows
    float* y = here.allocate<float>(rows * kWidth);        // the result, whole on each PE
    std::vector<float> first(kWidth * kHidden), second(kHidden * kWidth), hidden(rows * kHidden);
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t k = 0; k < kWidth; ++k) x[i * kWidth + k] = weight(me * kRows + i, k, 1);
    for (std::size_t k = 0; k < kWidth; ++k)
      for (std::size_t j = 0; j < kHidden; ++j) {
        first[k * kHidden + j] = weight(k, me * kHidden + j, 2);
        second[j * kWidth + k] = weight(me * kHidden + j, k, 3);
      }
    {
      const ops::AllGatherMatmul<float> up(here, here.team(), kRows, kWidth, 2);
      ops::MatmulAllReduce<float> down(here, here.team(), rows, kWidth, 2, {32, 48});
      up.launch(stream, ops::matrix(hidden.data(), rows, kHidden), {x, kRows, kWidth, kWidth}, {first.data(), kWidth, kHidden, kHidden});
      down.launch(stream, ops::matrix(y, rows, kWidth), {hidden.data(), rows, kHidden, kHidden}, {second.data(), kHidden, kWidth, kWidth});
      stream.synchronize();
      job.barrier();
    }
    // The whole network in float64.
    int wrong = 0;
    for (std::size_t i = 0; i < rows; i += 7)
      for (std::size_t k = 0; k < kWidth; ++k) {
        double sum = 0;
        for (std::size_t j = 0; j < kHidden * n; ++j) {
          double h = 0;
          for (std::size_t l = 0; l < kWidth; ++l) h += static_cast<double>(weight(i, l, 1)) * static_cast<double>(weight(l, j, 2));
          sum += h * static_cast<double>(weight(j, k, 3));
        }
        wrong += std::abs(static_cast<double>(y[i * kWidth + k]) - sum) > 1e-3 ? 1 : 0;
      }
    if (job.my_pe() == 0) std::printf("two fused layers over %d PEs, %d elements wrong\n", job.n_pes(), wrong);
    job.barrier();
    here.free(y);
    here.free(x);
    return wrong == 0 ? 0 : 1;
  });
}

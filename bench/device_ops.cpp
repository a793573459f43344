// SPDX-License-Identifier: Apache-2.0
// Fused operators beside the same work done one after the other, in the same run:
//   the tiles' matrix kernel                         against   Eigen's product of the whole matrices
//   matmul + all-reduce, all-gather + matmul, fused  against   matmul, then the collective
//   by the copy engine: how much of the communication is hidden behind the computation
// Run: shoalrun -n 2 device_operators [rows inner columns]
//      SHOAL_XDMA_RATE=500000000 SHOAL_XDMA_LATENCY=20000 shoalrun -n 2 device_operators      with an emulated link
#include <shoal/ops/matmul.hpp>
#include <shoal/shoal.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace device = shoal::device;
namespace ops = shoal::ops;
using device::Core;
using device::DeviceView;

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Median milliseconds of each of the bodies, run in turns so that all see the same machine; all PEs start each together.
template <std::size_t N>
std::array<double, N> measure(const std::array<std::function<void()>, N>& bodies) {
  std::array<std::vector<double>, N> times;
  for (int i = 0; i < 11; ++i)
    for (std::size_t k = 0; k < N; ++k) {
      shoal::barrier();
      const double began = seconds();
      bodies[k]();
      shoal::barrier();
      times[k].push_back((seconds() - began) * 1e3);
    }
  std::array<double, N> medians;
  for (std::size_t k = 0; k < N; ++k) {
    std::sort(times[k].begin(), times[k].end());
    medians[k] = times[k][times[k].size() / 2];
  }
  return medians;
}

struct Sizes {
  std::size_t rows, inner, columns;
};

void report(const char* name, double product, double collective, double one_after_other, double fused) {
  std::printf("%-32s product %8.2f ms, then collective %7.2f ms: %8.2f ms; fused %8.2f ms: %.2f of it\n", name, product, collective,
              one_after_other, fused, fused / one_after_other);
}
void report_hidden(const char* name, double product, double moving, double fused) {
  std::printf("%-32s product %8.2f ms, moving alone %8.2f ms, fused %8.2f ms: %.0f %% of the moving hidden\n", name, product, moving, fused,
              100 * (1 - (fused - product) / moving));
}

}  // namespace

int main(int argc, char** argv) {
  const Sizes size = argc == 4 ? Sizes{std::strtoul(argv[1], nullptr, 10), std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10)}
                               : Sizes{1024, 1024, 1024};
  return shoal::run([&](shoal::Job& job) {
    constexpr int kCores = 1;
    const shoal::Device here;
    const shoal::Stream stream(here);
    const auto team = here.team();
    const bool speaks = job.my_pe() == 0;
    const auto n = static_cast<std::size_t>(job.n_pes());
    std::vector<float> a(size.rows * size.inner, 0.5f), b(size.inner * size.columns, 0.25f), whole(size.rows * size.columns);
    float* c = here.allocate<float>(size.rows * size.columns);
    float* product = here.allocate<float>(size.rows * size.columns);
    const ops::Matrix<const float> left{a.data(), size.rows, size.inner, size.inner}, right{b.data(), size.inner, size.columns, size.columns};

    const auto by_eigen = [&] { ops::detail::view(ops::matrix(whole.data(), size.rows, size.columns)).noalias() = ops::detail::view(left) * ops::detail::view(right); };
    const ops::detail::Plan plan{size.rows, size.columns, {}, 1, false};
    const auto by_tiles = [&] {
      shoal::launch([=, data = product](const DeviceView& view) {
        const Core core(view);
        for (std::size_t round = static_cast<std::size_t>(core.id()); round < plan.rounds(); round += static_cast<std::size_t>(core.count())) {
          const auto tile = plan.tile(0, round);
          ops::multiply(core, ops::Matrix<float>{data + tile.row * size.columns + tile.column, tile.rows, tile.columns, size.columns},
                        left.block(tile.row, 0, tile.rows, size.inner), right.block(0, tile.column, size.inner, tile.columns));
        }
      }, kCores, stream);
      stream.synchronize();
    };
    const double gflop = 2e-6 * static_cast<double>(size.rows * size.inner) * static_cast<double>(size.columns);
    {
      ops::MatmulAllReduce<float> fused(here, team, size.rows, size.columns, kCores);
      const auto reduce = [&] {
        stream.all_reduce(team, c, product, size.rows * size.columns, device::Sum(), kCores);
        stream.synchronize();
      };
      const auto run_fused = [&](const ops::Matrix<const float>& l, const ops::Matrix<const float>& r, device::Engine engine) {
        fused.launch(stream, ops::matrix(c, size.rows, size.columns), l, r, engine);
        stream.synchronize();
      };
      const ops::Matrix<const float> thin_left{a.data(), size.rows, 1, size.inner}, thin_right{b.data(), 1, size.columns, size.columns};
      const auto [eigen, tiles, collective, direct, moving, engine] = measure<6>(
          {by_eigen, by_tiles, reduce, [&] { run_fused(left, right, device::Engine::automatic); },
           [&] { run_fused(thin_left, thin_right, device::Engine::xdma); }, [&] { run_fused(left, right, device::Engine::xdma); }});
      if (speaks) {
        std::printf("product of %zu x %zu x %zu: Eigen %.2f ms (%.1f GFLOP/s), by tiles %.2f ms: %.2f of its speed\n", size.rows, size.inner, size.columns,
                    eigen, gflop / eigen, tiles, eigen / tiles);
        report("matmul + all-reduce", tiles, collective, tiles + collective, direct);
        report_hidden("matmul + all-reduce, xdma", tiles, moving, engine);
      }
    }
    {
      const std::size_t part = size.rows / n;
      const ops::AllGatherMatmul<float> fused(here, team, part, size.inner, kCores, 128);
      float* mine = here.allocate<float>(part * size.inner);
      float* all = here.allocate<float>(part * n * size.inner);
      std::vector<float> result(part * n * size.columns);
      std::fill_n(mine, part * size.inner, 0.5f), std::fill_n(all, part * n * size.inner, 0.0f);
      const ops::Matrix<const float> piece{mine, part, size.inner, size.inner};
      const auto run_fused = [&](device::Engine engine) {
        fused.launch(stream, ops::matrix(result.data(), part * n, size.columns), piece, right, engine);
        stream.synchronize();
      };
      const auto gather = [&] {
        shoal::launch([=](const DeviceView& view) { device::all_gather(device::Group(Core(view)), team, all, mine, part * size.inner); }, kCores, stream);
        stream.synchronize();
      };
      const auto move = [&] {
        shoal::launch([=](const DeviceView& view) {
          const Core core(view);
          core.barrier(team);
          for (int k = 1; k < team.size; ++k) {
            const int pe = (team.rank + k) % team.size;
            for (std::size_t row = 0; row < part; row += 128)
              core.get_nbi(all + (static_cast<std::size_t>(pe) * part + row) * size.inner, mine + row * size.inner, std::min<std::size_t>(128, part - row) * size.inner, pe,
                           device::Engine::xdma);
          }
          core.barrier(team);
        }, kCores, stream);
        stream.synchronize();
      };
      const auto [tiles, collective, direct, moving, engine] = measure<5>(
          {by_tiles, gather, [&] { run_fused(device::Engine::automatic); }, move, [&] { run_fused(device::Engine::xdma); }});
      if (speaks) {
        report("all-gather + matmul", tiles, collective, tiles + collective, direct);
        report_hidden("all-gather + matmul, xdma", tiles, moving, engine);
      }
      job.barrier();
      here.free(all);
      here.free(mine);
    }
    here.free(product);
    here.free(c);
  });
}

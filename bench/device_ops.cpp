// SPDX-License-Identifier: Apache-2.0
// Fused operators beside the same work done one after the other, in the same run, for float, float16 and bfloat16:
//   the tiles' matrix kernel                                             against   Eigen's product of the whole matrices (float)
//   matmul + all-reduce, matmul + reduce-scatter, all-gather + matmul    against   matmul, then the collective
//   dispatch, experts and combine in one kernel                          against   all-to-all, experts, all-to-all, combine
//   by the copy engine: how much of the communication is hidden behind the computation
// Run: shoalrun -n 2 device_operators [rows inner columns]
//      SHOAL_XDMA_RATE=500000000 SHOAL_XDMA_LATENCY=20000 shoalrun -n 2 device_operators      with an emulated link
#include <shoal/ops/experts.hpp>
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
using device::Engine;
using device::Group;

namespace {

constexpr int kCores = 1;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Milliseconds of each of the bodies, run in turns so that all see the same machine; all PEs start each together.
template <std::size_t N>
using Times = std::array<std::vector<double>, N>;
template <std::size_t N>
Times<N> measure(const std::array<std::function<void()>, N>& bodies) {
  Times<N> times;
  for (int i = 0; i < 15; ++i)
    for (std::size_t k = 0; k < N; ++k) {
      shoal::barrier();
      const double began = seconds();
      bodies[k]();
      shoal::barrier();
      times[k].push_back((seconds() - began) * 1e3);
    }
  return times;
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
/// The median of what `figure(turn)` is of the times of one turn: what slows a whole turn down matters little.
template <class Figure>
double of_turns(std::size_t turns, Figure&& figure) {
  std::vector<double> values;
  for (std::size_t i = 0; i < turns; ++i) values.push_back(figure(i));
  return median(values);
}

template <class T>
constexpr const char* kName = std::is_same_v<T, float> ? "float" : std::is_same_v<T, shmemx_half_t> ? "float16" : "bfloat16";

template <class T>
class Bench {
 public:
  Bench(const shoal::Device& here, const shoal::Stream& stream, std::size_t rows, std::size_t inner, std::size_t columns)
      : here_(here), stream_(stream), team_(here.team()), rows_(rows), inner_(inner), columns_(columns), a_(rows * inner, number(0.5f)),
        b_(inner * columns, number(0.25f)), c_(here.allocate<T>(rows * columns)), product_(here.allocate<T>(rows * columns)) {}
  ~Bench() {
    shoal::barrier();
    here_.free(product_);
    here_.free(c_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run() {
    if constexpr (std::is_same_v<T, float>) product_beside_eigen();
    matmul_all_reduce();
    matmul_reduce_scatter();
    all_gather_matmul();
    experts();
  }

 private:
  using Const = ops::Matrix<const T>;

  static T number(float value) { return device::Accumulator<T>::narrow(value); }
  std::size_t members() const { return static_cast<std::size_t>(team_.size); }
  bool speaks() const { return team_.rank == 0; }
  Const left() const { return {a_.data(), rows_, inner_, inner_}; }
  Const right() const { return {b_.data(), inner_, columns_, columns_}; }

  template <class Kernel>
  void run_kernel(Kernel kernel) {
    shoal::launch(kernel, kCores, stream_);
    stream_.synchronize();
  }
  /// The whole product, by the operators' own tiles.
  void by_tiles() {
    const ops::detail::Plan plan{rows_, columns_, {}, 1, false};
    run_kernel([=, to = product_, l = left(), r = right()](const DeviceView& view) {
      const Core core(view);
      for (std::size_t round = static_cast<std::size_t>(core.id()); round < plan.rounds(); round += static_cast<std::size_t>(core.count())) {
        const auto tile = plan.tile(0, round);
        ops::multiply(core, ops::Matrix<T>{to + tile.row * plan.columns + tile.column, tile.rows, tile.columns, plan.columns},
                      l.block(tile.row, 0, tile.rows, l.columns), r.block(0, tile.column, r.rows, tile.columns));
      }
    });
  }
  using Samples = std::vector<double>;
  void report(const char* name, const Samples& product, const Samples& collective, const Samples& fused) const {
    if (speaks())
      std::printf("%-8s %-24s product %7.2f ms, then the collective %6.2f ms; fused %7.2f ms: %.2f of both\n", kName<T>, name, median(product),
                  median(collective), median(fused), of_turns(fused.size(), [&](std::size_t i) { return fused[i] / (product[i] + collective[i]); }));
  }
  /// @param adding   of the members' parts, which the cores do as well
  /// @param copying  the same bytes by the core: an emulated engine has a processor make these copies, which a real one doesn't
  void report_hidden(const char* name, const Samples& product, const Samples& adding, const Samples& moving, const Samples& copying,
                     const Samples& fused) const {
    const auto hidden = [&](std::size_t i) { return 100 * (1 - (fused[i] - product[i] - adding[i]) / moving[i]); };
    const auto by_engine_alone = [&](std::size_t i) { return 100 * (1 - (fused[i] - product[i] - adding[i] - copying[i]) / moving[i]); };
    if (speaks() && members() > 1)  // else nothing moves
      std::printf("%-8s %-24s computing %7.2f ms, moving by xdma %6.2f ms; fused %7.2f ms: %.0f %% of the moving hidden, %.0f %% without the %.2f ms of "
                  "the processor's that the engine takes\n",
                  kName<T>, name, median(product) + median(adding), median(moving), median(fused), of_turns(fused.size(), hidden),
                  of_turns(fused.size(), by_engine_alone), median(copying));
  }
  /// What a fused reduction has the engine move: the others' tiles to them, and this PE's results to all others.
  void move_tiles(const ops::detail::Plan& plan, Engine by) {
    run_kernel([=, team = team_, to = c_, from = product_, most = rows_ * columns_](const DeviceView& view) {
      const Core core(view);
      core.barrier(team);
      for (std::size_t round = 0; round < plan.rounds(); ++round) {
        const auto tile = plan.tile(team.rank, round);
        const std::size_t n = tile.rows * tile.columns, at = std::min(round * plan.tile_elements(), most - n);
        for (int k = 1; k < team.size; ++k) {
          const int pe = team.world[(team.rank + k) % team.size];
          core.put_nbi(to + at, from + at, n, pe, by);
          if (!plan.scatter) core.put_nbi(to + at, from + at, n, pe, by);
        }
      }
      core.barrier(team);
    });
  }
  /// What the cores of a fused reduction do beside the product: the sums of this PE's tiles, here of memory of its own.
  void add_tiles(const ops::detail::Plan& plan) {
    run_kernel([=, members = team_.size, rank = team_.rank, to = c_, from = product_, most = rows_ * columns_](const DeviceView& view) {
      using A = device::Accumulator<T>;
      constexpr std::size_t kStrip = 2048;
      auto* const sum = Core(view).scratch<typename A::type>(kStrip);
      for (std::size_t round = 0; round < plan.rounds(); ++round) {
        const auto tile = plan.tile(rank, round);
        const std::size_t n = tile.rows * tile.columns, at = std::min(round * plan.tile_elements(), most - n);
        for (std::size_t begin = 0; begin < n; begin += kStrip) {
          const std::size_t some = std::min(kStrip, n - begin);
          for (int member = 0; member < members; ++member) {
            const T* const values = (member % 2 == 0 ? from : to) + at + begin;
            for (std::size_t i = 0; i < some; ++i) sum[i] = member == 0 ? A::widen(values[i]) : sum[i] + A::widen(values[i]);
          }
          for (std::size_t i = 0; i < some; ++i) to[at + begin + i] = A::narrow(sum[i]);
        }
      }
    });
  }

  void product_beside_eigen() {
    std::vector<float> whole(rows_ * columns_);
    const auto by_eigen = [&] { ops::detail::view(ops::matrix(whole.data(), rows_, columns_)).noalias() = ops::detail::view(left()) * ops::detail::view(right()); };
    const auto [eigen, tiles] = measure<2>({by_eigen, [&] { by_tiles(); }});
    const double gflop = 2e-6 * static_cast<double>(rows_ * inner_) * static_cast<double>(columns_);
    if (speaks())
      std::printf("product of %zu x %zu x %zu: Eigen %.2f ms (%.1f GFLOP/s), by tiles %.2f ms: %.2f of its speed\n", rows_, inner_, columns_,
                  median(eigen), gflop / median(eigen), median(tiles), of_turns(eigen.size(), [&, e = &eigen, t = &tiles](std::size_t i) { return (*e)[i] / (*t)[i]; }));
  }

  void matmul_all_reduce() {
    ops::MatmulAllReduce<T> fused(here_, team_, rows_, columns_, kCores);
    const auto run_fused = [&](Engine engine) {
      fused.launch(stream_, ops::matrix(c_, rows_, columns_), left(), right(), engine);
      stream_.synchronize();
    };
    const auto reduce = [&] {
      stream_.all_reduce(team_, c_, product_, rows_ * columns_, device::Sum(), kCores);
      stream_.synchronize();
    };
    const ops::detail::Plan plan{rows_, columns_, {}, team_.size, false};
    const auto [tiles, collective, direct, adding, moving, copying, engine] =
        measure<7>({[&] { by_tiles(); }, reduce, [&] { run_fused(Engine::automatic); }, [&] { add_tiles(plan); }, [&] { move_tiles(plan, Engine::xdma); },
                    [&] { move_tiles(plan, Engine::mte); }, [&] { run_fused(Engine::xdma); }});
    report("matmul + all-reduce", tiles, collective, direct);
    report_hidden("matmul + all-reduce", tiles, adding, moving, copying, engine);
  }

  void matmul_reduce_scatter() {
    ops::MatmulReduceScatter<T> fused(here_, team_, rows_, columns_, kCores);
    const std::size_t part = rows_ / members();
    const auto run_fused = [&](Engine engine) {
      fused.launch(stream_, ops::matrix(c_, part, columns_), left(), right(), engine);
      stream_.synchronize();
    };
    const auto reduce = [&] {
      run_kernel([=, team = team_, to = c_, from = product_, n = part * columns_](const DeviceView& view) {
        device::reduce_scatter(Group(Core(view)), team, to, from, n, device::Sum());
      });
    };
    const ops::detail::Plan plan{rows_, columns_, {}, team_.size, true};
    const auto [tiles, collective, direct, adding, moving, copying, engine] =
        measure<7>({[&] { by_tiles(); }, reduce, [&] { run_fused(Engine::automatic); }, [&] { add_tiles(plan); }, [&] { move_tiles(plan, Engine::xdma); },
                    [&] { move_tiles(plan, Engine::mte); }, [&] { run_fused(Engine::xdma); }});
    report("matmul + reduce-scatter", tiles, collective, direct);
    report_hidden("matmul + reduce-scatter", tiles, adding, moving, copying, engine);
  }

  void all_gather_matmul() {
    constexpr std::size_t kTileRows = 128;
    const std::size_t part = rows_ / members(), inner = inner_;
    const ops::AllGatherMatmul<T> fused(here_, team_, part, inner, kCores, kTileRows);
    T* const mine = here_.allocate<T>(part * inner);
    T* const all = here_.allocate<T>(rows_ * inner);
    std::fill_n(mine, part * inner, number(0.5f)), std::fill_n(all, rows_ * inner, number(0));
    const auto run_fused = [&](Engine engine) {
      fused.launch(stream_, ops::matrix(product_, rows_, columns_), Const{mine, part, inner, inner}, right(), engine);
      stream_.synchronize();
    };
    const auto gather = [&] {
      run_kernel([=, team = team_](const DeviceView& view) { device::all_gather(Group(Core(view)), team, all, mine, part * inner); });
    };
    const auto move = [&](Engine by) {
      run_kernel([=, team = team_](const DeviceView& view) {
        const Core core(view);
        core.barrier(team);
        for (int k = 1; k < team.size; ++k) {
          const int member = (team.rank + k) % team.size;
          for (std::size_t row = 0; row < part; row += kTileRows)
            core.get_nbi(all + (static_cast<std::size_t>(member) * part + row) * inner, mine + row * inner, std::min(kTileRows, part - row) * inner,
                         team.world[member], by);
        }
        core.barrier(team);
      });
    };
    const auto [tiles, collective, direct, moving, copying, engine] =
        measure<6>({[&] { by_tiles(); }, gather, [&] { run_fused(Engine::automatic); }, [&] { move(Engine::xdma); }, [&] { move(Engine::mte); },
                    [&] { run_fused(Engine::xdma); }});
    report("all-gather + matmul", tiles, collective, direct);
    report_hidden("all-gather + matmul", tiles, Samples(tiles.size()), moving, copying, engine);
    shoal::barrier();
    here_.free(all);
    here_.free(mine);
  }

  /// Tokens of `inner` numbers, two choices each, shared out evenly; an expert is a product with a square matrix.
  void experts() {
    constexpr std::size_t kTile = 64;
    const std::size_t width = std::min<std::size_t>(inner_, 512), choices = 2, total = 2 * members();
    const std::size_t n = rows_ / total * total, each = n * choices / total;  // tokens here; of them, for each expert
    const ops::ExpertShape shape{2, each * members(), n, choices, width};
    const ops::Experts<T> layer(here_, team_, shape, kCores);
    std::vector<T> tokens(n * width, number(0.5f)), out(n * width), matrix(width * width, number(1.0f / 1024)), packed(n * choices * width);
    std::vector<int> chosen(n * choices);
    std::vector<float> weights(n * choices, 0.5f);
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = static_cast<int>(i % total);
    const Const by{matrix.data(), width, width, width};
    const auto expert = [by](const Core& core, std::size_t, const ops::Matrix<T>& to, const Const& from) {
      for (std::size_t column = 0; column < by.columns; column += 128) {
        const std::size_t some = std::min<std::size_t>(128, by.columns - column);
        ops::multiply(core, to.block(0, column, to.rows, some), from, by.block(0, column, by.rows, some));
      }
    };
    const auto fused = [&] {
      layer.launch(stream_, out.data(), tokens.data(), chosen.data(), weights.data(), n, expert);
      stream_.synchronize();
    };
    // One after the other: what is for one member lies together, there and back.
    const std::size_t block = n * choices / members() * width;
    T* const send = here_.allocate<T>(n * choices * width);
    T* const received = here_.allocate<T>(n * choices * width);
    const auto place = [=](std::size_t i) { return (i % total) * each + i / total; };  // of a choice, among those of this PE
    const auto pack = [&] {
      for (std::size_t i = 0; i < n * choices; ++i) std::copy_n(tokens.data() + i / choices * width, width, send + place(i) * width);
    };
    const auto exchange = [&](T* to, T* from) {
      run_kernel([=, team = team_](const DeviceView& view) { device::all_to_all(Group(Core(view)), team, to, from, block); });
    };
    const auto compute = [&] {
      run_kernel([=, rows = n * choices](const DeviceView& view) {
        const Core core(view);
        for (std::size_t row = 0; row < rows; row += kTile) {
          const std::size_t some = std::min(kTile, rows - row);
          expert(core, 0, ops::Matrix<T>{send + row * width, some, width, width}, Const{received + row * width, some, width, width});
        }
      });
    };
    const auto combine = [&] {
      using A = device::Accumulator<T>;
      for (std::size_t token = 0; token < n; ++token)
        for (std::size_t j = 0; j < width; ++j) {
          float sum = 0;
          for (std::size_t i = token * choices; i < (token + 1) * choices; ++i) sum += weights[i] * A::widen(received[place(i) * width + j]);
          out[token * width + j] = A::narrow(sum);
        }
    };
    const auto apart = [&] {
      pack();
      exchange(received, send);
      compute();
      exchange(received, send);
      combine();
    };
    const auto [one_by_one, products, together] = measure<3>({apart, compute, fused});
    if (speaks())
      std::printf("%-8s %-24s one after the other %.2f ms (%.2f ms of it products); fused %.2f ms: %.2f of it\n", kName<T>, "experts",
                  median(one_by_one), median(products), median(together),
                  of_turns(together.size(), [&, f = &together, o = &one_by_one](std::size_t i) { return (*f)[i] / (*o)[i]; }));
    shoal::barrier();
    here_.free(received);
    here_.free(send);
  }

  shoal::Device here_;
  const shoal::Stream& stream_;
  device::TeamView team_;
  std::size_t rows_, inner_, columns_;
  std::vector<T> a_, b_;
  T *c_, *product_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool given = argc == 4;
  const auto size = [&](int i) { return given ? std::strtoul(argv[i], nullptr, 10) : 1024UL; };
  return shoal::run([&](shoal::Job&) {
    const shoal::Device here;
    const shoal::Stream stream(here);
    Bench<float>(here, stream, size(1), size(2), size(3)).run();
    Bench<shmemx_half_t>(here, stream, size(1), size(2), size(3)).run();
    Bench<shmemx_bfloat16_t>(here, stream, size(1), size(2), size(3)).run();
  });
}

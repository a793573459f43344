// SPDX-License-Identifier: Apache-2.0
// The fused operators against products in float64, for all their types, on both paths, again and again on one workspace.
#include <shoal/ops/experts.hpp>
#include <shoal/ops/matmul.hpp>

#include "support.hpp"

#include <cmath>
#include <vector>

using namespace device_test;
using device::Core;
using device::TeamView;
namespace ops = shoal::ops;

namespace {

template <class T>
using A = device::Accumulator<T>;
/// Half the distance between 1 and the next number.
template <class T>
constexpr double kUnit = std::is_same_v<T, double> ? 0x1p-53 : std::is_same_v<T, float> ? 0x1p-24 : std::is_same_v<T, shmemx_half_t> ? 0x1p-11 : 0x1p-8;

template <class T>
T value_of(unsigned pe, std::size_t i, unsigned salt) {
  const unsigned mixed = (static_cast<unsigned>(i) * 2654435761u + pe * 40503u + salt * 97u) >> 7;
  return A<T>::narrow(static_cast<typename A<T>::type>(static_cast<int>(mixed % 2001) - 1000) / static_cast<typename A<T>::type>(1023));
}
template <class T>
double exact(T value) { return static_cast<double>(A<T>::widen(value)); }

template <class T>
struct Inputs {
  std::size_t rows, inner, columns;
  unsigned salt;
  T a(int pe, std::size_t i, std::size_t k) const { return value_of<T>(static_cast<unsigned>(pe), i * inner + k, salt); }
  T b(int pe, std::size_t k, std::size_t j) const { return value_of<T>(static_cast<unsigned>(pe) + 100, k * columns + j, salt); }
};

/// `roundings` of the type, and those of accumulating `terms` in its wide one.
template <class T>
void check_close(T got, double sum, double magnitude, double roundings, double terms, const char* what, int line) {
  const double wide = std::is_same_v<typename A<T>::type, double> ? 0x1p-53 : 0x1p-24;
  const double allowed = magnitude * (roundings * kUnit<T> + terms * wide) + 1e-30;
  const double off = std::abs(exact(got) - sum);
  if (!(off <= allowed)) device_test::check(false, what, line, std::to_string(exact(got)) + " vs " + std::to_string(sum));
}

/// Element (i, j) of the sum over the members of a * b, and of the magnitudes.
template <class T>
std::pair<double, double> product(const Inputs<T>& in, int members, std::size_t i, std::size_t j) {
  double sum = 0, magnitude = 0;
  for (int pe = 0; pe < members; ++pe)
    for (std::size_t k = 0; k < in.inner; ++k) {
      const double term = exact(in.a(pe, i, k)) * exact(in.b(pe, k, j));
      sum += term;
      magnitude += std::abs(term);
    }
  return {sum, magnitude};
}

template <class T>
void matmul_reductions(const Device& device, const Stream& stream, const TeamView& team, int cores) {
  const int n = shmem_n_pes(), me = shmem_my_pe();
  constexpr std::size_t kRows = 150, kInner = 70, kColumns = 131;
  const ops::TileShape shape{40, 48};
  ops::MatmulAllReduce<T> all_reduce(device, team, kRows, kColumns, cores, shape);
  ops::MatmulReduceScatter<T> reduce_scatter(device, team, kRows, kColumns, cores, shape);
  Memory<T> c(device, kRows * kColumns);
  std::vector<T> a(kRows * kInner), b(kInner * kColumns), part(kRows / static_cast<std::size_t>(n) * kColumns);
  for (unsigned round = 0; round < 4; ++round) {
    const Inputs<T> in{kRows, kInner, kColumns, round};
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t k = 0; k < kInner; ++k) a[i * kInner + k] = in.a(me, i, k);
    for (std::size_t k = 0; k < kInner; ++k)
      for (std::size_t j = 0; j < kColumns; ++j) b[k * kColumns + j] = in.b(me, k, j);
    const auto engine = round % 2 == 0 ? device::Engine::automatic : device::Engine::xdma;
    const ops::Matrix<const T> left{a.data(), kRows, kInner, kInner}, right{b.data(), kInner, kColumns, kColumns};
    all_reduce.launch(stream, ops::matrix(c.get(), kRows, kColumns), left, right, engine);
    reduce_scatter.launch(stream, ops::matrix(part.data(), kRows / static_cast<std::size_t>(n), kColumns), left, right, engine);
    stream.synchronize();
    const std::size_t first = kRows / static_cast<std::size_t>(n) * static_cast<std::size_t>(me);
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t j = 0; j < kColumns; ++j) {
        const auto [sum, magnitude] = product(in, n, i, j);
        check_close(c[i * kColumns + j], sum, magnitude, 2, kInner + static_cast<double>(n), "matmul + all-reduce", __LINE__);
        if (i >= first && i < first + kRows / static_cast<std::size_t>(n))
          check_close(part[(i - first) * kColumns + j], sum, magnitude, 2, kInner + static_cast<double>(n), "matmul + reduce-scatter", __LINE__);
      }
    shmem_barrier_all();
  }
}

template <class T>
void gather(const Device& device, const Stream& stream, const TeamView& team, int cores) {
  const int n = shmem_n_pes(), me = shmem_my_pe();
  constexpr std::size_t kPart = 45, kInner = 64, kColumns = 150;
  const std::size_t rows = kPart * static_cast<std::size_t>(n);
  ops::AllGatherMatmul<T> operation(device, team, kPart, kInner, cores, 16);
  Memory<T> a(device, kPart * kInner);
  std::vector<T> b(kInner * kColumns), c(rows * kColumns);
  for (unsigned round = 0; round < 4; ++round) {
    const Inputs<T> in{kPart, kInner, kColumns, round};
    for (std::size_t i = 0; i < kPart; ++i)
      for (std::size_t k = 0; k < kInner; ++k) a[i * kInner + k] = in.a(me, i, k);
    for (std::size_t k = 0; k < kInner; ++k)
      for (std::size_t j = 0; j < kColumns; ++j) b[k * kColumns + j] = in.b(me, k, j);
    operation.launch(stream, ops::matrix(c.data(), rows, kColumns), {a.get(), kPart, kInner, kInner}, {b.data(), kInner, kColumns, kColumns},
                     round % 2 == 0 ? device::Engine::automatic : device::Engine::xdma);
    stream.synchronize();
    for (int pe = 0; pe < n; ++pe)
      for (std::size_t i = 0; i < kPart; ++i)
        for (std::size_t j = 0; j < kColumns; ++j) {
          double sum = 0, magnitude = 0;
          for (std::size_t k = 0; k < kInner; ++k) {
            const double term = exact(in.a(pe, i, k)) * exact(b[k * kColumns + j]);
            sum += term;
            magnitude += std::abs(term);
          }
          check_close(c[(static_cast<std::size_t>(pe) * kPart + i) * kColumns + j], sum, magnitude, 1, kInner, "all-gather + matmul", __LINE__);
        }
    shmem_barrier_all();
  }
}

template <class T>
void experts(const Device& device, const Stream& stream, const TeamView& team, int cores, unsigned seed) {
  const int n = shmem_n_pes(), me = shmem_my_pe();
  ops::ExpertShape shape;
  shape.experts_each = 3;
  shape.most_tokens = 100;
  shape.choices = 2;
  shape.width = 33;
  shape.capacity = shape.most_tokens * static_cast<std::size_t>(n) * 2;
  ops::Experts<T> layer(device, team, shape, cores);
  const int total = 3 * n;
  std::mt19937 random(seed + static_cast<unsigned>(me));
  for (unsigned round = 0; round < 4; ++round) {
    const std::size_t tokens = round == 2 ? 0 : 20 + random() % 80;
    std::vector<T> in(tokens * shape.width), out(tokens * shape.width);
    std::vector<int> chosen(tokens * 2);
    std::vector<float> weights(tokens * 2);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = value_of<T>(static_cast<unsigned>(me), i, round);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      chosen[i] = round == 3 ? 0 : static_cast<int>(random() % static_cast<unsigned>(total));  // once all to one
      weights[i] = static_cast<float>(random() % 16) / 16.0f;
    }
    layer.launch(stream, out.data(), in.data(), chosen.data(), weights.data(), tokens,
                 [](const Core&, std::size_t expert, const ops::Matrix<T>& to, const ops::Matrix<const T>& from) {
                   for (std::size_t i = 0; i < from.rows; ++i)
                     for (std::size_t j = 0; j < from.columns; ++j)
                       to.row(i)[j] = A<T>::narrow(A<T>::widen(from.row(i)[j]) * static_cast<typename A<T>::type>(expert + 1));
                 });
    stream.synchronize();
    for (std::size_t i = 0; i < tokens; ++i)
      for (std::size_t j = 0; j < shape.width; ++j) {
        double sum = 0, magnitude = 0;
        for (std::size_t k = 0; k < 2; ++k) {
          const double term = weights[i * 2 + k] * exact(in[i * shape.width + j]) * (chosen[i * 2 + k] + 1);
          sum += term;
          magnitude += std::abs(term);
        }
        check_close(out[i * shape.width + j], sum, magnitude, 2, 4, "experts", __LINE__);
      }
    shmem_barrier_all();
  }
}

/// Nothing to do is done; tiles and cores that can't be are refused.
void extremes(const Device& device, const Stream& stream, const TeamView& team) {
  ops::MatmulAllReduce<float> all_reduce(device, team, 0, 7, 2);
  all_reduce.launch(stream, ops::matrix<float>(nullptr, 0, 7), ops::matrix<const float>(nullptr, 0, 3), ops::matrix<const float>(nullptr, 3, 7));
  ops::AllGatherMatmul<float> gather(device, team, 0, 3, 2);
  gather.launch(stream, ops::matrix<float>(nullptr, 0, 7), ops::matrix<const float>(nullptr, 0, 3), ops::matrix<const float>(nullptr, 3, 7));
  ops::Experts<float> layer(device, team, ops::ExpertShape{}, 2);
  layer.launch(stream, static_cast<float*>(nullptr), static_cast<const float*>(nullptr), nullptr, nullptr, 0,
               [](const Core&, std::size_t, const ops::Matrix<float>&, const ops::Matrix<const float>&) {});
  stream.synchronize();
  const auto refused = [](auto&& make) {
    try {
      make();
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  CHECK(refused([&] { ops::MatmulAllReduce<float>(device, team, 8, 8, 2, {0, 8}); }));
  CHECK(refused([&] { ops::MatmulAllReduce<float>(device, team, 8, 8, 2, {8, 0}); }));
  CHECK(refused([&] { ops::MatmulAllReduce<float>(device, team, 8, 8, 0); }));
  CHECK(refused([&] { ops::AllGatherMatmul<float>(device, team, 8, 8, 2, 0); }));
  CHECK(refused([&] { ops::AllGatherMatmul<float>(device, team, 8, 8, device.cores() + 1); }));
  CHECK(refused([&] { ops::Experts<float>(device, team, ops::ExpertShape{}, -1); }));
}

template <class T>
void one_type(const Device& device, const Stream& stream, const TeamView& team, int cores, unsigned seed) {
  matmul_reductions<T>(device, stream, team, cores);
  gather<T>(device, stream, team, cores);
  experts<T>(device, stream, team, cores, seed);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mistake = argc > 1 ? argv[1] : "";
  return shoal::run([&mistake](Job& job) {
    const Device device;
    const Stream stream(device);
    if (mistake == "engines") {
      ops::MatmulReduceScatter<float> operation(device, device.team(), 64, 8, 2);
      const Memory<float> memory(device, 1024);
      operation.launch(stream, ops::matrix(memory.get(), 64 / static_cast<std::size_t>(job.n_pes()), 8), ops::matrix<const float>(memory.get(), 64, 4),
                       ops::matrix<const float>(memory.get(), 4, 8), job.my_pe() == 0 ? device::Engine::xdma : device::Engine::automatic);
      stream.synchronize();
    }
    if (mistake == "unwinding") {  // one PE fails, while the others wait for it
      const ops::MatmulAllReduce<float> operation(device, device.team(), 64, 64, 1);
      if (job.my_pe() == 0) throw std::runtime_error("no more plums");
      job.barrier();
    }
    const unsigned first_seed = seed();
    extremes(device, stream, device.team());
    for (const int cores : {1, 3}) {
      one_type<float>(device, stream, device.team(), cores, first_seed);
      one_type<shmemx_half_t>(device, stream, device.team(), cores, first_seed);
      one_type<shmemx_bfloat16_t>(device, stream, device.team(), cores, first_seed);
    }
    one_type<double>(device, stream, device.team(), 2, first_seed);
  });
}

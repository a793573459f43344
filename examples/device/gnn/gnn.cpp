// SPDX-License-Identifier: Apache-2.0
// Neighbour aggregation of a graph network: each node adds up the features of its neighbours, which live on any PE. A core fetches
// the neighbours of its next node while it adds up those of the last.
#include <shoal/device/device.hpp>
#include <shoal/shoal.hpp>

#include <cstdio>
#include <random>
#include <vector>

namespace device = shoal::device;

namespace {

constexpr std::size_t kNodes = 2'000;  // on each PE
constexpr std::size_t kWidth = 32;     // features of a node
constexpr std::size_t kMostNeighbours = 16;

/// Node `index` of PE `pe`.
struct Neighbour {
  int pe;
  int index;
};

SHOAL_KERNEL void aggregate(device::DeviceView view, device::TeamView team, float* sums, float* features, const std::size_t* begins,
                            const Neighbour* neighbours) {
  const device::Core core(view);
  const device::Group all(core);
  all.barrier(team);  // everyone's features are there
  float* const buffers[2] = {core.scratch<float>(kMostNeighbours * kWidth), core.scratch<float>(kMostNeighbours * kWidth)};
  device::TransferEvent arrived[2];
  const auto fetch = [&](std::size_t node) {
    for (std::size_t i = begins[node]; i < begins[node + 1]; ++i)
      device::ub2gm::get(core, buffers[node % 2] + (i - begins[node]) * kWidth, features + static_cast<std::size_t>(neighbours[i].index) * kWidth,
                         kWidth, neighbours[i].pe, device::Engine::automatic, &arrived[node % 2]);
  };
  const device::Slice mine = all.part(kNodes, kWidth * sizeof(float));
  if (mine.size() != 0) fetch(mine.begin);
  for (std::size_t node = mine.begin; node < mine.end; ++node) {
    if (node + 1 < mine.end) fetch(node + 1);
    core.wait(arrived[node % 2]);
    for (std::size_t j = 0; j < kWidth; ++j) {
      float sum = 0;
      for (std::size_t i = 0; i < begins[node + 1] - begins[node]; ++i) sum += buffers[node % 2][i * kWidth + j];
      sums[node * kWidth + j] = sum;
    }
  }
  all.barrier(team);
}

float feature(int pe, int index, std::size_t j) { return static_cast<float>((pe * 7 + index * 3 + static_cast<int>(j)) % 101); }

}  // namespace

int main() {
  return shoal::run([](shoal::Job& job) {
    const shoal::Device here;
    const shoal::Stream stream(here);
    float* features = here.allocate<float>(kNodes * kWidth);
    std::vector<float> sums(kNodes * kWidth);
    std::vector<std::size_t> begins{0};
    std::vector<Neighbour> neighbours;
    std::mt19937 random(static_cast<unsigned>(job.my_pe()));
    for (std::size_t node = 0; node < kNodes; ++node) {
      for (std::size_t i = random() % (kMostNeighbours + 1); i > 0; --i)
        neighbours.push_back({static_cast<int>(random() % static_cast<unsigned>(job.n_pes())), static_cast<int>(random() % kNodes)});
      begins.push_back(neighbours.size());
      for (std::size_t j = 0; j < kWidth; ++j) features[node * kWidth + j] = feature(job.my_pe(), static_cast<int>(node), j);
    }
    shoal::launch(aggregate, 2, stream, here.team(), sums.data(), features, static_cast<const std::size_t*>(begins.data()),
                  static_cast<const Neighbour*>(neighbours.data()));
    stream.synchronize();
    int wrong = 0;
    for (std::size_t node = 0; node < kNodes; ++node)
      for (std::size_t j = 0; j < kWidth; ++j) {
        float expected = 0;
        for (std::size_t i = begins[node]; i < begins[node + 1]; ++i) expected += feature(neighbours[i].pe, neighbours[i].index, j);
        wrong += sums[node * kWidth + j] != expected ? 1 : 0;
      }
    if (job.my_pe() == 0) std::printf("%zu nodes with %zu edges on each of %d PEs, %d sums wrong\n", kNodes, neighbours.size(), job.n_pes(), wrong);
    job.barrier();
    here.free(features);
    return wrong == 0 ? 0 : 1;
  });
}

// SPDX-License-Identifier: Apache-2.0
// Key-value shuffle: every PE has pairs with any keys; afterwards each pair is at the PE that its key belongs to. Cores reserve room
// there by an atomic, collect pairs in scratch and send them in batches.
#include <shoal/device/device.hpp>
#include <shoal/shoal.hpp>

#include <cstdio>
#include <random>
#include <vector>

namespace device = shoal::device;

namespace {

constexpr std::size_t kPairs = 20'000;  // on each PE
constexpr std::size_t kBatch = 128;

struct Pair {
  std::uint64_t key, value;
};

int owner_of(std::uint64_t key, int n_pes) { return static_cast<int>(key * 0x9E3779B97F4A7C15u >> 40) % n_pes; }

SHOAL_KERNEL void shuffle(device::DeviceView view, device::TeamView team, Pair* inbox, std::uint64_t* filled, const Pair* pairs) {
  const device::Core core(view);
  const device::Group all(core);
  const device::Slice mine = all.part(kPairs, sizeof(Pair));
  Pair* const batch = core.scratch<Pair>(kBatch);
  for (int k = 0; k < core.n_pes(); ++k) {
    const int pe = (core.my_pe() + k) % core.n_pes();  // everyone begins with another target
    std::size_t held = 0;
    const auto send = [&] {
      if (held == 0) return;
      const std::uint64_t at = core.fetch_add(filled, static_cast<std::uint64_t>(held), pe);  // room for the whole batch
      core.put(inbox + at, batch, held, pe);
      held = 0;
    };
    for (std::size_t i = mine.begin; i < mine.end; ++i) {
      if (owner_of(pairs[i].key, core.n_pes()) != pe) continue;
      batch[held++] = pairs[i];
      if (held == kBatch) send();
    }
    send();
  }
  all.barrier(team);
}

}  // namespace

int main() {
  return shoal::run([](shoal::Job& job) {
    const shoal::Device here;
    const shoal::Stream stream(here);
    const auto n = static_cast<std::size_t>(job.n_pes());
    Pair* inbox = here.allocate<Pair>(kPairs * n);
    auto* filled = here.allocate<std::uint64_t>(1);
    *filled = 0;
    std::mt19937_64 random(static_cast<unsigned>(job.my_pe()));
    std::vector<Pair> pairs(kPairs);
    std::uint64_t sent = 0;
    for (Pair& pair : pairs) {
      pair = {random(), random() % 1000};
      sent += pair.value;
    }
    job.barrier();
    shoal::launch(shuffle, 3, stream, here.team(), inbox, filled, static_cast<const Pair*>(pairs.data()));
    stream.synchronize();
    std::uint64_t received = 0, misplaced = 0;
    for (std::size_t i = 0; i < *filled; ++i) {
      received += inbox[i].value;
      misplaced += owner_of(inbox[i].key, job.n_pes()) != job.my_pe() ? 1u : 0u;
    }
    const auto all_sent = job.world().all_reduce(shoal::op::sum, sent), all_received = job.world().all_reduce(shoal::op::sum, received);
    const auto total = job.world().all_reduce(shoal::op::sum, *filled);
    const bool right = all_sent == all_received && misplaced == 0 && total == kPairs * n;
    if (job.my_pe() == 0) std::printf("%llu pairs shuffled over %d PEs: %s\n", static_cast<unsigned long long>(total), job.n_pes(), right ? "right" : "wrong");
    job.barrier();
    here.free(filled);
    here.free(inbox);
    return right ? 0 : 1;
  });
}

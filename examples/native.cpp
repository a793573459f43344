// SPDX-License-Identifier: Apache-2.0
//
// Native C++: sorts numbers that are spread over all PEs. Each PE owns a range of values; every PE reserves room in the
// others' arrays by an atomic and puts its numbers there, a block for each.
// Shows: the C++20 interface: a job and arrays that end with their scope, spans, remote elements, atomics, reductions.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <shoal/shoal.hpp>
#include <vector>

namespace {

constexpr std::size_t kNumbers = 20000;  // that each PE draws

/// The sum of all numbers' mixed bits: the same before and after if none is lost, doubled or changed.
template <class Range>
std::uint64_t fingerprint(const Range& numbers) {
  std::uint64_t sum = 0;
  for (const std::uint32_t number : numbers) sum += (number + std::uint64_t{1}) * 0x9e3779b97f4a7c15u;
  return sum;
}

int sort_all(shoal::Job& job) {
  const int me = job.my_pe();
  const auto pes = static_cast<std::size_t>(job.n_pes());
  std::mt19937 random(static_cast<std::uint32_t>(me) + 1);
  std::vector<std::uint32_t> drawn(kNumbers);
  std::generate(drawn.begin(), drawn.end(), random);

  // One block for each PE, by the upper bits of the numbers.
  std::vector<std::vector<std::uint32_t>> blocks(pes);
  for (const std::uint32_t number : drawn) blocks[(number * std::uint64_t{pes}) >> 32].push_back(number);

  shoal::Array<std::uint32_t> sorted(2 * kNumbers + 1000);  // on every PE; random numbers spread evenly enough
  shoal::Array<std::uint64_t> used(1);                      // the elements of it that are taken
  for (std::size_t pe = 0; pe < pes; ++pe) {
    const int owner = static_cast<int>(pe);
    const std::uint64_t place = used.on(owner).atomic(0).fetch_add(blocks[pe].size());
    sorted.on(owner).put(place, blocks[pe]);  // throws where it doesn't fit
  }
  job.barrier();  // all blocks have arrived

  const auto mine = sorted.span().first(used[0]);
  std::sort(mine.begin(), mine.end());
  job.barrier();  // now the neighbours may look at each other's

  bool ok = std::is_sorted(mine.begin(), mine.end());
  if (me + 1 < job.n_pes() && !mine.empty() && used.on(me + 1)[0] > 0) {
    ok = ok && mine.back() <= sorted.on(me + 1)[0];  // reads one element of the neighbour's
  }
  const auto world = job.world();
  const std::uint64_t before = world.all_reduce(shoal::op::sum, fingerprint(drawn));
  const std::uint64_t after = world.all_reduce(shoal::op::sum, fingerprint(mine));
  const std::uint64_t count = world.all_reduce(shoal::op::sum, used[0]);
  const std::uint64_t largest = world.all_reduce(shoal::op::max, used[0]);
  ok = ok && before == after && count == kNumbers * pes;
  if (!ok) std::fprintf(stderr, "native: PE %d: the numbers are not the same as before, or not in order\n", me);
  if (me == 0) {
    std::printf("%llu numbers sorted by %zu PEs, at most %llu on one\n", static_cast<unsigned long long>(count), pes,
                static_cast<unsigned long long>(largest));
  }
  return ok ? 0 : 1;
}

}  // namespace

int main() { return shoal::run(sort_all); }

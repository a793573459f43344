// SPDX-License-Identifier: Apache-2.0
#include "runner.hpp"

#include <shmem.h>

#include <algorithm>
#include <cmath>

#include "world.hpp"

namespace shoal::perf {

const char* name_of(Who who) {
  switch (who) {
    case Who::pe0: return "PE 0";
    case Who::pair: return "0 and 1";
    case Who::pairs: return "pairs";
    case Who::all: return "all";
  }
  return "";
}

namespace {

bool takes_part(Who who, const World& world) {
  switch (who) {
    case Who::pe0: return world.me == 0;
    case Who::pair: return world.me < 2;
    case Who::pairs: return world.n == 1 || (world.me ^ 1) < world.n;
    case Who::all: return true;
  }
  return false;
}

/// By linear interpolation between the neighbours.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - static_cast<double>(low));
}

}  // namespace

Stats summarize(std::vector<double> samples, long count) {
  Stats stats;
  if (samples.empty()) return stats;
  stats.samples = samples;
  std::sort(samples.begin(), samples.end());
  stats.median = quantile(samples, 0.5);
  stats.q1 = quantile(samples, 0.25);
  stats.q3 = quantile(samples, 0.75);
  stats.min = samples.front();
  stats.max = samples.back();
  stats.count = count;
  return stats;
}

/// Everybody gets PE 0's value.
long Runner::agree(long value) {
  shmem_barrier_all();
  if (world_.me == 0)
    for (int pe = 0; pe < world_.n; ++pe) shmem_long_p(world_.agreed, value, pe);
  shmem_barrier_all();
  return *world_.agreed;
}

/// Seconds of one run of the loop. PE 0 gets those of the slowest PE where several take part on an equal footing.
double Runner::once(Who who, const Loop& loop, long count) {
  shmem_barrier_all();
  double time = takes_part(who, world_) ? loop(count) : 0;
  if (who == Who::pairs || who == Who::all) {
    shmem_double_p(&world_.times[world_.me], time, 0);
    shmem_barrier_all();
    if (world_.me == 0) time = *std::max_element(world_.times, world_.times + world_.n);
  }
  shmem_barrier_all();
  return time;
}

/// How many turns make a sample long enough. Warms everything up on the way.
Runner::Count Runner::calibrate(Who who, const Loop& loop, long most) {
  constexpr long kDone = 1L << 40;
  for (long turns = 1;;) {
    // The better of two: a process that was put aside for a moment would be taken for a slow operation.
    const double first = once(who, loop, turns);
    const double time = std::max(std::min(first, once(who, loop, turns)), 1e-9);
    long next = 0;
    if (world_.me == 0) {
      const double each = time / static_cast<double>(turns);
      const auto enough = static_cast<long>(std::ceil(plan_.sample_s / each));
      if (time >= plan_.sample_s / 4 || turns >= most)
        next = kDone + std::clamp(enough, 1L, most);
      else
        next = std::min({most, turns * 8, std::max(enough, turns * 2)});
    }
    next = agree(next);
    if (next >= kDone) return {next - kDone, time / static_cast<double>(turns)};
    turns = next;
  }
}

Outcome Runner::measure(Who who, const Case& what) {
  std::vector<const Loop*> loops = {&what.loop};
  if (world_.mapped)
    for (const Named& limit : what.limits) loops.push_back(&limit.loop);
  const std::size_t limits = loops.size() - 1;
  for (const Named& other : what.others) loops.push_back(&other.loop);

  std::vector<Count> counts;
  double slowest = 0;
  for (const Loop* loop : loops) {
    counts.push_back(calibrate(who, *loop, what.most));
    slowest = std::max(slowest, static_cast<double>(counts.back().turns) * counts.back().each_s);
  }
  const double fit = plan_.figure_s / std::max(slowest, 1e-9);
  const long samples = agree(fit >= plan_.samples ? plan_.samples : std::max(3L, static_cast<long>(fit)));

  std::vector<std::vector<double>> times(loops.size());
  for (long sample = 0; sample < samples; ++sample)
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const double time = once(who, *loops[i], counts[i].turns);
      times[i].push_back(time / static_cast<double>(counts[i].turns) * 1e9 * what.scale);
    }
  if (what.finish) what.finish();

  Outcome outcome;
  if (world_.me != 0) return outcome;
  outcome.time = summarize(times[0], counts[0].turns);
  for (std::size_t i = 1; i <= limits; ++i) {
    const Stats stats = summarize(times[i], counts[i].turns);
    if (outcome.limit.count != 0 && outcome.limit.median <= stats.median) continue;
    outcome.limit = stats;
    outcome.limit_name = what.limits[i - 1].name;
  }
  if (what.note) {
    std::vector<double> medians;
    for (std::size_t i = limits + 1; i < loops.size(); ++i) medians.push_back(summarize(times[i], 1).median);
    outcome.note = what.note(outcome.time.median, medians);
  }
  return outcome;
}

}  // namespace shoal::perf

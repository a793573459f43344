// SPDX-License-Identifier: Apache-2.0
// How anything is measured: loops that all PEs run in step, samples, medians.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace shoal::perf {

class World;

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Who runs the loop; everybody else waits in a barrier meanwhile.
enum class Who {
  pe0,    // PE 0 alone
  pair,   // PEs 0 and 1
  pairs,  // each even PE and the next one
  all,
};
const char* name_of(Who who);

/// Does something `count` times and says how many seconds it took.
using Loop = std::function<double(long count)>;

/// A Loop of a body that takes the count and is timed from outside. What the body holds lies in registers while it
/// runs, as it would in a user's loop: hence the copy, which nobody else can reach.
template <class Body>
Loop timed(Body body) {
  return [body](long count) {
    Body here = body;
    const double start = seconds();
    here(count);
    return seconds() - start;
  };
}

/// Nanoseconds an operation takes, over the samples. Only PE 0 has them.
struct Stats {
  double median = 0, q1 = 0, q3 = 0, min = 0, max = 0;
  long count = 0;               // operations a sample
  std::vector<double> samples;  // in the order measured
};
Stats summarize(std::vector<double> samples, long count);

struct Named {
  std::string name;
  Loop loop;
};

/// One thing to measure.
struct Case {
  Loop loop;
  std::vector<Named> limits = {};  // the fastest one counts
  std::vector<Named> others = {};  // measured as well, in turn, for `note`
  double bytes = 0;       // that an operation moves (all PEs that run the loop taken together); 0: none to speak of
  double operations = 1;  // that a turn of the loop is, over all that run at once: for rates
  double scale = 1;       // 0.5 makes half a round trip of a round trip
  long most = 1L << 24;   // turns of the loop a sample may have
  /// Text from the medians of the loop and of `others`.
  std::function<std::string(double, const std::vector<double>&)> note = {};
  std::function<void()> finish = {};  // on all PEs, afterwards
};

struct Outcome {
  Stats time;
  Stats limit;  // count is 0 if there is none
  std::string limit_name;
  std::string note;
};

class Runner {
 public:
  struct Plan {
    int samples;
    double sample_s;  // a sample lasts at least this long
    double figure_s;  // and all samples of a loop about this long at most, with three samples in any case
  };
  Runner(World& world, const Plan& plan) : world_(world), plan_(plan) {}

  /// Collective. Samples of the loop, its limits and the others take turns, so that whatever disturbs the machine
  /// disturbs all of them alike.
  Outcome measure(Who who, const Case& what);

 private:
  struct Count {
    long turns;
    double each_s;
  };
  double once(Who who, const Loop& loop, long count);
  Count calibrate(Who who, const Loop& loop, long most);
  long agree(long value);

  World& world_;
  const Plan plan_;
};

}  // namespace shoal::perf

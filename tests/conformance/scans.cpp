// SPDX-License-Identifier: Apache-2.0
// Chapter "Collectives", scans (new in 1.6): inclusive and exclusive prefix sums over a team's ranks for every type.
#include "reduction_support.hpp"

using namespace conformance;

namespace {

#define SCAN(NAME, TYPE)                                                                \
  struct scan_##NAME {                                                                  \
    using type = TYPE;                                                                  \
    static constexpr const char* name = #NAME;                                          \
    static int inclusive(shmem_team_t team, type* dest, const type* source, size_t n) { \
      return shmem_##NAME##_sum_inscan(team, dest, source, n);                          \
    }                                                                                   \
    static int exclusive(shmem_team_t team, type* dest, const type* source, size_t n) { \
      return shmem_##NAME##_sum_exscan(team, dest, source, n);                          \
    }                                                                                   \
  };
SHMEM_FOR_REDUCE_SUM_PROD_TYPES(SCAN)
#undef SCAN

uint64_t step = 1;

/// The sum over the first `ranks` ranks; 0 over none.
template <class T>
T prefix(const TeamModel& team, int ranks, size_t i) {
  T sum = T(0);
  for (int r = 0; r < ranks; ++r)
    sum = combine(Op::kSum, sum, term<T>(Op::kSum, step, team.world[static_cast<size_t>(r)], i));
  return sum;
}

template <class S, class T = typename S::type>
void scan(const TeamModel& team, Guarded<T>& dest, Guarded<T>& source, size_t n, bool inclusive, bool in_place) {
  ++step;
  dest.use(n, step % 2);
  source.use(n, step / 2 % 2);
  for (size_t i = 0; i < n; ++i) (in_place ? dest : source)[i] = term<T>(Op::kSum, step, me, i);
  shmem_sync_all();
  if (!team.mine()) return;
  const T* from = in_place ? dest.data() : source.data();
  CHECK_EQ((inclusive ? S::inclusive : S::exclusive)(team.handle, dest.data(), from, n), 0);
  for (size_t i = 0; i < n; ++i)
    EXPECT_ELEMENT(dest[i] == prefix<T>(team, team.rank() + (inclusive ? 1 : 0), i), inclusive ? "inscan" : "exscan",
                   S::name, n, i);
  dest.check_guards();
  if (in_place) return source.check_untouched();
  source.check_guards();
  for (size_t i = 0; i < n; ++i) CHECK(source[i] == term<T>(Op::kSum, step, me, i));
}

template <class S>
void every_size(const std::vector<TeamModel>& teams) {
  using T = typename S::type;
  section(S::name);
  Guarded<T> dest(1000), source(1000);
  static size_t turn = 0;
  ++turn;
  for (size_t t = 0; t < teams.size(); ++t)
    for (size_t n : {size_t{0}, size_t{1}, size_t{3}, size_t{17}, size_t{1000}})
      for (bool inclusive : {true, false}) {
        if (!worth_running(turn, t)) continue;
        scan<S>(teams[t], dest, source, n, inclusive, false);
        scan<S>(teams[t], dest, source, n, inclusive, true);
      }
  shmem_barrier_all();
}

template <class S>
void large(const std::vector<TeamModel>& teams) {
  using T = typename S::type;
  section("large");
  Guarded<T> dest(300'001), source(300'001);
  for (const TeamModel& team : teams)
    for (bool inclusive : {true, false}) scan<S>(team, dest, source, 300'001, inclusive, inclusive);
  shmem_barrier_all();
}

}  // namespace

int main() {
  test_begin("scans");
  std::vector<TeamModel> teams = some_teams();
#define EVERY(NAME, TYPE) every_size<scan_##NAME>(teams);
  SHMEM_FOR_REDUCE_SUM_PROD_TYPES(EVERY)
  large<scan_int>(teams);
  large<scan_double>(teams);
  destroy(teams);
  return test_end();
}

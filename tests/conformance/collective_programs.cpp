// SPDX-License-Identifier: Apache-2.0
// Random programs of collectives over random, overlapping teams, checked against a brute-force model. Within a batch
// there is no synchronization but the collectives' own, sources are rewritten as soon as a call returns, and PEs arrive
// at different times. Run with other barrier algorithms and with internal counters that start near their wrap, too (see
// collectives.cmake).
#include "reduction_support.hpp"

using namespace conformance;

namespace {

constexpr int kBatches = 60, kSteps = 16;
constexpr size_t kRoom = 128 * 1024, kGuardBytes = 64;  // of each step's dest, in bytes

enum class Kind {
  kSync,
  kBroadcast,
  kBroadcastInPlace,
  kCollect,
  kFcollect,
  kAlltoall,
  kAlltoalls,
  kReduce,
  kReduceInPlace,
  kInscan,
  kExscan
};

struct Step {
  uint64_t id;
  Kind kind;
  size_t team;
  int type;  // index of the element type
  size_t n;
  int root;
  ptrdiff_t dst, sst;
  Op op;
  int late_pe;  // computes before it calls
};

template <class T>
struct Calls;
#define CALLS(NAME, TYPE)                                                                   \
  template <>                                                                               \
  struct Calls<TYPE> {                                                                      \
    static constexpr auto broadcast = shmem_##NAME##_broadcast;                             \
    static constexpr auto collect = shmem_##NAME##_collect;                                 \
    static constexpr auto fcollect = shmem_##NAME##_fcollect;                               \
    static constexpr auto alltoall = shmem_##NAME##_alltoall;                               \
    static constexpr auto alltoalls = shmem_##NAME##_alltoalls;                             \
    static constexpr auto inscan = shmem_##NAME##_sum_inscan;                               \
    static constexpr auto exscan = shmem_##NAME##_sum_exscan;                               \
    static int reduce(Op op, shmem_team_t team, TYPE* dest, const TYPE* source, size_t n) { \
      switch (op) {                                                                         \
        case Op::kMax:                                                                      \
          return shmem_##NAME##_max_reduce(team, dest, source, n);                          \
        case Op::kMin:                                                                      \
          return shmem_##NAME##_min_reduce(team, dest, source, n);                          \
        case Op::kProd:                                                                     \
          return shmem_##NAME##_prod_reduce(team, dest, source, n);                         \
        default:                                                                            \
          return shmem_##NAME##_sum_reduce(team, dest, source, n);                          \
      }                                                                                     \
    }                                                                                       \
  };
CALLS(int, int)
CALLS(double, double)
CALLS(uchar, unsigned char)
CALLS(longdouble, long double)
#undef CALLS

template <class F>
void with_type(int type, F&& f) {
  switch (type) {
    case 0:
      return f(int{});
    case 1:
      return f(double{});
    case 2:
      return f(static_cast<unsigned char>(0));
    default:
      return f(static_cast<long double>(0));
  }
}

size_t count_of(const Step& step, int pe) { return (static_cast<size_t>(pe) * 13 + step.id) % (step.n + 1); }

Step draw(uint64_t id, const std::vector<TeamModel>& teams) {
  Step step;
  step.id = id;
  step.kind = static_cast<Kind>(test_random_in(0, 10));
  step.team = static_cast<size_t>(test_random_in(0, static_cast<int>(teams.size()) - 1));
  step.type = test_random_in(0, 3);
  step.dst = test_random_in(1, 3);
  step.sst = test_random_in(1, 3);
  // Mostly small, sometimes at a power of two, sometimes as large as there is room for.
  const size_t most = kRoom / 16 / 3 / static_cast<size_t>(npes);
  const int size_class = test_random_in(0, 5);
  step.n = static_cast<size_t>(size_class == 0   ? test_random_in(0, 1)
                               : size_class <= 2 ? test_random_in(2, 20)
                               : size_class == 3 ? (1 << test_random_in(1, 6)) + test_random_in(-1, 1)
                                                 : test_random_in(20, static_cast<int>(most)));
  step.root = test_random_in(0, teams[step.team].size() - 1);
  const Op ops[] = {Op::kSum, Op::kMax, Op::kMin, Op::kProd};
  step.op = ops[test_random_in(0, 3)];
  step.late_pe = test_random_in(0, 3) == 0 ? test_random_in(0, npes - 1) : -1;
  return step;
}

template <class T>
void execute(const Step& step, const TeamModel& team, T* dest, T* source) {
  const size_t size = static_cast<size_t>(team.size());
  const auto fill = [&](T* at, size_t count) {
    for (size_t i = 0; i < count; ++i) at[i] = value<T>(step.id, me, i);
    return at;
  };
  const auto fill_terms = [&](T* at, Op op) {
    for (size_t i = 0; i < step.n; ++i) at[i] = term<T>(op, step.id, me, i);
    return at;
  };
  using C = Calls<T>;
  int status = -1;
  switch (step.kind) {
    case Kind::kSync:
      status = shmem_team_sync(team.handle);
      break;
    case Kind::kBroadcast:
      status = C::broadcast(team.handle, dest, fill(source, step.n), step.n, step.root);
      break;
    case Kind::kBroadcastInPlace:  // who is not the root must not write: the root's data may have come already
      if (team.rank() == step.root) fill(dest, step.n);
      status = C::broadcast(team.handle, dest, dest, step.n, step.root);
      break;
    case Kind::kCollect:
      status = C::collect(team.handle, dest, fill(source, count_of(step, me)), count_of(step, me));
      break;
    case Kind::kFcollect:
      status = C::fcollect(team.handle, dest, fill(source, step.n), step.n);
      break;
    case Kind::kAlltoall:
      status = C::alltoall(team.handle, dest, fill(source, step.n * size), step.n);
      break;
    case Kind::kAlltoalls:
      fill(source, step.n * size * static_cast<size_t>(step.sst));
      status = C::alltoalls(team.handle, dest, source, step.dst, step.sst, step.n);
      break;
    case Kind::kReduce:
      status = C::reduce(step.op, team.handle, dest, fill_terms(source, step.op), step.n);
      break;
    case Kind::kReduceInPlace:
      status = C::reduce(step.op, team.handle, dest, dest, step.n);
      break;
    case Kind::kInscan:
      status = C::inscan(team.handle, dest, fill_terms(source, Op::kSum), step.n);
      break;
    case Kind::kExscan:
      status = C::exscan(team.handle, dest, fill_terms(source, Op::kSum), step.n);
      break;
  }
  CHECK_EQ(status, 0);
}

const char* kNames[] = {"sync",      "broadcast", "broadcast in place", "collect", "fcollect", "alltoall",
                        "alltoalls", "reduce",    "reduce in place",    "inscan",  "exscan"};

/// `dest` holds exactly what the model says, and nothing behind it was written.
template <class T>
void verify(const Step& step, const TeamModel& team, const T* dest) {
  const size_t n = step.n, size = static_cast<size_t>(team.size()), rank = static_cast<size_t>(team.rank());
  const auto at_rank = [&](size_t r) { return team.world[r]; };
  size_t used = 0;
  const auto expect_next = [&](T wanted) {
    EXPECT_ELEMENT(dest[used] == wanted, kNames[static_cast<int>(step.kind)],
                   sizeof(T) == 16  ? "long double"
                   : sizeof(T) == 8 ? "double"
                   : sizeof(T) == 4 ? "int"
                                    : "uchar",
                   n, used);
    ++used;
  };
  switch (step.kind) {
    case Kind::kSync:
      break;
    case Kind::kBroadcast:
    case Kind::kBroadcastInPlace:
      for (size_t i = 0; i < n; ++i) expect_next(value<T>(step.id, at_rank(static_cast<size_t>(step.root)), i));
      break;
    case Kind::kCollect:
      for (size_t r = 0; r < size; ++r)
        for (size_t i = 0; i < count_of(step, at_rank(r)); ++i) expect_next(value<T>(step.id, at_rank(r), i));
      break;
    case Kind::kFcollect:
      for (size_t r = 0; r < size; ++r)
        for (size_t i = 0; i < n; ++i) expect_next(value<T>(step.id, at_rank(r), i));
      break;
    case Kind::kAlltoall:
      for (size_t r = 0; r < size; ++r)
        for (size_t i = 0; i < n; ++i) expect_next(value<T>(step.id, at_rank(r), rank * n + i));
      break;
    case Kind::kAlltoalls:
      for (size_t r = 0; r < size; ++r)
        for (size_t i = 0; i < n; ++i) {
          expect_next(value<T>(step.id, at_rank(r), (rank * n + i) * static_cast<size_t>(step.sst)));
          if (r + 1 == size && i + 1 == n) break;  // the gap behind the last element belongs to the guard
          for (ptrdiff_t gap = 1; gap < step.dst; ++gap, ++used)
            for (size_t b = 0; b < sizeof(T); ++b)
              CHECK(reinterpret_cast<const unsigned char*>(dest + used)[b] == 0xa5);
        }
      break;
    case Kind::kReduce:
    case Kind::kReduceInPlace:
      for (size_t i = 0; i < n; ++i) expect_next(reduced<T>(step.op, team.world, step.id, i));
      break;
    case Kind::kInscan:
    case Kind::kExscan: {
      const size_t ranks = rank + (step.kind == Kind::kInscan ? 1 : 0);
      for (size_t i = 0; i < n; ++i) {
        T sum = 0;
        for (size_t r = 0; r < ranks; ++r) sum = combine(Op::kSum, sum, term<T>(Op::kSum, step.id, at_rank(r), i));
        expect_next(sum);
      }
    }
  }
  const unsigned char* behind = reinterpret_cast<const unsigned char*>(dest + used);
  for (size_t b = 0; b < kGuardBytes; ++b) CHECK(behind[b] == 0xa5);
}

TeamModel random_team() {
  const int stride = test_random_in(1, 3) * (test_random_in(0, 1) ? 1 : -1);
  const int start = test_random_in(0, npes - 1);
  const int room = stride > 0 ? (npes - 1 - start) / stride + 1 : start / -stride + 1;
  return split_world(start, stride, test_random_in(1, room));
}

}  // namespace

int main() {
  test_begin("collective_programs");
  test_seed();
  section("random programs");
  std::vector<TeamModel> teams = some_teams();
  const size_t fixed = teams.size();
  for (int i = 0; i < 5; ++i) teams.push_back(random_team());
  const size_t region = kRoom + 2 * kGuardBytes;
  auto* arena = static_cast<unsigned char*>(shmem_malloc(kSteps * region));
  auto* sources = static_cast<unsigned char*>(shmem_malloc(2 * region));
  CHECK(arena != nullptr && sources != nullptr);

  uint64_t id = 1;
  for (int batch = 0; batch < kBatches; ++batch) {
    if (batch % 4 == 3) {  // a team goes, another comes
      const size_t place = fixed + static_cast<size_t>(test_random_in(0, static_cast<int>(teams.size() - fixed) - 1));
      shmem_team_destroy(teams[place].handle);
      teams[place] = random_team();
    }
    std::vector<Step> steps;
    for (int s = 0; s < kSteps; ++s) steps.push_back(draw(id++, teams));
    memset(arena, 0xa5, kSteps * region);
    for (size_t s = 0; s < kSteps; ++s) {  // a dest that is a source, too, must be ready before anybody begins
      const Step& step = steps[s];
      if (step.kind == Kind::kReduceInPlace && teams[step.team].mine())
        with_type(step.type, [&](auto zero) {
          using T = decltype(zero);
          for (size_t i = 0; i < step.n; ++i)
            reinterpret_cast<T*>(arena + s * region)[i] = term<T>(step.op, step.id, me, i);
        });
    }
    shmem_barrier_all();
    for (size_t s = 0; s < kSteps; ++s) {
      const Step& step = steps[s];
      const TeamModel& team = teams[step.team];
      if (!team.mine()) continue;
      if (step.late_pe == me) compute(100);
      with_type(step.type, [&](auto zero) {
        using T = decltype(zero);
        execute<T>(step, team, reinterpret_cast<T*>(arena + s * region),
                   reinterpret_cast<T*>(sources + s % 2 * region));
      });
      memset(sources + s % 2 * region, 0x3c, region);  // on return the source is the caller's again
    }
    for (size_t s = 0; s < kSteps; ++s) {
      const TeamModel& team = teams[steps[s].team];
      with_type(steps[s].type, [&](auto zero) {
        using T = decltype(zero);
        const T* dest = reinterpret_cast<const T*>(arena + s * region);
        if (team.mine()) return verify<T>(steps[s], team, dest);
        for (size_t b = 0; b < region; ++b) CHECK(arena[s * region + b] == 0xa5);
      });
    }
    shmem_barrier_all();
  }
  shmem_free(arena);
  shmem_free(sources);
  destroy(teams);
  return test_end();
}

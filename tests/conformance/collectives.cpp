// SPDX-License-Identifier: Apache-2.0
// Chapter "Collectives" that move data: broadcast, collect, fcollect, alltoall, alltoalls, for every type, several
// sizes, teams and all roots, with guard zones; and large ones.
#include "collective_support.hpp"

using namespace conformance;

namespace {

// One traits class a type name, so that the tests are written once.
#define MOVES(NAME, TYPE)                                                                                             \
  struct moves_##NAME {                                                                                               \
    using type = TYPE;                                                                                                \
    static constexpr const char* name = #NAME;                                                                        \
    static int broadcast(shmem_team_t team, type* dest, const type* source, size_t n, int root) {                     \
      return shmem_##NAME##_broadcast(team, dest, source, n, root);                                                   \
    }                                                                                                                 \
    static int collect(shmem_team_t team, type* dest, const type* source, size_t n) {                                 \
      return shmem_##NAME##_collect(team, dest, source, n);                                                           \
    }                                                                                                                 \
    static int fcollect(shmem_team_t team, type* dest, const type* source, size_t n) {                                \
      return shmem_##NAME##_fcollect(team, dest, source, n);                                                          \
    }                                                                                                                 \
    static int alltoall(shmem_team_t team, type* dest, const type* source, size_t n) {                                \
      return shmem_##NAME##_alltoall(team, dest, source, n);                                                          \
    }                                                                                                                 \
    static int alltoalls(shmem_team_t team, type* dest, const type* source, ptrdiff_t dst, ptrdiff_t sst, size_t n) { \
      return shmem_##NAME##_alltoalls(team, dest, source, dst, sst, n);                                               \
    }                                                                                                                 \
  };
SHMEM_FOR_RMA_TYPES(MOVES)
#undef MOVES

struct moves_mem {
  using type = unsigned char;
  static constexpr const char* name = "mem";
  static int broadcast(shmem_team_t team, void* dest, const void* source, size_t n, int root) {
    return shmem_broadcastmem(team, dest, source, n, root);
  }
  static int collect(shmem_team_t team, void* dest, const void* source, size_t n) {
    return shmem_collectmem(team, dest, source, n);
  }
  static int fcollect(shmem_team_t team, void* dest, const void* source, size_t n) {
    return shmem_fcollectmem(team, dest, source, n);
  }
  static int alltoall(shmem_team_t team, void* dest, const void* source, size_t n) {
    return shmem_alltoallmem(team, dest, source, n);
  }
  static int alltoalls(shmem_team_t team, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t n) {
    return shmem_alltoallsmem(team, dest, source, dst, sst, n);
  }
};

uint64_t step = 1;  // distinguishes the values of one operation from those of the one before

template <class T>
void fill(Guarded<T>& source, size_t count) {
  source.use(count, step % 2);
  for (size_t i = 0; i < count; ++i) source[i] = value<T>(step, me, i);
}

template <class T>
void check_source(Guarded<T>& source) {
  for (size_t i = 0; i < source.count(); ++i) CHECK(source[i] == value<T>(step, me, i));
  source.check_guards();
}

/// Everybody's dest and source are ready when anybody begins.
void ready() { shmem_sync_all(); }

template <class M, class T = typename M::type>
void broadcast(const TeamModel& team, Guarded<T>& dest, Guarded<T>& source, size_t n, int root) {
  ++step;
  dest.use(n, step / 2 % 2);
  fill(source, n);
  ready();
  if (!team.mine()) return dest.check_untouched();
  CHECK_EQ(M::broadcast(team.handle, dest.data(), source.data(), n, root), 0);
  // A team's broadcast updates dest on the root, too.
  const int from = team.world[static_cast<size_t>(root)];
  for (size_t i = 0; i < n; ++i) EXPECT_ELEMENT(dest[i] == value<T>(step, from, i), "broadcast", M::name, n, i);
  dest.check_guards();
  check_source(source);
}

template <class M, class T = typename M::type>
void fcollect(const TeamModel& team, Guarded<T>& dest, Guarded<T>& source, size_t n) {
  ++step;
  dest.use(n * static_cast<size_t>(team.size()), step / 2 % 2);
  fill(source, n);
  ready();
  if (!team.mine()) return dest.check_untouched();
  CHECK_EQ(M::fcollect(team.handle, dest.data(), source.data(), n), 0);
  size_t at = 0;
  for (int from : team.world)
    for (size_t i = 0; i < n; ++i, ++at)
      EXPECT_ELEMENT(dest[at] == value<T>(step, from, i), "fcollect", M::name, n, at);
  dest.check_guards();
  check_source(source);
}

/// A different count on every PE, 0 among them.
template <class M, class T = typename M::type>
void collect(const TeamModel& team, Guarded<T>& dest, Guarded<T>& source, size_t n) {
  ++step;
  const auto count_of = [&](int pe) { return (static_cast<size_t>(pe) * 7 + step) % (n + 1); };
  size_t total = 0;
  for (int pe : team.world) total += count_of(pe);
  dest.use(total, step / 2 % 2);
  const size_t mine = count_of(me);
  fill(source, mine);
  ready();
  if (!team.mine()) return dest.check_untouched();
  // Who gives nothing need not have a source.
  CHECK_EQ(M::collect(team.handle, dest.data(), mine == 0 ? nullptr : source.data(), mine), 0);
  size_t at = 0;
  for (int from : team.world)
    for (size_t i = 0; i < count_of(from); ++i, ++at)
      EXPECT_ELEMENT(dest[at] == value<T>(step, from, i), "collect", M::name, n, at);
  dest.check_guards();
  check_source(source);
}

template <class M, class T = typename M::type>
void alltoall(const TeamModel& team, Guarded<T>& dest, Guarded<T>& source, size_t n) {
  ++step;
  const size_t total = n * static_cast<size_t>(team.size());
  dest.use(total, step / 2 % 2);
  fill(source, total);
  ready();
  if (!team.mine()) return dest.check_untouched();
  CHECK_EQ(M::alltoall(team.handle, dest.data(), source.data(), n), 0);
  const size_t block = static_cast<size_t>(team.rank()) * n;
  size_t at = 0;
  for (int from : team.world)
    for (size_t i = 0; i < n; ++i, ++at)
      EXPECT_ELEMENT(dest[at] == value<T>(step, from, block + i), "alltoall", M::name, n, at);
  dest.check_guards();
  check_source(source);
}

/// The elements between the strides stay as they were.
template <class M, class T = typename M::type>
void alltoalls(const TeamModel& team, Guarded<T>& dest, Guarded<T>& source, ptrdiff_t dst, ptrdiff_t sst, size_t n) {
  ++step;
  const size_t d = static_cast<size_t>(dst), s = static_cast<size_t>(sst), total = n * static_cast<size_t>(team.size());
  dest.use(total == 0 ? 0 : (total - 1) * d + 1, step / 2 % 2);
  fill(source, total == 0 ? 0 : (total - 1) * s + 1);
  ready();
  if (!team.mine()) return dest.check_untouched();
  CHECK_EQ(M::alltoalls(team.handle, dest.data(), source.data(), dst, sst, n), 0);
  const size_t block = static_cast<size_t>(team.rank()) * n;
  for (size_t at = 0; at < dest.count(); ++at) {
    const int from = team.world[at / d / (n == 0 ? 1 : n)];
    const bool ok = at % d != 0 ? dest.untouched(at) : dest[at] == value<T>(step, from, (block + at / d % n) * s);
    EXPECT_ELEMENT(ok, "alltoalls", M::name, n, at);
  }
  dest.check_guards();
  check_source(source);
}

template <class M>
void every_operation(const std::vector<TeamModel>& teams) {
  using T = typename M::type;
  section(M::name);
  constexpr size_t kLargest = 1000, kStride = 3;
  Guarded<T> dest(kLargest * static_cast<size_t>(npes) + 64), source(kLargest * static_cast<size_t>(npes) + 64);
  static size_t turn = 0;
  ++turn;
  for (size_t t = 0; t < teams.size(); ++t) {
    if (!worth_running(turn, t)) continue;
    const TeamModel& team = teams[t];
    for (int root = 0; root < team.size(); ++root) broadcast<M>(team, dest, source, 17, root);
    for (size_t n : {size_t{0}, size_t{1}, size_t{3}, kLargest}) {
      broadcast<M>(team, dest, source, n, static_cast<int>(step) % team.size());
      collect<M>(team, dest, source, n);
      fcollect<M>(team, dest, source, n);
      alltoall<M>(team, dest, source, n);
      alltoalls<M>(team, dest, source, 1, 1, n / kStride);
      alltoalls<M>(team, dest, source, 2, 3, n / kStride);
      alltoalls<M>(team, dest, source, 3, 1, n / kStride);
    }
  }
  shmem_barrier_all();
}

/// Far over any size where an algorithm changes; the memory of all PEs together stays below a gigabyte.
template <class M>
void large_ones(const std::vector<TeamModel>& teams) {
  using T = typename M::type;
  section("large");
  const size_t most = 301'001;
  const size_t block = npes <= 2 ? most : most / static_cast<size_t>(npes);
  Guarded<T> dest(2 * most), source(2 * most);
  for (const TeamModel& team : teams) {
    broadcast<M>(team, dest, source, most, team.size() - 1);
    collect<M>(team, dest, source, block);
    fcollect<M>(team, dest, source, block);
    alltoall<M>(team, dest, source, block);
    alltoalls<M>(team, dest, source, 1, 2, block / 2);
  }
  shmem_barrier_all();
}

/// Zero elements need no buffers; the call still is one.
void null_with_zero_elements() {
  section("null with zero elements");
  CHECK_EQ(shmem_int_broadcast(SHMEM_TEAM_WORLD, nullptr, nullptr, 0, 0), 0);
  CHECK_EQ(shmem_double_collect(SHMEM_TEAM_WORLD, nullptr, nullptr, 0), 0);
  CHECK_EQ(shmem_longdouble_fcollect(SHMEM_TEAM_WORLD, nullptr, nullptr, 0), 0);
  CHECK_EQ(shmem_alltoallmem(SHMEM_TEAM_WORLD, nullptr, nullptr, 0), 0);
  CHECK_EQ(shmem_short_alltoalls(SHMEM_TEAM_WORLD, nullptr, nullptr, 1, 1, 0), 0);
  CHECK_EQ(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, nullptr, nullptr, 0), 0);
  CHECK_EQ(shmem_int_sum_inscan(SHMEM_TEAM_WORLD, nullptr, nullptr, 0), 0);
  CHECK_EQ(shmem_int_sum_exscan(SHMEM_TEAM_WORLD, nullptr, nullptr, 0), 0);
}

void invalid_team() {
  section("invalid team");
  static long dest, source;
  CHECK(shmem_long_broadcast(SHMEM_TEAM_INVALID, &dest, &source, 1, 0) != 0);
  CHECK(shmem_long_collect(SHMEM_TEAM_INVALID, &dest, &source, 1) != 0);
  CHECK(shmem_long_fcollect(SHMEM_TEAM_INVALID, &dest, &source, 1) != 0);
  CHECK(shmem_long_alltoall(SHMEM_TEAM_INVALID, &dest, &source, 1) != 0);
  CHECK(shmem_long_alltoalls(SHMEM_TEAM_INVALID, &dest, &source, 1, 1, 1) != 0);
  CHECK(shmem_long_sum_reduce(SHMEM_TEAM_INVALID, &dest, &source, 1) != 0);
  CHECK(shmem_long_sum_inscan(SHMEM_TEAM_INVALID, &dest, &source, 1) != 0);
}

/// Static data of the program is symmetric as well.
void static_buffers() {
  section("static buffers");
  static int dest[64 * 4], source[4];
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) source[i] = 1000 * round + 10 * me + i;
    ready();
    CHECK_EQ(shmem_int_fcollect(SHMEM_TEAM_WORLD, dest, source, 4), 0);
    for (int pe = 0; pe < npes; ++pe)
      for (int i = 0; i < 4; ++i) CHECK_EQ(dest[pe * 4 + i], 1000 * round + 10 * pe + i);
  }
}

}  // namespace

int main() {
  test_begin("collectives");
  CHECK(npes <= 64);
  std::vector<TeamModel> teams = some_teams();
#define EVERY(NAME, TYPE) every_operation<moves_##NAME>(teams);
  SHMEM_FOR_RMA_TYPES(EVERY)
  every_operation<moves_mem>(teams);
  large_ones<moves_double>(teams);
  large_ones<moves_uchar>(teams);
  large_ones<moves_int64>(teams);
  null_with_zero_elements();
  invalid_team();
  static_buffers();
  destroy(teams);
  return test_end();
}

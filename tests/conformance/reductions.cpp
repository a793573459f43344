// SPDX-License-Identifier: Apache-2.0
// Chapter "Collectives", reductions on teams: every operator and type against a model, in place too; large ones;
// results that are the same bits on every PE; the float16 and bfloat16 extensions.
#include <shmemx.h>

#include <cmath>

#include "reduction_support.hpp"

using namespace conformance;

namespace {

#define REDUCTION(NAME, TYPE, LOWER, OP)                                           \
  struct reduce_##NAME##_##LOWER {                                                 \
    using type = TYPE;                                                             \
    static constexpr const char* name = #NAME "_" #LOWER "_reduce";                \
    static constexpr Op op = OP;                                                   \
    static int call(shmem_team_t team, type* dest, const type* source, size_t n) { \
      return shmem_##NAME##_##LOWER##_reduce(team, dest, source, n);               \
    }                                                                              \
  };
#define BITS(NAME, TYPE)               \
  REDUCTION(NAME, TYPE, and, Op::kAnd) \
  REDUCTION(NAME, TYPE, or, Op::kOr)   \
  REDUCTION(NAME, TYPE, xor, Op::kXor)
#define ENDS(NAME, TYPE)               \
  REDUCTION(NAME, TYPE, max, Op::kMax) \
  REDUCTION(NAME, TYPE, min, Op::kMin)
#define ARITHMETIC(NAME, TYPE)         \
  REDUCTION(NAME, TYPE, sum, Op::kSum) \
  REDUCTION(NAME, TYPE, prod, Op::kProd)
SHMEM_FOR_REDUCE_AND_OR_XOR_TYPES(BITS)
SHMEM_FOR_REDUCE_MAX_MIN_TYPES(ENDS)
SHMEM_FOR_REDUCE_SUM_PROD_TYPES(ARITHMETIC)
#undef BITS
#undef ENDS
#undef ARITHMETIC

uint64_t step = 1;

template <class R, class T = typename R::type>
void reduce(const TeamModel& team, Guarded<T>& dest, Guarded<T>& source, size_t n, bool in_place) {
  ++step;
  dest.use(n, step % 2);
  source.use(n, step / 2 % 2);
  for (size_t i = 0; i < n; ++i) (in_place ? dest : source)[i] = term<T>(R::op, step, me, i);
  shmem_sync_all();
  if (!team.mine()) return;
  CHECK_EQ(R::call(team.handle, dest.data(), in_place ? dest.data() : source.data(), n), 0);
  // Evaluating the model costs n * size: with many PEs every fifth element of a large array must do, other ones each
  // time.
  const size_t stride = n > 1000 && npes > 5 ? 5 : 1;
  for (size_t i = step % stride; i < n; i += stride)
    EXPECT_ELEMENT(dest[i] == reduced<T>(R::op, team.world, step, i), in_place ? "in-place reduction" : "reduction",
                   R::name, n, i);
  dest.check_guards();
  if (in_place) return source.check_untouched();
  source.check_guards();
  for (size_t i = 0; i < n; ++i) CHECK(source[i] == term<T>(R::op, step, me, i));
}

template <class R, class T = typename R::type>
void every_size(const std::vector<TeamModel>& teams, Guarded<T>& dest, Guarded<T>& source) {
  section(R::name);
  static size_t turn = 0;
  ++turn;
  for (size_t t = 0; t < teams.size(); ++t)
    for (size_t n : {size_t{0}, size_t{1}, size_t{3}, size_t{17}, size_t{1000}})
      if (worth_running(turn, t)) reduce<R>(teams[t], dest, source, n, n % 2 == 0);
  reduce<R>(teams[0], dest, source, 1000, false);
  reduce<R>(teams[0], dest, source, 17, true);
}

/// One pair of arrays for the operators of a type.
template <class... R>
void operators_of_type(const std::vector<TeamModel>& teams) {
  using T = std::common_type_t<typename R::type...>;
  Guarded<T> dest(1000), source(1000);
  (every_size<R>(teams, dest, source), ...);
  shmem_barrier_all();
}

template <class R>
void large(const std::vector<TeamModel>& teams) {
  using T = typename R::type;
  section("large");
  static size_t turn = 0;
  ++turn;
  Guarded<T> dest(300'001), source(300'001);
  for (size_t t = 0; t < teams.size(); ++t)
    for (size_t n : {size_t{8191}, size_t{65'537}, size_t{300'001}}) {
      if (!worth_running(turn, t)) continue;
      reduce<R>(teams[t], dest, source, n, false);
      reduce<R>(teams[t], dest, source, n, true);
    }
  shmem_barrier_all();
}

/// Sums that round: near the exact one, and the same bits on every PE, at sizes of different algorithms.
template <class R>
void same_bits_everywhere(const TeamModel& team) {
  using T = typename R::type;
  section("same bits everywhere");
  constexpr size_t kMost = 20'000;
  Guarded<T> dest(kMost), source(kMost), first(kMost);
  for (size_t n : {size_t{1}, size_t{5}, size_t{64}, size_t{1000}, kMost}) {
    ++step;
    const auto real = [&](int pe, size_t i) {
      const uint64_t bits = test_mix(step * 77 + static_cast<uint64_t>(pe) * 131 + i * 8191);
      return static_cast<T>(static_cast<double>(bits >> 11) / 9007199254740992.0 + 0.01) *
             ((bits & 1) ? T(1000) : T(0.001));
    };
    for (Guarded<T>* array : {&dest, &source, &first}) array->use(n);
    for (size_t i = 0; i < n; ++i) source[i] = real(me, i);
    shmem_sync_all();
    if (team.mine()) {
      CHECK_EQ(R::call(team.handle, dest.data(), source.data(), n), 0);
      CHECK_EQ(shmem_team_sync(team.handle), 0);
      shmem_getmem(first.data(), dest.data(), n * sizeof(T), team.world[0]);
      for (size_t i = 0; i < n; ++i) {
        EXPECT_ELEMENT(dest[i] == first[i], "sum that rounds, against rank 0's", R::name, n, i);
        long double exact = 0;
        for (int pe : team.world) exact += real(pe, i);
        const long double tolerance =
            4.0L * team.size() * static_cast<long double>(std::numeric_limits<T>::epsilon()) * exact;
        EXPECT_ELEMENT(std::fabs(static_cast<long double>(dest[i]) - exact) <= tolerance, "sum that rounds", R::name, n,
                       i);
      }
    }
    shmem_barrier_all();
  }
}

/// Infinities and the ends of a type's range.
void special_values() {
  section("special values");
  static double dest[4], source[4];
  const double infinity = std::numeric_limits<double>::infinity();
  source[0] = me == npes - 1 ? infinity : me;
  source[1] = me == 0 ? -infinity : me;
  source[2] = std::numeric_limits<double>::lowest();
  source[3] = -std::numeric_limits<double>::denorm_min();
  shmem_sync_all();
  CHECK_EQ(shmem_double_max_reduce(SHMEM_TEAM_WORLD, dest, source, 4), 0);
  CHECK(dest[0] == infinity && dest[2] == std::numeric_limits<double>::lowest() &&
        dest[3] == -std::numeric_limits<double>::denorm_min());
  CHECK(npes == 1 ? dest[1] == -infinity : dest[1] == npes - 1);
  shmem_sync_all();
  CHECK_EQ(shmem_double_min_reduce(SHMEM_TEAM_WORLD, dest, source, 4), 0);
  CHECK(dest[1] == -infinity && dest[0] == (npes == 1 ? infinity : 0));
  static signed char low_dest, low = -128;
  shmem_sync_all();
  CHECK_EQ(shmem_schar_max_reduce(SHMEM_TEAM_WORLD, &low_dest, &low, 1), 0);
  CHECK_EQ(low_dest, -128);
  static unsigned long wrap_dest, wrap = ~0ul;
  shmem_sync_all();
  CHECK_EQ(shmem_ulong_sum_reduce(SHMEM_TEAM_WORLD, &wrap_dest, &wrap, 1), 0);
  CHECK(wrap_dest == 0ul - static_cast<unsigned long>(npes));
}

struct half {
  using type = shmemx_half_t;
  static constexpr float kEpsilon = 1.0f / 1024;
  static float widen(type x) { return shmemx_half_to_float(x); }
  static type narrow(float x) { return shmemx_half_from_float(x); }
  static int call(Op op, shmem_team_t team, type* dest, const type* source, size_t n) {
    switch (op) {
      case Op::kSum:
        return shmemx_half_sum_reduce(team, dest, source, n);
      case Op::kProd:
        return shmemx_half_prod_reduce(team, dest, source, n);
      case Op::kMin:
        return shmemx_half_min_reduce(team, dest, source, n);
      default:
        return shmemx_half_max_reduce(team, dest, source, n);
    }
  }
};
struct bfloat16 {
  using type = shmemx_bfloat16_t;
  static constexpr float kEpsilon = 1.0f / 128;
  static float widen(type x) { return shmemx_bfloat16_to_float(x); }
  static type narrow(float x) { return shmemx_bfloat16_from_float(x); }
  static int call(Op op, shmem_team_t team, type* dest, const type* source, size_t n) {
    switch (op) {
      case Op::kSum:
        return shmemx_bfloat16_sum_reduce(team, dest, source, n);
      case Op::kProd:
        return shmemx_bfloat16_prod_reduce(team, dest, source, n);
      case Op::kMin:
        return shmemx_bfloat16_min_reduce(team, dest, source, n);
      default:
        return shmemx_bfloat16_max_reduce(team, dest, source, n);
    }
  }
};

/// Small whole numbers are exact; fractions are the float model's result, rounded once.
template <class H>
void sixteen_bits(const std::vector<TeamModel>& teams, const char* name) {
  using T = typename H::type;
  section(name);
  static_assert(sizeof(T) == 2);
  Guarded<T> dest(5000), source(5000);
  for (const TeamModel& team : teams)
    for (Op op : {Op::kSum, Op::kProd, Op::kMin, Op::kMax})
      for (size_t n : {size_t{0}, size_t{1}, size_t{33}, size_t{5000}})
        for (bool whole : {true, false}) {
          ++step;
          const auto input = [&](int pe, size_t i) {
            const uint64_t bits = test_mix(step + static_cast<uint64_t>(pe) * 577 + i * 3);
            if (!whole) return H::narrow(0.75f + static_cast<float>(bits % 1000) / 2000.0f);
            if (op == Op::kProd) return H::narrow(bits % 7 == 0 ? 2.0f : bits % 2 ? 1.0f : -1.0f);
            return H::narrow(static_cast<float>(static_cast<int>(bits % 17) - 8));
          };
          const bool in_place = n == 33;
          dest.use(n);
          source.use(n);
          for (size_t i = 0; i < n; ++i) (in_place ? dest : source)[i] = input(me, i);
          shmem_sync_all();
          if (!team.mine()) continue;
          CHECK_EQ(H::call(op, team.handle, dest.data(), in_place ? dest.data() : source.data(), n), 0);
          for (size_t i = 0; i < n; ++i) {
            float model = H::widen(input(team.world[0], i));
            for (int r = 1; r < team.size(); ++r)
              model = combine(op, model, H::widen(input(team.world[static_cast<size_t>(r)], i)));
            const float got = H::widen(dest[i]);
            const bool exact = whole || op == Op::kMin || op == Op::kMax;
            // One rounding at the end, and a little for the order of the additions in float.
            const float tolerance = exact ? 0.0f : 0.505f * H::kEpsilon * std::fabs(model);
            EXPECT_ELEMENT(std::fabs(got - model) <= tolerance, name, whole ? "whole numbers" : "fractions", n, i);
          }
          dest.check_guards();
          source.check_guards();
        }
  shmem_barrier_all();
}

}  // namespace

int main() {
  test_begin("reductions");
  std::vector<TeamModel> teams = some_teams();
#define BITS(NAME, TYPE) operators_of_type<reduce_##NAME##_and, reduce_##NAME##_or, reduce_##NAME##_xor>(teams);
#define ENDS(NAME, TYPE) operators_of_type<reduce_##NAME##_max, reduce_##NAME##_min>(teams);
#define ARITHMETIC(NAME, TYPE) operators_of_type<reduce_##NAME##_sum, reduce_##NAME##_prod>(teams);
  SHMEM_FOR_REDUCE_AND_OR_XOR_TYPES(BITS)
  SHMEM_FOR_REDUCE_MAX_MIN_TYPES(ENDS)
  SHMEM_FOR_REDUCE_SUM_PROD_TYPES(ARITHMETIC)
  large<reduce_int_sum>(teams);
  large<reduce_double_sum>(teams);
  large<reduce_uchar_xor>(teams);
  large<reduce_longdouble_max>(teams);
  large<reduce_complexd_prod>(teams);
  for (size_t t : {size_t{0}, size_t{1}}) {
    same_bits_everywhere<reduce_float_sum>(teams[t]);
    same_bits_everywhere<reduce_double_sum>(teams[t]);
    same_bits_everywhere<reduce_longdouble_sum>(teams[t]);
  }
  special_values();
  sixteen_bits<half>(teams, "float16");
  sixteen_bits<bfloat16>(teams, "bfloat16");
  destroy(teams);
  return test_end();
}

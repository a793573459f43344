// SPDX-License-Identifier: Apache-2.0
// Collectives over thread PEs, where the thread sanitizer sees every unordered access: each algorithm, odd sizes, in place.
#include <algorithm>
#include <random>
#include <thread>

#include "coll/collectives.hpp"
#include "thread_job.hpp"

namespace shoal::test {
namespace {

class Reduce : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Reduce, SumsAreRightForOddSizesAndInPlace) {
  const int n = std::get<1>(GetParam());
  run_job(n, {std::string("SHOAL_REDUCE=") + std::get<0>(GetParam())}, [n](Job& job) {
    const CollTuning& tuning = job.coll_tuning();
    for (std::size_t count : std::initializer_list<std::size_t>{1, 3, 16, 17, 1000, 4099, 20001}) {
      int* source = allocate<int>(job, count + 2);
      int* dest = allocate<int>(job, count + 2);
      for (int in_place = 0; in_place < 2; ++in_place) {
        int* to = in_place ? source : dest;
        to[0] = to[count + 1] = -7;
        for (std::size_t i = 1; i <= count; ++i) source[i] = static_cast<int>(i) * (job.me() + 1);
        reduce(job.world_team(), to + 1, source + 1, count, tuning.kernels->at(ReduceOp::Sum, Element::I32), tuning, "test");
        for (std::size_t i = 1; i <= count; ++i)
          ASSERT_EQ(to[i], static_cast<int>(i) * n * (n + 1) / 2) << i << " of " << count;
        ASSERT_EQ(to[0], -7);
        ASSERT_EQ(to[count + 1], -7);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Reduce,
                         ::testing::Combine(::testing::Values("auto", "mail", "flat", "stream", "direct"),
                                            ::testing::Values(1, 2, 3, 5, 8)),
                         [](const auto& tested) { return strf("%s_on_%d", std::get<0>(tested.param), std::get<1>(tested.param)); });

TEST(ReduceChoice, UnknownNameListsTheKnownOnes) {
  EXPECT_EQ(tune_collectives("auto", "auto").reduce, nullptr);
  try {
    tune_collectives("ring", "auto");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("auto, mail, flat, stream, direct"), std::string::npos) << error.what();
  }
}

// One meeting a collective: a fast member is up to two collectives ahead of what a slow one still reads.
TEST(Mail, IsReadBeforeItIsWrittenAgain) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  for (const int n : {1, 2, 3, 5}) {
    run_job(n, {}, [n, seed](Job& job) {
      const auto size = static_cast<std::size_t>(n);
      const std::size_t most = 2 * Slot::kMailBytes / sizeof(int);
      int* const source = allocate<int>(job, most * size);
      int* const dest = allocate<int>(job, most * size);
      Team& team = job.world_team();
      std::mt19937 agreed(seed), own(seed + 1 + static_cast<unsigned>(job.me()));
      const auto value = [](int round, int member, std::size_t i) { return round * 1000 + member * 100 + static_cast<int>(i % 97); };
      for (int round = 0; round < 400; ++round) {
        const std::size_t count = 1 + agreed() % (agreed() % 4 == 0 ? most : 60);
        const int kind = static_cast<int>(agreed() % 6), root = static_cast<int>(agreed() % size);
        for (std::size_t i = 0; i < count * size; ++i) source[i] = value(round, job.me(), i);
        if (own() % 8 == 0) std::this_thread::yield();
        const auto expect = [&](std::size_t at, int want) { ASSERT_EQ(dest[at], want) << "round " << round << ", kind " << kind << ", element " << at; };
        const Combine& sum = job.coll_tuning().kernels->at(ReduceOp::Sum, Element::I32);
        switch (kind) {
          case 0:
            broadcast(team, dest, source, count * sizeof(int), root, true, "test");
            for (std::size_t i = 0; i < count; ++i) expect(i, value(round, root, i));
            break;
          case 1:
            fcollect(team, dest, source, count * sizeof(int), "test");
            for (int member = 0; member < n; ++member)
              for (std::size_t i = 0; i < count; ++i) expect(static_cast<std::size_t>(member) * count + i, value(round, member, i));
            break;
          case 2:
            alltoall(team, dest, source, 1, 1, count, sizeof(int), "test");
            for (int member = 0; member < n; ++member)
              for (std::size_t i = 0; i < count; ++i)
                expect(static_cast<std::size_t>(member) * count + i, value(round, member, static_cast<std::size_t>(job.me()) * count + i));
            break;
          case 3:
            reduce(team, dest, source, count, sum, job.coll_tuning(), "test");
            for (std::size_t i = 0; i < count; ++i) {
              int want = 0;
              for (int member = 0; member < n; ++member) want += value(round, member, i);
              expect(i, want);
            }
            break;
          case 4:
            scan(team, dest, source, count, sum, true, "test");
            for (std::size_t i = 0; i < count; ++i) {
              int want = 0;
              for (int member = 0; member <= job.me(); ++member) want += value(round, member, i);
              expect(i, want);
            }
            break;
          case 5: team.sync("test"); break;
        }
      }
    });
  }
}

/// Every operation on every type, on odd counts and addresses, against the plain definition.
template <class T>
void check_kernels(const Kernels& kernels, unsigned seed) {
  std::mt19937 random(seed);
  const Element element = element_of<T>();
  for (std::size_t count : std::initializer_list<std::size_t>{0, 1, 7, 64, 1001}) {
    std::vector<T> a(count + 1), b(count + 1), out(count + 1);
    for (std::size_t i = 0; i <= count; ++i) a[i] = static_cast<T>(random() % 200), b[i] = static_cast<T>(random() % 200);
    const auto check = [&](ReduceOp op, auto&& plain) {
      const Combine& combine = kernels.at(op, element);
      ASSERT_EQ(combine.width, sizeof(T));
      combine.run(out.data() + 1, a.data() + 1, b.data() + 1, count);
      for (std::size_t i = 1; i <= count; ++i) ASSERT_EQ(out[i], plain(a[i], b[i])) << kernels.name << ", operation " << static_cast<int>(op);
    };
    check(ReduceOp::Sum, [](T x, T y) { return static_cast<T>(x + y); });
    check(ReduceOp::Prod, [](T x, T y) { return static_cast<T>(x * y); });
    check(ReduceOp::Max, [](T x, T y) { return std::max(x, y); });
    check(ReduceOp::Min, [](T x, T y) { return std::min(x, y); });
    if constexpr (std::is_integral_v<T>) {
      check(ReduceOp::And, [](T x, T y) { return static_cast<T>(x & y); });
      check(ReduceOp::Or, [](T x, T y) { return static_cast<T>(x | y); });
      check(ReduceOp::Xor, [](T x, T y) { return static_cast<T>(x ^ y); });
    }
  }
}

TEST(Kernels, EveryTableGivesTheSameAnswers) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(strf("seed %u", seed));
  int tables = 0;
  for (const char* name : {"baseline", "avx2", "avx512"}) {
    const Kernels* kernels = nullptr;
    try {
      kernels = &choose_kernels(name);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("baseline"), std::string::npos) << error.what();
      continue;  // not on this processor
    }
    ++tables;
#define SHOAL_CHECK(NAME, T) check_kernels<T>(*kernels, seed);
    SHMEM_FOR_REDUCE_MAX_MIN_UNIQUE_TYPES(SHOAL_CHECK)
#undef SHOAL_CHECK
    // Conversions of 16-bit types agree with those of the public header for every value.
    std::vector<shmemx_half_t> halves(65536);
    for (std::size_t i = 0; i < halves.size(); ++i) halves[i].bits = static_cast<std::uint16_t>(i);
    std::vector<float> wide(halves.size());
    std::vector<shmemx_half_t> back(halves.size());
    const Combine& half = kernels->at(ReduceOp::Sum, Element::Half);
    half.wide.widen(wide.data(), halves.data(), halves.size());
    half.wide.narrow(back.data(), wide.data(), wide.size());
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const float expected = shmemx_half_to_float(halves[i]);
      if (expected != expected) continue;
      ASSERT_EQ(wide[i], expected) << name << " " << i;
      ASSERT_EQ(back[i].bits, halves[i].bits) << name;
    }
    for (std::size_t offset = 0; offset < 70; offset += 3)
      for (std::size_t bytes : std::initializer_list<std::size_t>{0, 1, 63, 64, 65, 1000}) {
        std::vector<char> from(bytes), to(bytes + 80, 'x');
        for (char& c : from) c = static_cast<char>(random());
        kernels->stream(to.data() + offset, from.data(), bytes);
        stream_fence();
        ASSERT_TRUE(std::equal(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(offset)));
        ASSERT_EQ(static_cast<std::size_t>(std::count(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(offset), 'x')), offset);
        ASSERT_EQ(static_cast<std::size_t>(std::count(to.begin() + static_cast<std::ptrdiff_t>(offset + bytes), to.end(), 'x')), 80 - offset);
      }
  }
  EXPECT_GE(tables, 1);
}

TEST(Reduce, HalfPrecisionRoundsOnlyOnce) {
  // 2049 ones after 2048: in half precision 2048 + 1 is 2048 again, so rounding after each step would lose them all.
  run_job(5, {}, [](Job& job) {
    auto* word = allocate<shmemx_half_t>(job, 1);
    *word = shmemx_half_from_float(job.me() == 0 ? 2048.0f : 1.0f);
    reduce(job.world_team(), word, word, 1, job.coll_tuning().kernels->at(ReduceOp::Sum, Element::Half), job.coll_tuning(), "test");
    EXPECT_EQ(shmemx_half_to_float(*word), 2052.0f);
  });
}

TEST(Collectives, MoveTheRightBlocks) {
  for (int n : {1, 2, 3, 5, 8})
    run_job(n, {}, [n](Job& job) {
      const auto members = static_cast<std::size_t>(n), me = static_cast<std::size_t>(job.me());
      for (std::size_t count : std::initializer_list<std::size_t>{1, 5, 1000}) {
        int* source = allocate<int>(job, members * count);
        int* dest = allocate<int>(job, members * count);
        const auto value = [&](std::size_t from, std::size_t to, std::size_t i) {
          return static_cast<int>(from * 1'000'000 + to * 10'000 + i);
        };
        for (std::size_t to = 0; to < members; ++to)
          for (std::size_t i = 0; i < count; ++i) source[to * count + i] = value(me, to, i);
        alltoall(job.world_team(), dest, source, 1, 1, count, sizeof(int), "test");
        for (std::size_t from = 0; from < members; ++from)
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(dest[from * count + i], value(from, me, i));
        fcollect(job.world_team(), dest, source, count * sizeof(int), "test");
        for (std::size_t from = 0; from < members; ++from)
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(dest[from * count + i], value(from, 0, i));
        for (int root = 0; root < n; ++root) {
          broadcast(job.world_team(), dest, source, count * sizeof(int), root, true, "test");
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(dest[i], value(static_cast<std::size_t>(root), 0, i));
        }
        collect(job.world_team(), dest, source, job.me() % 2 == 0 ? count : 0, sizeof(int), "test");
        std::size_t at = 0;
        for (std::size_t from = 0; from < members; from += 2)
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(dest[at++], value(from, 0, i));
        barrier(job);
      }
    });
}

TEST(Scan, InclusiveAndExclusiveInPlace) {
  for (int n : {1, 2, 3, 7})
    run_job(n, {}, [](Job& job) {
      for (std::size_t count : std::initializer_list<std::size_t>{1, 100, 10'001})
        for (bool inclusive : {true, false}) {
          long* words = allocate<long>(job, count);
          for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<long>(i) + job.me();
          scan(job.world_team(), words, words, count, job.coll_tuning().kernels->at(ReduceOp::Sum, Element::I64), inclusive, "test");
          const long terms = job.me() + (inclusive ? 1 : 0);
          for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(words[i], static_cast<long>(i) * terms + terms * (terms - 1) / 2) << i << " of " << count;
        }
    });
}

}  // namespace
}  // namespace shoal::test

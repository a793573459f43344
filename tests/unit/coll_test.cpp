// SPDX-License-Identifier: Apache-2.0
// Collectives over thread PEs, where the thread sanitizer sees every unordered access: each algorithm, odd sizes, in place.
#include <random>

#include "coll/combine.hpp"
#include "thread_job.hpp"

namespace shoal::test {
namespace {

class Reduce : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Reduce, SumsAreRightForOddSizesAndInPlace) {
  const int n = std::get<1>(GetParam());
  run_job(n, {std::string("SHOAL_REDUCE=") + std::get<0>(GetParam())}, [n](Job& job) {
    const ReduceAlgorithm* forced = find_reduce_algorithm(job.options().reduce.c_str());
    for (std::size_t count : std::initializer_list<std::size_t>{1, 3, 16, 17, 1000, 4099, 20001}) {
      int* source = allocate<int>(job, count + 2);
      int* dest = allocate<int>(job, count + 2);
      for (int in_place = 0; in_place < 2; ++in_place) {
        int* to = in_place ? source : dest;
        to[0] = to[count + 1] = -7;
        for (std::size_t i = 1; i <= count; ++i) source[i] = static_cast<int>(i) * (job.me() + 1);
        reduce(job.world_team(), to + 1, source + 1, count, kCombine<OpSum, int>, forced, "test");
        for (std::size_t i = 1; i <= count; ++i)
          ASSERT_EQ(to[i], static_cast<int>(i) * n * (n + 1) / 2) << i << " of " << count;
        ASSERT_EQ(to[0], -7);
        ASSERT_EQ(to[count + 1], -7);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Reduce,
                         ::testing::Combine(::testing::Values("auto", "flat", "direct"), ::testing::Values(1, 2, 3, 5, 8)),
                         [](const auto& tested) { return strf("%s_on_%d", std::get<0>(tested.param), std::get<1>(tested.param)); });

TEST(ReduceChoice, UnknownNameListsTheKnownOnes) {
  EXPECT_EQ(find_reduce_algorithm("auto"), nullptr);
  try {
    find_reduce_algorithm("ring");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("auto, flat, direct"), std::string::npos) << error.what();
  }
}

TEST(Reduce, HalfPrecisionRoundsOnlyOnce) {
  // 2049 ones after 2048: in half precision 2048 + 1 is 2048 again, so rounding after each step would lose them all.
  run_job(5, {}, [](Job& job) {
    auto* word = allocate<shmemx_half_t>(job, 1);
    *word = shmemx_half_from_float(job.me() == 0 ? 2048.0f : 1.0f);
    reduce(job.world_team(), word, word, 1, kCombineWide<OpSum, shmemx_half_t>, nullptr, "test");
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
          scan(job.world_team(), words, words, count, kCombine<OpSum, long>, inclusive, "test");
          const long terms = job.me() + (inclusive ? 1 : 0);
          for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(words[i], static_cast<long>(i) * terms + terms * (terms - 1) / 2) << i << " of " << count;
        }
    });
}

}  // namespace
}  // namespace shoal::test

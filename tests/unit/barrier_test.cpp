// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "thread_job.hpp"

namespace shoal::test {
namespace {

struct Case {
  const char* algorithm;
  long long start;
};

class Barrier : public ::testing::TestWithParam<std::tuple<Case, int>> {};

TEST_P(Barrier, NobodyLeavesBeforeAllHaveEntered) {
  const Case c = std::get<0>(GetParam());
  const int n = std::get<1>(GetParam());
  constexpr int kRounds = 300;
  std::vector<std::atomic<int>> entered(kRounds);
  std::atomic<int> early{0};
  run_job(n, {std::string("SHOAL_BARRIER=") + c.algorithm, strf("SHOAL_COUNTER_START=%lld", c.start)}, [&](Job& job) {
    for (int round = 0; round < kRounds; ++round) {
      entered[static_cast<size_t>(round)].fetch_add(1);
      barrier(job);
      if (entered[static_cast<size_t>(round)].load() != n) early.fetch_add(1);
    }
  });
  EXPECT_EQ(early.load(), 0);
}

TEST_P(Barrier, PlainStoresBeforeItAreSeenAfterIt) {
  const Case c = std::get<0>(GetParam());
  const int n = std::get<1>(GetParam());
  run_job(n, {std::string("SHOAL_BARRIER=") + c.algorithm, strf("SHOAL_COUNTER_START=%lld", c.start)}, [n](Job& job) {
    int* words = allocate<int>(job, static_cast<size_t>(n));
    for (int round = 1; round <= 100; ++round) {
      for (int pe = 0; pe < n; ++pe)
        *reinterpret_cast<int*>(job.world().at(words + job.me(), sizeof(int), pe, "test")) = round * 1000 + job.me();
      barrier(job);
      for (int pe = 0; pe < n; ++pe) ASSERT_EQ(words[pe], round * 1000 + pe);
      barrier(job);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Barrier,
                         ::testing::Combine(::testing::Values(Case{"dissemination", 0}, Case{"central", 0}, Case{"dissemination", -3},
                                                              Case{"central", -3}, Case{"dissemination", 4294967293},
                                                              Case{"central", 4294967293}, Case{"dissemination", INT64_MAX - 2},
                                                              Case{"central", INT64_MAX - 2}),
                                            ::testing::Values(1, 2, 3, 5, 8)),
                         [](const auto& tested) {
                           const Case c = std::get<0>(tested.param);
                           return strf("%s_%llx_on_%d", c.algorithm, static_cast<unsigned long long>(c.start),
                                       std::get<1>(tested.param));
                         });

TEST(BarrierChoice, UnknownNameListsTheKnownOnes) {
  try {
    choose_barrier("butterfly", false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_option);
    EXPECT_NE(std::string(error.what()).find("auto, dissemination, central"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace shoal::test

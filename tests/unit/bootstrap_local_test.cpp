// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/local.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/error.hpp"
#include "bootstrap/single.hpp"
#include "bootstrap_launcher.hpp"

namespace shoal {
namespace {

std::vector<std::string> run_pes(LocalWorld& world, const std::function<void(Bootstrap&)>& body) {
  std::vector<std::string> errors(static_cast<size_t>(world.size()));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world.size(); ++rank)
    threads.emplace_back([&, rank] { errors[static_cast<size_t>(rank)] = error_of([&] { body(*world.join(rank)); }); });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

TEST(Local, AllgatherAndBarrierJoinTheThreads) {
  for (const int size : {1, 2, 3, 8}) {
    LocalWorld world(size);
    std::atomic<int> arrived{0};
    const auto errors = run_pes(world, [&](Bootstrap& bootstrap) {
      EXPECT_TRUE(bootstrap.same_process());
      for (int round = 1; round <= 200; ++round) {
        const auto text = [&](int pe) { return std::to_string(pe * 1000 + round); };
        arrived.fetch_add(1, std::memory_order_relaxed);
        const auto all = bootstrap.allgather(bytes_of(text(bootstrap.rank())));
        EXPECT_GE(arrived.load(std::memory_order_relaxed), size * round);
        for (int pe = 0; pe < size; ++pe) EXPECT_EQ(all.text(static_cast<size_t>(pe)), text(pe));
      }
      bootstrap.barrier();
      bootstrap.leave();
    });
    EXPECT_EQ(errors, std::vector<std::string>(static_cast<size_t>(size)));
  }
}

TEST(Local, AbortEndsTheWaitsOfAllOthersWithTheReason) {
  LocalWorld world(3);
  std::string seen;
  int status = 0;
  world.on_abort([&](int pe, int with, const std::string& why) {
    seen = std::to_string(pe) + ": " + why;
    status = with;
  });
  const auto errors = run_pes(world, [&](Bootstrap& bootstrap) {
    if (bootstrap.rank() == 1) bootstrap.abort(5, "out of luck");
    bootstrap.barrier();
  });
  EXPECT_EQ(seen, "1: out of luck");
  EXPECT_EQ(status, 5);
  EXPECT_TRUE(world.aborted());
  for (const std::string& error : errors) EXPECT_NE(error.find("out of luck"), std::string::npos) << error;
  EXPECT_NE(error_of([&] { world.join(0)->barrier(); }), "") << "an aborted world stays so";
}

TEST(LocalDeathTest, AbortWithoutAHandlerPrintsTheReasonAndAborts) {
  EXPECT_DEATH(
      {
        LocalWorld world(1);
        world.join(0)->abort(1, "shoal: PE 0: the reason");
      },
      "shoal: PE 0: the reason");
}

TEST(Local, RefusesRanksAndSizesOutOfRange) {
  EXPECT_NE(error_of([] { LocalWorld world(0); }), "");
  LocalWorld world(2);
  EXPECT_NE(error_of([&] { world.join(2); }).find("PE 2 is out of range [0, 2)"), std::string::npos);
  EXPECT_NE(error_of([&] { world.join(-1); }), "");
}

TEST(SingleDeathTest, IsAJobOfOneThatPrintsWhyItEnds) {
  const auto bootstrap = make_single_bootstrap();
  EXPECT_EQ(bootstrap->rank(), 0);
  EXPECT_EQ(bootstrap->size(), 1);
  EXPECT_FALSE(bootstrap->same_process());
  const Gathered alone = bootstrap->allgather(bytes_of("x"));
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone.text(0), "x");
  bootstrap->barrier();
  bootstrap->watch();
  EXPECT_EXIT(bootstrap->abort(4, "the reason"), testing::ExitedWithCode(4), "^the reason\n$");
  EXPECT_EXIT(bootstrap->abort(0, ""), testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace shoal

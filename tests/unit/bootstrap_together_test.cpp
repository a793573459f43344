// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/together.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.hpp"
#include "bootstrap/local.hpp"
#include "bootstrap_launcher.hpp"

namespace shoal {
namespace {

/// Three PEs as threads. @return what each threw, "" for nothing
std::vector<std::string> run_pes(const std::function<void(Together&)>& body) {
  LocalWorld world(3);
  std::vector<std::string> errors(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      Together pe(world.join(rank));
      errors[static_cast<size_t>(rank)] = error_of([&] { body(pe); });
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

TEST(Together, AllgatherGivesWhatAllGaveEmptyPartsToo) {
  const auto errors = run_pes([](Together& pe) {
    for (int round = 0; round < 50; ++round) {
      const auto text = [&](int rank) { return std::string(static_cast<size_t>(rank), static_cast<char>('a' + round % 26)); };
      const auto all = pe.allgather(bytes_of(text(pe.rank())));
      for (int rank = 0; rank < pe.size(); ++rank) EXPECT_EQ(all.text(static_cast<size_t>(rank)), text(rank));
      pe.barrier();
    }
    pe.leave();
  });
  EXPECT_EQ(errors, std::vector<std::string>(3));
}

TEST(Together, WhoFailsLetsAllFailInTheirNextMeetingWhicheverItIs) {
  for (int meetings = 0; meetings < 4; ++meetings) {
    const auto errors = run_pes([&](Together& pe) {
      try {
        for (int i = 0; i < 4; ++i) {
          if (pe.rank() == 1 && i == meetings) throw Error(Code::system, "no room");
          if (i % 2 == 0) pe.allgather({});
          if (i % 2 == 1) pe.barrier();
        }
      } catch (const Error& error) {
        EXPECT_TRUE(pe.fail(error.what()));
        throw;
      }
    });
    EXPECT_EQ(errors, (std::vector<std::string>{"PE 1 failed: no room", "no room", "PE 1 failed: no room"}));
  }
}

TEST(Together, AllMayFailAtOnce) {
  const auto errors = run_pes([](Together& pe) { EXPECT_TRUE(pe.fail("of its own")); });
  EXPECT_EQ(errors, std::vector<std::string>(3));
}

TEST(Together, NobodyIsToldByWhoFailsAfterTheStart) {
  const auto errors = run_pes([](Together& pe) {
    pe.barrier();
    pe.started();
    if (pe.rank() == 1) {
      EXPECT_FALSE(pe.fail("too late"));
    }
    pe.leave();
  });
  EXPECT_EQ(errors, std::vector<std::string>(3));
}

}  // namespace
}  // namespace shoal

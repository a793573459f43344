// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/store.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/error.hpp"
#include "bootstrap_launcher.hpp"

namespace shoal {
namespace {

/// Runs `body(rank, bootstrap)` on a thread per PE, each joined to the launcher; gives what each threw.
std::vector<std::string> run_pes(TestLauncher& launcher, const std::function<void(int, Bootstrap&)>& body) {
  const int size = launcher.server().size();
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      errors[static_cast<size_t>(rank)] = error_of([&] {
        const auto bootstrap = make_store_bootstrap(launcher.fd(rank), rank, size);
        body(rank, *bootstrap);
      });
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

class StoreOfSize : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, StoreOfSize, testing::Values(1, 2, 3, 5, 16));

TEST_P(StoreOfSize, AllgatherGivesEveryonesBytesInRankOrder) {
  TestLauncher launcher(GetParam());
  launcher.start();
  const auto errors = run_pes(launcher, [&](int rank, Bootstrap& bootstrap) {
    EXPECT_EQ(bootstrap.rank(), rank);
    EXPECT_EQ(bootstrap.size(), GetParam());
    EXPECT_FALSE(bootstrap.same_process());
    for (int round = 0; round < 20; ++round) {
      const auto text = [&](int pe) { return std::string(static_cast<size_t>((pe * 7 + round) % 11), static_cast<char>('a' + pe)); };
      const auto all = bootstrap.allgather(bytes_of(text(rank)));
      ASSERT_EQ(all.size(), static_cast<size_t>(GetParam()));
      for (int pe = 0; pe < GetParam(); ++pe) EXPECT_EQ(all.text(static_cast<size_t>(pe)), text(pe));
      bootstrap.barrier();
    }
    bootstrap.leave();
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST(Store, AllgatherCarriesMoreThanASocketHolds) {
  TestLauncher launcher(3);
  launcher.start();
  const size_t length = 3u << 20;
  const auto errors = run_pes(launcher, [&](int rank, Bootstrap& bootstrap) {
    const auto all = bootstrap.allgather(std::vector(length, static_cast<std::byte>(rank + 1)));
    for (size_t pe = 0; pe < 3; ++pe) EXPECT_EQ(all.text(pe), std::string(length, static_cast<char>(pe + 1)));
    bootstrap.leave();
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST(Store, BarrierWaitsForAll) {
  TestLauncher launcher(4);
  launcher.start();
  std::atomic<int> arrived{0};
  run_pes(launcher, [&](int, Bootstrap& bootstrap) {
    for (int round = 1; round <= 50; ++round) {
      arrived.fetch_add(1, std::memory_order_relaxed);
      bootstrap.barrier();
      EXPECT_GE(arrived.load(std::memory_order_relaxed), 4 * round);
      bootstrap.barrier();
    }
    bootstrap.leave();
  });
}

TEST(Store, SessionsFollowEachOtherOnOneChannel) {
  TestLauncher launcher(2);
  launcher.start();
  for (int session = 0; session < 100; ++session) {
    const auto errors = run_pes(launcher, [](int, Bootstrap& bootstrap) {
      bootstrap.barrier();
      bootstrap.leave();
    });
    ASSERT_EQ(errors, std::vector<std::string>(2)) << "session " << session;
  }
  launcher.stop();
  EXPECT_EQ(launcher.events().size(), 400u);  // joined and left
  EXPECT_EQ(launcher.server().state(1), StoreServer::State::left);
}

TEST(Store, TooMuchAtOnceIsRefusedAndNothingIsLost) {
  TestLauncher launcher(1);
  launcher.start();
  const auto errors = run_pes(launcher, [](int, Bootstrap& bootstrap) {
    EXPECT_NE(error_of([&] { bootstrap.allgather(std::vector<std::byte>(store::kMaxRequest + 1)); }).find("at most 16777216"),
              std::string::npos);
    EXPECT_EQ(bootstrap.allgather(bytes_of("still there")).text(0), "still there");
    bootstrap.leave();
  });
  EXPECT_EQ(errors[0], "");
}

TEST(Store, TheLaunchersEndIsAnError) {
  TestLauncher launcher(1);
  launcher.start();
  const auto bootstrap = make_store_bootstrap(launcher.fd(0), 0, 1);
  launcher.die();
  EXPECT_NE(error_of([&] { bootstrap->barrier(); }).find("the launcher (shoalrun) has gone away"), std::string::npos);
  EXPECT_NE(error_of([&] { make_store_bootstrap(launcher.fd(0), 0, 1); }).find("has gone away"), std::string::npos);
}

TEST(Store, DifferentRequestsAtOnceAreAnErrorForThoseWhoWait) {
  TestLauncher launcher(2);
  launcher.start();
  const auto errors = run_pes(launcher, [](int rank, Bootstrap& bootstrap) {
    if (rank == 0) bootstrap.barrier();
    else bootstrap.allgather({});
  });
  launcher.stop();
  std::string all;
  for (const std::string& error : errors) all += error + "\n";
  EXPECT_NE(all.find("the PEs do not run the same program"), std::string::npos) << all;
  EXPECT_NE(errors[0], "");
  EXPECT_NE(errors[1], "");
}

TEST(Store, HelloIsRefusedWithTheReason) {
  TestLauncher launcher(2);
  launcher.start();
  EXPECT_NE(error_of([&] { make_store_bootstrap(launcher.fd(0), 1, 2); }).find("the environment says PE 1 of 2, the launcher says PE 0 of 2"),
            std::string::npos);
  EXPECT_NE(error_of([&] { make_store_bootstrap(launcher.fd(0), 0, 3); }).find("PE 0 of 3"), std::string::npos);
  const auto first = make_store_bootstrap(launcher.fd(0), 0, 2);
  EXPECT_NE(error_of([&] { make_store_bootstrap(launcher.fd(0), 0, 2); }).find("another process is PE 0 already"), std::string::npos);
}

TEST(Store, ADescriptorThatIsNotTheChannelIsNamed) {
  EXPECT_NE(error_of([] { make_store_bootstrap(987, 0, 1); }).find("descriptor 987, the channel to the launcher (SHOAL_STORE_FD), is closed"),
            std::string::npos);
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_NE(error_of([&] { make_store_bootstrap(file.get(), 0, 1); }).find("is not the channel to the launcher"), std::string::npos);
}

TEST(Store, AFileThatTookTheChannelsNumberIsNotWrittenTo) {
  TestLauncher launcher(1);
  launcher.start();
  const int fd = ::dup(launcher.fd(0));
  const auto bootstrap = make_store_bootstrap(fd, 0, 1);
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  ::dup2(file.get(), fd);
  const UniqueFd closer(fd);
  EXPECT_NE(error_of([&] { bootstrap->barrier(); }).find("closed descriptor"), std::string::npos);
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_END), 0);
}

/// Runs `child` in a forked process and gives its wait status, while the test serves the channels.
int fork_and_serve(TestLauncher& launcher, const std::function<void()>& child) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    child();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_TRUE(launcher.pump([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }));
  return status;
}

TEST(Store, AbortTellsTheLauncherAndEndsTheProcessWithItsStatus) {
  TestLauncher launcher(2);
  const int status = fork_and_serve(launcher, [&] {
    make_store_bootstrap(launcher.fd(1), 1, 2)->abort(7, "PE 1: something is wrong");
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  ASSERT_EQ(launcher.events().size(), 2u);
  EXPECT_EQ(launcher.events()[1].kind, StoreServer::Event::Kind::aborted);
  EXPECT_EQ(launcher.events()[1].pe, 1);
  EXPECT_EQ(launcher.events()[1].status, 7);
  EXPECT_EQ(launcher.events()[1].text, "PE 1: something is wrong");
}

TEST(Store, AbortGetsThroughWhileAnotherThreadWaitsInACollective) {
  TestLauncher launcher(2);
  const int status = fork_and_serve(launcher, [&] {
    const auto bootstrap = make_store_bootstrap(launcher.fd(0), 0, 2);
    std::thread([&] { bootstrap->barrier(); }).detach();
    bootstrap->abort(9, "");
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 9) << status;
  EXPECT_EQ(launcher.events().back().kind, StoreServer::Event::Kind::aborted);
}

TEST(Store, AForkedChildIsNoPe) {
  TestLauncher launcher(1);
  const int status = fork_and_serve(launcher, [&] {
    auto bootstrap = make_store_bootstrap(launcher.fd(0), 0, 1);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool refused = error_of([&] { bootstrap->barrier(); }).find("a forked child of PE 0") != std::string::npos;
      bootstrap.reset();
      ::_exit(refused ? 0 : 1);
    }
    int child_status = -1;
    ::waitpid(child, &child_status, 0);
    bootstrap->leave();
    ::_exit(WEXITSTATUS(child_status));
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Store, AnExitInTheMiddleOfASessionIsToldWithItsStatus) {
  TestLauncher launcher(1);
  const int status = fork_and_serve(launcher, [&] {
    make_store_bootstrap(launcher.fd(0), 0, 1)->exiting(3);
    ::_exit(3);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
  ASSERT_EQ(launcher.events().size(), 2u);
  EXPECT_EQ(launcher.events()[1].kind, StoreServer::Event::Kind::exiting);
  EXPECT_EQ(launcher.events()[1].status, 3);
}

TEST(Store, TheChannelBelongsToOneProcessUntilItLeaves) {
  TestLauncher launcher(1);
  const int status = fork_and_serve(launcher, [&] {
    const auto in_child = [&](const std::function<bool()>& holds) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(holds() ? 0 : 1);
      int child_status = -1;
      ::waitpid(child, &child_status, 0);
      return child_status == 0;
    };
    const auto bootstrap = make_store_bootstrap(launcher.fd(0), 0, 1);
    const std::string text = strf("another process is PE 0 already (pid %d)", static_cast<int>(::getpid()));
    if (!in_child([&] { return error_of([&] { make_store_bootstrap(launcher.fd(0), 0, 1); }).find(text) == 0; })) ::_exit(1);
    bootstrap->barrier();
    bootstrap->leave();
    ::_exit(in_child([&] { return make_store_bootstrap(launcher.fd(0), 0, 1)->leave(), true; }) ? 0 : 2);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "memory/fd_passing.hpp"
#include "memory/memory_file.hpp"

namespace shoal {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
std::uint64_t in_seconds(std::uint64_t seconds) { return now_ns() + seconds * kSecond; }

/// A memory file that starts with `word`.
UniqueFd file_with(std::uint64_t word) {
  UniqueFd fd = create_memory_file("shoal-test", 4096);
  EXPECT_EQ(::pwrite(fd.get(), &word, sizeof word, 0), static_cast<ssize_t>(sizeof word));
  return fd;
}
std::uint64_t word_in(int fd) {
  std::uint64_t word = 0;
  return ::pread(fd, &word, sizeof word, 0) == static_cast<ssize_t>(sizeof word) ? word : 0;
}

/// Runs `f` in a child process, which exits with what it returns.
template <class F>
pid_t in_child(F f) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 99;
    try {
      status = f();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    ::_exit(status);
  }
  return child;
}
/// The exit status, or 1000 + signal.
int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// A raw connection to the server's socket, as a rogue would make it.
UniqueFd connect_raw(const std::string& name) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  const std::string path = name.substr(0, name.find(','));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, path.data(), path.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) socket.reset();
  return socket;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST(FdPassing, ReceiversGetTheFilesInOrder) {
  const UniqueFd a = file_with(11), b = file_with(22);
  const FdServer server({a.get(), b.get()});
  EXPECT_LE(server.name().size(), kMaxFdServerName);
  const FetchedFds fetched = fetch_fds(server.name(), in_seconds(10));
  ASSERT_EQ(fetched.fds.size(), 2u);
  EXPECT_EQ(word_in(fetched.fds[0].get()), 11u);
  EXPECT_EQ(word_in(fetched.fds[1].get()), 22u);
  EXPECT_FALSE(fetched.through_proc);
  EXPECT_TRUE((::fcntl(fetched.fds[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST(FdPassing, SixtyFourProcessesAreServedAtOnce) {
  const UniqueFd file = file_with(5);
  FdServer server({file.get()});
  std::vector<pid_t> children;
  for (int i = 0; i < 64; ++i)
    children.push_back(in_child([&] {
      const FetchedFds fetched = fetch_fds(server.name(), in_seconds(30));
      return word_in(fetched.fds.at(0).get()) == 5 && !fetched.through_proc ? 0 : 1;
    }));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(server.served(), 64u);
}

TEST(FdPassing, InterruptedReceiversTryAgain) {
  const UniqueFd file = file_with(5);
  const FdServer server({file.get()});
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};  // no SA_RESTART: every blocking call may end with EINTR
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval often{{0, 200}, {0, 200}}, never{};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  for (int i = 0; i < 300; ++i) {
    const FetchedFds fetched = fetch_fds(server.name(), in_seconds(30));
    EXPECT_FALSE(fetched.through_proc) << fetched.why;
  }
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

TEST(FdPassing, RubbishSilenceAndSuddenDeathDisturbNobody) {
  const UniqueFd file = file_with(5);
  const FdServer server({file.get()});
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 32; ++i) {
    silent.push_back(connect_raw(server.name()));  // stays open, never reads
    const UniqueFd rogue = connect_raw(server.name());
    const char rubbish[64] = "GET / HTTP/1.1";
    (void)!::send(rogue.get(), rubbish, sizeof rubbish, MSG_NOSIGNAL);
  }
  const FetchedFds fetched = fetch_fds(server.name(), in_seconds(10));
  EXPECT_EQ(word_in(fetched.fds.at(0).get()), 5u);
  EXPECT_FALSE(fetched.through_proc);
}

TEST(FdPassing, AnotherUserIsTurnedAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const UniqueFd file = file_with(5);
  const FdServer server({file.get()});
  const pid_t child = in_child([&] {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) return 1;
    // By hand: connected, but nothing comes.
    const UniqueFd socket = connect_raw(server.name());
    char byte = 0;
    if (!socket || ::recv(socket.get(), &byte, 1, 0) > 0) return 2;
    try {
      fetch_fds(server.name(), in_seconds(10));
      return 3;
    } catch (const Error& error) {
      const std::string text = error.what();
      return text.find("another user") != std::string::npos && text.find("/proc/") != std::string::npos ? 0 : 4;
    }
  });
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_GE(server.refused(), 1u);
  EXPECT_EQ(server.served(), 0u);
}

TEST(FdPassing, WithoutTheSocketTheFilesComeThroughProc) {
  const UniqueFd file = file_with(5);
  const FdServer server({file.get()});
  std::string name = server.name();
  name[name.find('-') + 1] = name[name.find('-') + 1] == '0' ? '1' : '0';  // a socket that isn't there
  const FetchedFds fetched = fetch_fds(name, in_seconds(10));
  EXPECT_TRUE(fetched.through_proc);
  EXPECT_NE(fetched.why.find("Connection refused"), std::string::npos) << fetched.why;
  EXPECT_EQ(word_in(fetched.fds.at(0).get()), 5u);
}

TEST(FdPassing, AnotherNetworkNamespaceIsServedThroughProc) {
  const UniqueFd file = file_with(5);
  const FdServer server({file.get()});
  const pid_t child = in_child([&] {
    if (::unshare(CLONE_NEWNET) != 0) return 77;
    const FetchedFds fetched = fetch_fds(server.name(), in_seconds(10));
    return fetched.through_proc && word_in(fetched.fds.at(0).get()) == 5 ? 0 : 1;
  });
  const int status = wait_for(child);
  if (status == 77) GTEST_SKIP() << "may not make network namespaces here";
  EXPECT_EQ(status, 0);
}

TEST(FdPassing, ADescriptorThatIsAnotherFileNowIsNotTaken) {
  UniqueFd file = file_with(5);
  const FdServer server({file.get()});
  const UniqueFd impostor = file_with(6);
  ASSERT_EQ(::dup2(impostor.get(), file.get()), file.get());
  try {
    fetch_fds(server.name(), in_seconds(10));
    FAIL() << "took the wrong file";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("it is another file"), std::string::npos) << error.what();
  }
}

TEST(FdPassing, ADeadServerIsAnErrorThatNamesWhatWasTried) {
  std::string name;
  {
    const UniqueFd file = file_with(5);
    name = FdServer({file.get()}).name();
  }
  try {
    fetch_fds(name, in_seconds(10));
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("connect: Connection refused"), std::string::npos) << text;
    EXPECT_NE(text.find("/proc/" + std::to_string(::getpid()) + "/fd/"), std::string::npos) << text;
  }
}

TEST(FdPassing, AServerThatNeverAnswersEndsAtTheDeadline) {
  // A listener of our own that accepts nothing, with a name that fetch_fds takes.
  const std::string socket_name = "shoal-0123456789abcdef0123456789abcde" + std::to_string(::getpid() % 10);
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, socket_name.data(), socket_name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + socket_name.size());
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  const std::uint64_t start = now_ns();
  EXPECT_THROW(fetch_fds(socket_name + "," + std::to_string(::getpid()) + ",9999:1:1", start + kSecond / 5), Error);
  const std::uint64_t took = now_ns() - start;
  EXPECT_GE(took, kSecond / 10);
  EXPECT_LT(took, 10 * kSecond);
}

TEST(FdPassing, MalformedNamesAreRefused) {
  for (const char* name :
       {"", "shoal-", "shoal-0123456789abcdef0123456789abcdef", "shoal-0123456789abcdef0123456789abcdef,12",
        "shoal-0123456789abcdef0123456789abcdef,-1,3:4:5", "shoal-0123456789abcdef0123456789abcdef,1,3:4",
        "shoal-0123456789abcdef0123456789abcdef,1,3:4:5x"})
    EXPECT_THROW(fetch_fds(name, in_seconds(1)), Error) << name;
  EXPECT_THROW(fetch_fds(std::string(kMaxFdServerName + 1, 'x'), in_seconds(1)), Error);
  EXPECT_THROW(FdServer({}), Error);
  EXPECT_THROW(FdServer({-1}), Error);
  EXPECT_THROW(FdServer(std::vector<int>(kMaxPassedFds + 1, 0)), Error);
}

TEST(FdPassing, NoDescriptorIsLeftOpen) {
  const UniqueFd file = file_with(5);
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    const FdServer server({file.get(), file.get()});
    fetch_fds(server.name(), in_seconds(10));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(FdPassing, AReceiverOutOfDescriptorsIsToldSo) {
  const UniqueFd file = file_with(5);
  const FdServer server({file.get(), file.get(), file.get()});
  const pid_t child = in_child([&] {
    const std::size_t highest = static_cast<std::size_t>(::dup(0));
    ::close(static_cast<int>(highest));
    const rlimit limit{highest + 2, highest + 2};  // room for the socket and one file
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    try {
      fetch_fds(server.name(), in_seconds(10));
      return 2;
    } catch (const Error& error) {
      return std::string(error.what()).find("limit of open files") != std::string::npos ? 0 : 3;
    }
  });
  EXPECT_EQ(wait_for(child), 0);
}

}  // namespace
}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// How PEs connect by sockets, and what a connection and the thread that serves it do with what comes.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "bootstrap/address.hpp"
#include "transport/serving_thread.hpp"
#include "transport/socket/socket_transport.hpp"
#include "transport/socket/wire.hpp"
#include "transport_pe.hpp"

namespace shoal::test {
namespace {

/// Somebody who found the port, and says `bytes`. @return what is answered within a second, or until it is closed
std::string tell_stranger(const Endpoint& endpoint, const std::string& bytes) {
  std::string why, answer;
  const UniqueFd socket = connect_to(endpoint.hosts.back(), endpoint.port, {}, now_ns() + kDeadlineNs, why);
  EXPECT_TRUE(static_cast<bool>(socket)) << why;
  EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  ::shutdown(socket.get(), SHUT_WR);
  char buffer[256];
  for (const std::uint64_t deadline = now_ns() + kDeadlineNs; now_ns() < deadline;) {
    const ssize_t n = ::recv(socket.get(), buffer, sizeof buffer, 0);
    if (n > 0) answer.append(buffer, static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EAGAIN)) return answer;
    std::this_thread::yield();
  }
  ADD_FAILURE() << "a stranger's connection was not closed";
  return answer;
}

TEST(Door, StrangersAreTurnedAway) {
  Pe pe(4096);
  pe.transport = std::make_unique<SocketTransport>(0, 2, SocketSettings{}, make_tcp(), pe);
  const std::string address = pe.transport->address();
  pe.transport->start({address, address});
  const Endpoint endpoint = Endpoint::parse(address.substr(address.find(' ', address.find(' ') + 1) + 1));
  EXPECT_EQ(tell_stranger(endpoint, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "");
  EXPECT_EQ(tell_stranger(endpoint, "x"), "");
  wire::Hello hello{wire::kMagic, wire::kVersion, 1, 0, {}};  // with another job's number
  EXPECT_EQ(tell_stranger(endpoint, std::string(reinterpret_cast<const char*>(&hello), sizeof hello)), "");
  EXPECT_EQ(pe.count_refusals(), 3u);
  pe.transport->close();
}

// Not after: what BBR, many kernels' default, has set up for a connection stays.
TEST(Sockets, HaveTheirCongestionControlBeforeTheyAreConnected) {
  const auto control_of = [](int fd) {
    char name[32] = {};
    socklen_t length = sizeof name;
    EXPECT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length), 0);
    return std::string(name);
  };
  const UniqueFd plain(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  SocketSettings settings;
  for (const char* name : {"reno", "cubic", "bbr"})  // one that is not the default, and that this user may have
    if (control_of(plain.get()) != name && ::setsockopt(plain.get(), IPPROTO_TCP, TCP_CONGESTION, name, static_cast<socklen_t>(std::strlen(name))) == 0) {
      settings.congestion = name;
      break;
    }
  if (settings.congestion.empty()) GTEST_SKIP() << "this kernel has one congestion control";
  Endpoint endpoint;
  const UniqueFd listener = listen_anywhere(settings, endpoint);
  EXPECT_EQ(control_of(listener.get()), settings.congestion);
  EXPECT_EQ(control_of(start_connecting(SocketAddress::numeric("127.0.0.1", endpoint.port), settings.congestion).get()), settings.congestion);
  std::string why;
  const UniqueFd connected = connect_to("127.0.0.1", endpoint.port, settings, now_ns() + kDeadlineNs, why);
  ASSERT_TRUE(static_cast<bool>(connected)) << why;
  EXPECT_EQ(control_of(connected.get()), settings.congestion);
  pollfd come{listener.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&come, 1, static_cast<int>(kDeadlineNs / 1'000'000)), 1);
  const UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
  EXPECT_EQ(control_of(accepted.get()), settings.congestion);
}

/// Two PEs joined by TCP over the loopback, that start when they are told to.
class Pair : public testing::Test {
 protected:
  explicit Pair(std::uint64_t answer_ns = SocketSettings{}.answer_ns) {
    SocketSettings settings;
    settings.interface = "127.";
    settings.answer_ns = answer_ns;
    for (int i = 0; i < 2; ++i) {
      pes[i].transport = std::make_unique<SocketTransport>(i, 2, settings, make_tcp(), pes[i]);
      addresses.push_back(pes[i].transport->address());
    }
  }
  ~Pair() override {
    for (Pe& pe : pes) pe.transport->leaving();
    for (Pe& pe : pes) pe.transport->close();
  }
  Endpoint endpoint(std::size_t pe) const {
    const std::string& address = addresses[pe];
    return Endpoint::parse(address.substr(address.find(' ', address.find(' ') + 1) + 1));
  }
  UniqueFd connect(std::size_t pe) const {
    std::string why;
    UniqueFd socket = connect_to(endpoint(pe).hosts.front(), endpoint(pe).port, {}, now_ns() + kDeadlineNs, why);
    EXPECT_TRUE(static_cast<bool>(socket)) << why;
    return socket;
  }
  /// Connects to PE 1 in PE 0's name.
  UniqueFd say_hello() const {
    wire::Hello hello{wire::kMagic, wire::kVersion, 0, 1, {}};
    for (std::size_t i = 0; i < sizeof hello.job; ++i)
      hello.job[i] = static_cast<std::uint8_t>(std::stoi(addresses[0].substr(2 * i, 2), nullptr, 16));
    UniqueFd socket = connect(1);
    EXPECT_EQ(::send(socket.get(), &hello, sizeof hello, 0), static_cast<ssize_t>(sizeof hello));
    return socket;
  }
  static void await_welcome(const UniqueFd& socket) {
    wire::Welcome welcome{};
    pollfd come{socket.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&come, 1, static_cast<int>(kDeadlineNs / 1'000'000)), 1);
    EXPECT_EQ(::recv(socket.get(), &welcome, sizeof welcome, 0), static_cast<ssize_t>(sizeof welcome));
    EXPECT_EQ(welcome.answer, wire::Answer::welcome);
  }
  void add_from_1() {
    std::uint64_t old = 0;
    Tally tally;
    pes[1].transport->fetch({0, kMemory, 0}, {AtomicOp::add, 8, 1}, &old, tally, false);
    for (const std::uint64_t deadline = now_ns() + kDeadlineNs; !tally.done() && now_ns() < deadline;) pes[1].transport->progress();
    EXPECT_TRUE(tally.done());
  }
  void put_42() {
    const std::uint64_t value = 42;
    pes[0].transport->put({1, kMemory, 8}, &value, sizeof value);
  }
  bool has_42(std::uint64_t within_ns) {
    for (const std::uint64_t deadline = now_ns() + within_ns; pes[1].load(1) != 42 && now_ns() < deadline;) ::poll(nullptr, 0, 1);
    return pes[1].load(1) == 42;
  }
  Pe pes[2] = {Pe(4096), Pe(4096)};
  std::vector<std::string> addresses;
};

class ImpatientPair : public Pair {
 protected:
  ImpatientPair() : Pair(100'000'000) {}
};

// Its door, like that of a stopped PE, is not opened; the kernel lets others in nevertheless.
TEST_F(ImpatientPair, WhoIsSilentForLongerThanATryIsWaitedFor) {
  pes[0].transport->start(addresses);
  std::thread speaker([this] { put_42(); });
  ::poll(nullptr, 0, 1000);
  pes[1].transport->start(addresses);
  EXPECT_TRUE(has_42(kDeadlineNs));
  speaker.join();
}

TEST_F(Pair, AConnectionThatWasGivenUpIsPassedOver) {
  say_hello();
  for (Pe& pe : pes) pe.transport->start(addresses);
  put_42();
  EXPECT_TRUE(has_42(kDeadlineNs));
  EXPECT_EQ(pes[1].count_refusals(), 0u);
}

TEST_F(Pair, WhoGaveUpAsItWasWelcomedIsNotCountedOn) {
  for (Pe& pe : pes) pe.transport->start(addresses);
  await_welcome(say_hello());
  put_42();
  EXPECT_TRUE(has_42(kDeadlineNs));
  EXPECT_EQ(pes[1].count_refusals(), 0u);
}

TEST_F(Pair, WhoIsWelcomedIsWaitedForUntilItGivesUp) {
  for (Pe& pe : pes) pe.transport->start(addresses);
  UniqueFd welcomed = say_hello();
  await_welcome(welcomed);
  std::atomic<bool> done{false};
  std::thread speaker([&] { add_from_1(), done = true; });
  ::poll(nullptr, 0, 50);
  EXPECT_FALSE(done) << "PE 1 has connected to one that may count on its own connection";
  welcomed.reset();
  speaker.join();
  EXPECT_EQ(pes[0].load(0), 1u);
}

TEST_F(Pair, OfOnePeOneConnectionIsTaken) {
  for (Pe& pe : pes) pe.transport->start(addresses);
  const UniqueFd sockets[2] = {say_hello(), say_hello()};
  for (const UniqueFd& socket : sockets) await_welcome(socket);
  const wire::Confirm confirm{wire::kConfirmMagic, 0};
  for (const UniqueFd& socket : sockets) ASSERT_EQ(::send(socket.get(), &confirm, sizeof confirm, 0), static_cast<ssize_t>(sizeof confirm));
  for (const std::uint64_t deadline = now_ns() + kDeadlineNs; pes[1].count_refusals() == 0 && now_ns() < deadline;) ::poll(nullptr, 0, 1);
  EXPECT_EQ(pes[1].count_refusals(), 1u);
  for (Pe& pe : pes) pe.transport->leaving();
}

/// PE 0 is misled about where PE 1 is, and tries to connect there.
class MisledPair : public Pair {
 protected:
  MisledPair() {
    Endpoint wrong = endpoint(1);
    const UniqueFd listener = listen_at({wrong.hosts.front(), 0});
    wrong.port = static_cast<std::uint16_t>(port_of(listener.get()));
    std::vector<std::string> misled = addresses;
    misled[1].replace(misled[1].find(endpoint(1).text()), std::string::npos, wrong.text());
    pes[0].transport->start(misled);
    pes[1].transport->start(addresses);
    speaker = std::thread([this] { put_42(); });
    pollfd dialled{listener.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&dialled, 1, static_cast<int>(kDeadlineNs / 1'000'000)), 1);
    there.reset(::accept(listener.get(), nullptr, nullptr));
  }
  ~MisledPair() override { speaker.join(); }
  UniqueFd there;  // the other end of what PE 0 has connected
  std::thread speaker;
};

TEST_F(MisledPair, WhoCannotReachTheOtherTakesItsConnection) {
  there.reset();
  add_from_1();
  EXPECT_TRUE(has_42(kDeadlineNs));
}

TEST_F(MisledPair, TheOwnHelloThatComesBackIsNoWelcome) {
  wire::Hello hello;
  ASSERT_EQ(::recv(there.get(), &hello, sizeof hello, MSG_WAITALL), static_cast<ssize_t>(sizeof hello));
  ASSERT_EQ(::send(there.get(), &hello, sizeof hello, 0), static_cast<ssize_t>(sizeof hello));
  char next;
  EXPECT_LE(::recv(there.get(), &next, 1, 0), 0) << "it is not closed";
  add_from_1();
  EXPECT_TRUE(has_42(kDeadlineNs));
}

TEST_F(Pair, ALimitThatIsLowForAWhileKeepsNobodyOutForEver) {
  for (Pe& pe : pes) pe.transport->start(addresses);
  const UniqueFd stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{1, before.rlim_max};  // a poll of two descriptors fails
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const SocketAddress door = SocketAddress::numeric(endpoint(1).hosts.front(), endpoint(1).port);
  EXPECT_EQ(::connect(stranger.get(), door.raw(), door.length()), 0);
  ::poll(nullptr, 0, 100);  // the door is called, and finds that out
  ::setrlimit(RLIMIT_NOFILE, &before);
  put_42();
  EXPECT_TRUE(has_42(kDeadlineNs));
}

TEST_F(Pair, SilentStrangersKeepNobodyOut) {
  for (Pe& pe : pes) pe.transport->start(addresses);
  std::vector<UniqueFd> strangers;
  while (strangers.size() < 400) strangers.push_back(connect(1));
  put_42();
  EXPECT_TRUE(has_42(8'000'000'000)) << "it had to wait until they were sent away";
  EXPECT_GT(pes[1].count_refusals(), 100u);
}

/// What has come, in pieces that end anywhere, and after each of them nothing for a while. `records`: how much a piece
/// has is known only once its first bytes were read, as with TLS. `cut`: called when the end of what is read, half a
/// word, is not written yet.
class Pieces final : public Stream {
 public:
  Pieces(std::string bytes, std::size_t most, bool records, std::function<void()> cut) : bytes_(std::move(bytes)), most_(most), records_(records), cut_(std::move(cut)) {}
  ssize_t read(void* to, std::size_t bytes) noexcept override {
    const std::size_t n = std::min({bytes, left_, bytes_.size() - at_});
    if (n == 0) {
      left_ = 1 + random_() % most_;
      open_ = !records_;
      return kAgain;
    }
    const std::size_t first = n - std::min<std::size_t>(n, 4);
    std::memcpy(to, bytes_.data() + at_, first);
    cut_();
    std::memcpy(static_cast<char*>(to) + first, bytes_.data() + at_ + first, n - first);
    at_ += n;
    left_ -= n;
    open_ = true;
    return static_cast<ssize_t>(n);
  }
  ssize_t write(const void*, std::size_t bytes) noexcept override { return static_cast<ssize_t>(bytes); }
  ssize_t write_both(const void*, std::size_t head, const void*, std::size_t body) noexcept override { return static_cast<ssize_t>(head + body); }
  bool handshake() override { return true; }
  std::size_t available() const noexcept override { return open_ ? std::min(left_, bytes_.size() - at_) : 0; }
  int fd() const noexcept override { return -1; }
  std::string why() const override { return ""; }

 private:
  const std::string bytes_;
  const std::size_t most_;
  const bool records_;
  const std::function<void()> cut_;
  std::mt19937 random_{7};
  std::size_t at_ = 0, left_ = 0;
  bool open_ = false;
};

TEST(Connection, OfAPutThatIsComingEachWordIsOldOrNew) {
  constexpr std::uint64_t kNew = 0x0102030405060708;
  for (const bool records : {false, true}) {
    for (const std::size_t most : {5u, 1428u, 30000u, 200000u}) {
      std::string sent;
      std::uint64_t words = 0;
      std::vector<std::size_t> last;  // word of each put
      for (const std::uint64_t more : {9u, 300u, 2000u, 20000u}) {
        const wire::Frame frame{wire::Type::put, 0, 0, 0, kMemory, words * 8, more * 8};
        sent.append(reinterpret_cast<const char*>(&frame), sizeof frame);
        for (std::uint64_t i = 0; i < more; ++i) sent.append(reinterpret_cast<const char*>(&kNew), sizeof kNew);
        words += more;
        last.push_back(words - 1);
      }
      Pe pe(words * 8);
      bool cut = false;
      const auto look = [&] {
        for (const std::size_t word : last) cut |= pe.memory[word] != 0 && pe.memory[word] != kNew;
      };
      Connection connection(1, std::make_unique<Pieces>(sent, most, records, look), pe);
      std::uint64_t complete = 0;
      for (std::size_t turn = 0; complete < words && turn < 4 * sent.size(); ++turn) {
        connection.receive();
        while (complete < words && pe.memory[complete] == kNew) ++complete;
        ASSERT_TRUE(complete == words || pe.memory[complete] == 0) << "word " << complete << ", pieces of up to " << most;
      }
      EXPECT_EQ(complete, words) << "pieces of up to " << most;
      EXPECT_FALSE(cut) << "a put's last word, which somebody may wait for, pieces of up to " << most;
    }
  }
}

/// Always has something to serve.
class Busy final : public Served {
 public:
  bool serve_all() noexcept override { return served.fetch_add(1, std::memory_order_relaxed), true; }
  void send_what_lies() noexcept override {}
  bool serve_next() noexcept override { return true; }
  void nudge() noexcept override {}
  void watch_lost() noexcept override { looks.fetch_add(1, std::memory_order_relaxed); }
  std::atomic<std::uint64_t> served{0}, looks{0};
};

TEST(ServingThread, LooksAfterWhoIsLostThoughOthersNeverStopAsking) {
  Busy busy;
  ServingThread thread(busy);
  thread.start();
  thread.rest();
  const auto grow = [](const std::atomic<std::uint64_t>& count, std::uint64_t by) {
    const std::uint64_t before = count.load();
    for (const std::uint64_t deadline = now_ns() + 10'000'000'000; count.load() < before + by && now_ns() < deadline;) ::poll(nullptr, 0, 1);
    return count.load() >= before + by;
  };
  EXPECT_TRUE(grow(busy.served, 1000));
  EXPECT_TRUE(grow(busy.looks, 10));
  thread.polled();
}

}  // namespace
}  // namespace shoal::test

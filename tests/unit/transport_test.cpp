// SPDX-License-Identifier: Apache-2.0
// The transports between threads: everything that travels arrives, in order, once; what may not be done is not done.
#include "transport/transport.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "security/secret.hpp"
#include "security/tls.hpp"
#include "test_certificates.hpp"
#include "transport/socket/socket_transport.hpp"
#include "transport/ucx/ucx.hpp"
#include "transport_pe.hpp"
#include "ucx_support.hpp"

namespace shoal::test {
namespace {

/// PEs joined by a transport: tcp, tls, ucx; ucx_native: all puts are UCX's own; ucx_shared: by memory that the PEs share, too.
class Transports : public testing::TestWithParam<const char*> {
 protected:
  void join(int n, std::size_t bytes = 1 << 20) {
    std::vector<std::string> addresses;
    for (int i = 0; i < n; ++i) {
      pes.push_back(std::make_unique<Pe>(bytes));
      pes.back()->transport = make(i, n, *pes.back());
      addresses.push_back(pes.back()->transport->address());
    }
    for (auto& pe : pes) pe->transport->start(addresses);
  }
  std::unique_ptr<Transport> make(int me, int n, Pe& pe) {
    const std::string kind = GetParam();
    if (kind.starts_with("ucx")) {
      UcxSettings settings;
      if (kind != "ucx") settings.gather = 0;
      settings.network_only = kind != "ucx_shared";
      return make_ucx(me, n, settings, pe);
    }
    auto maker = kind == "tls" ? make_tls(std::make_unique<TlsContext>(secret, TlsPurpose::data)) : make_tcp();
    return std::make_unique<SocketTransport>(me, n, SocketSettings{}, std::move(maker), pe);
  }
  void SetUp() override {
    if (std::string(GetParam()).starts_with("ucx")) skip_without_ucx();
  }
  void TearDown() override {
    for (auto& pe : pes) pe->transport->leaving();
    for (auto& pe : pes) pe->transport->close();
  }
  Transport& at(int pe) { return *pes[static_cast<std::size_t>(pe)]->transport; }
  void wait(int pe, const Tally& tally) {
    const std::uint64_t deadline = now_ns() + kDeadlineNs;
    while (!tally.done()) {
      at(pe).progress();
      if (now_ns() > deadline) {
        ADD_FAILURE() << "no answer";
        std::abort();
      }
    }
  }
  void quiet(int pe) {
    Tally tally;
    at(pe).flush(tally);
    wait(pe, tally);
  }
  std::vector<std::unique_ptr<Pe>> pes;
  const Secret secret = Secret::fresh();
};

TEST_P(Transports, BytesOfAnySizeArriveAndComeBack) {
  join(2, 8 << 20);
  std::mt19937_64 random(1);
  for (const std::size_t bytes : {1u, 2u, 3u, 8u, 63u, 64u, 65u, 4095u, 8192u, 8193u, 65536u, 65537u, 262144u, 262145u, 3000001u}) {
    std::vector<unsigned char> sent(bytes), back(bytes);
    for (unsigned char& byte : sent) byte = static_cast<unsigned char>(random());
    const std::uint64_t offset = random() % 4096;
    at(0).put({1, kMemory, offset}, sent.data(), bytes);
    Tally tally;
    at(0).get({1, kMemory, offset}, back.data(), bytes, tally, false);
    wait(0, tally);
    ASSERT_EQ(sent, back) << bytes << " bytes";
    quiet(0);
    ASSERT_EQ(std::memcmp(reinterpret_cast<char*>(pes[1]->memory.data()) + offset, sent.data(), bytes), 0);
  }
}

TEST_P(Transports, APutArrivesThoughNeitherSideEverCallsAgain) {
  join(2);
  const std::uint64_t value = 42;
  at(0).put({1, kMemory, 64}, &value, sizeof value);
  const std::uint64_t deadline = now_ns() + kDeadlineNs;
  while (pes[1]->load(8) != 42 && now_ns() < deadline) std::this_thread::yield();
  EXPECT_EQ(pes[1]->load(8), 42u);
}

TEST_P(Transports, OperationsToOnePeAreDoneInTheirOrder) {
  join(2);
  const bool native = std::string(GetParam()).starts_with("ucx_");  // where each fence waits for an answer
  for (std::uint64_t i = 1; i <= (native ? 2000 : 20000); ++i) {
    at(0).fence();
    at(0).put({1, kMemory, 8}, &i, sizeof i);
    at(0).update({1, kMemory, 16}, {AtomicOp::add, 8, 1});
    if (i % 1000 != 0) continue;
    std::uint64_t seen = 0, old = 0;
    Tally tally;
    at(0).get({1, kMemory, 8}, &seen, sizeof seen, tally, true);
    at(0).fetch({1, kMemory, 16}, {AtomicOp::fetch, 8}, &old, tally, false);
    wait(0, tally);
    ASSERT_EQ(seen, i);
    ASSERT_EQ(old, i);
  }
}

TEST_P(Transports, AtomicsOfManyPesOnOneWordAreNeverLost) {
  constexpr int kPes = 4, kRounds = 2000;
  join(kPes);
  std::vector<std::thread> threads;
  for (int me = 1; me < kPes; ++me)
    threads.emplace_back([&, me] {
      for (int i = 0; i < kRounds; ++i) {
        at(me).update({0, kMemory, 0}, {AtomicOp::add, 8, 1});
        at(me).update({0, kMemory, 12}, {AtomicOp::add, 4, 2});  // its neighbour of 32 bits stays as it is
        if (i % 50 == 0) quiet(me);
      }
      quiet(me);
    });
  for (int i = 0; i < kRounds; ++i) std::atomic_ref<std::uint64_t>(pes[0]->memory[0]).fetch_add(1);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pes[0]->load(0), static_cast<std::uint64_t>(kPes * kRounds));
  EXPECT_EQ(pes[0]->load(1), static_cast<std::uint64_t>((kPes - 1) * kRounds * 2) << 32);
}

TEST_P(Transports, EveryAtomicOperationGivesTheOldValue) {
  join(2);
  const auto fetch = [&](const AtomicCall& call) {
    std::uint64_t old = 0;
    Tally tally;
    at(0).fetch({1, kMemory, 8}, call, &old, tally, false);
    wait(0, tally);
    return old;
  };
  EXPECT_EQ(fetch({AtomicOp::swap, 8, 12}), 0u);
  EXPECT_EQ(fetch({AtomicOp::add, 8, 3}), 12u);
  EXPECT_EQ(fetch({AtomicOp::compare_swap, 8, 7, 14}), 15u);
  EXPECT_EQ(fetch({AtomicOp::compare_swap, 8, 7, 15}), 15u);
  EXPECT_EQ(fetch({AtomicOp::bit_or, 8, 8}), 7u);
  EXPECT_EQ(fetch({AtomicOp::bit_and, 8, 12}), 15u);
  EXPECT_EQ(fetch({AtomicOp::bit_xor, 8, 5}), 12u);
  EXPECT_EQ(fetch({AtomicOp::fetch, 8}), 9u);
  const double half = 0.5;
  std::uint64_t bits;
  std::memcpy(&bits, &half, sizeof bits);
  fetch({AtomicOp::swap, 8, bits});
  EXPECT_EQ(fetch({AtomicOp::add_float, 8, bits}), bits);
  double sum;
  const std::uint64_t word = pes[1]->load(1);
  std::memcpy(&sum, &word, sizeof sum);
  EXPECT_EQ(sum, 1.0);
}

TEST_P(Transports, AllTalkToAllAtOnceFromTheFirstCall) {
  constexpr int kPes = 5;
  join(kPes, 4 << 20);
  std::vector<std::thread> threads;
  for (int me = 0; me < kPes; ++me)
    threads.emplace_back([&, me] {
      std::vector<std::uint64_t> block(50000, static_cast<std::uint64_t>(me + 1));
      const std::uint64_t place = static_cast<std::uint64_t>(me) * block.size() * 8;
      for (int round = 0; round < 3; ++round)
        for (int k = 1; k < kPes; ++k) at((me)).put({(me + k) % kPes, kMemory, place}, block.data(), block.size() * 8);
      quiet(me);
      std::vector<std::uint64_t> back(block.size());
      for (int k = 1; k < kPes; ++k) {
        Tally tally;
        at(me).get({(me + k) % kPes, kMemory, place}, back.data(), back.size() * 8, tally, false);
        wait(me, tally);
        ASSERT_EQ(back, block);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Transports, ThreadsOfOnePeShareAConnection) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kRounds = 300;
  join(2, 8 << 20);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<unsigned>(t));
      std::vector<std::uint64_t> sent(5000), back(5000);
      const std::uint64_t place = static_cast<std::uint64_t>(t) * 64 * 1024;
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::size_t words = 1 + random() % sent.size();
        for (std::size_t i = 0; i < words; ++i) sent[i] = round * 1000000 + i;
        at(0).put({1, kMemory, place}, sent.data(), words * 8);
        Tally tally;
        at(0).get({1, kMemory, place}, back.data(), words * 8, tally, round % 2 == 0);
        wait(0, tally);
        ASSERT_TRUE(std::equal(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(words), sent.begin()));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Transports, WhatIsNotAdmittedIsLoggedAndNotDone) {
  join(2);
  const std::uint64_t size = pes[1]->memory.size() * 8, value = ~0ull;
  // By UCX it is in one piece only if it fits a message.
  std::vector<char> large(std::string(GetParam()).starts_with("ucx") ? 7000 : 100000, 'x');
  at(0).put({1, kMemory, size - 4}, &value, sizeof value);
  at(0).put({1, kMemory, ~0ull - 3}, &value, sizeof value);
  at(0).put({1, kOthers, 0}, &value, sizeof value);
  at(0).put({1, kMemory, size - large.size() / 2}, large.data(), large.size());
  at(0).update({1, kMemory, 4}, {AtomicOp::add, 8, 1});
  for (const std::uint64_t deadline = now_ns() + kDeadlineNs; pes[1]->count_refusals() < 5 && now_ns() < deadline;)
    at(0).progress();
  ASSERT_EQ(pes[1]->count_refusals(), 5u);
  for (const std::uint64_t word : pes[1]->memory) ASSERT_EQ(word, 0u);
}

using TransportsDeathTest = Transports;

TEST_P(TransportsDeathTest, WhoseUpdateWasRefusedHearsOfItByQuiet) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string expected = "PE 1 refused to let this PE access offset 0 of segment 8";
  const std::uint64_t value = 1;
  const auto refused = [&](const std::function<void(Transport&)>& request) {
    join(2);
    request(at(0));
    at(0).put({1, kMemory, 0}, &value, sizeof value);
    quiet(0);
  };
  EXPECT_DEATH(refused([&](Transport& transport) { transport.put({1, kOthers, 0}, &value, sizeof value); }), expected);
  EXPECT_DEATH(refused([&](Transport& transport) { transport.update({1, kOthers, 0}, {AtomicOp::add, 8, 1}); }), expected);
}

INSTANTIATE_TEST_SUITE_P(All, TransportsDeathTest, testing::Values("tcp", "tls", "ucx"), [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(All, Transports, testing::Values("tcp", "tls", "ucx", "ucx_native", "ucx_shared"), [](const auto& test) { return std::string(test.param); });

class UcxDeathTest : public testing::Test {
 protected:
  void SetUp() override { skip_without_ucx(); }
};

/// PE 0 of two, whose PE 1 goes without a word once they have spoken; then PE 0 does `last`, or asks it again.
void be_left(const std::function<std::unique_ptr<Transport>(int, Pe&)>& make, const std::function<void(Transport&)>& first = {},
             const std::function<void(Transport&)>& last = {}) {
  Pe pes[2] = {Pe(1 << 20), Pe(1 << 20)};
  std::vector<std::string> addresses;
  for (int i = 0; i < 2; ++i) {
    pes[i].transport = make(i, pes[i]);
    addresses.push_back(pes[i].transport->address());
  }
  for (Pe& pe : pes) pe.transport->start(addresses);
  std::uint64_t old = 0;
  const auto ask = [&](Tally& tally) {
    pes[0].transport->fetch({1, kMemory, 0}, {AtomicOp::add, 8, 1}, &old, tally, false);
    for (const std::uint64_t deadline = now_ns() + kDeadlineNs; !tally.done() && now_ns() < deadline;) pes[0].transport->progress();
  };
  Tally once, again;
  ask(once);
  if (first) first(*pes[0].transport);
  pes[1].transport->close();
  if (last) return last(*pes[0].transport);
  ask(again);
}

TEST_F(UcxDeathTest, APeThatIsGoneIsNamedWithItsHostAndTheCause) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(be_left([](int me, Pe& pe) { return make_ucx(me, 2, UcxSettings{}, pe); }),
               "the connection to PE 1 .on [^ ]+, [^ ]+. was lost: .+");
}

TEST_F(UcxDeathTest, QuietDoesNotReturnWhenPutsAreLost) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  UcxSettings settings;
  settings.gather = 0;
  const auto put = [](Transport& transport) {
    const std::vector<char> block(512 << 10);
    transport.put({1, kMemory, 0}, block.data(), block.size());
  };
  const auto quiet = [](Transport& transport) {
    for (const std::uint64_t until = now_ns() + 300'000'000; now_ns() < until;) transport.progress();  // it finds out
    Tally tally;
    transport.flush(tally);
    for (const std::uint64_t deadline = now_ns() + kDeadlineNs; !tally.done() && now_ns() < deadline;) transport.progress();
  };
  EXPECT_DEATH(be_left([&](int me, Pe& pe) { return make_ucx(me, 2, settings, pe); }, put, quiet), "the connection to PE 1 .* was lost: ");
}

TEST(SocketDeathTest, APeThatIsGoneIsNamedWithItsHostAndAddressAndTheCause) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  SocketSettings settings;
  settings.interface = "127.";
  EXPECT_DEATH(be_left([&](int me, Pe& pe) { return std::make_unique<SocketTransport>(me, 2, settings, make_tcp(), pe); }),
               "the connection to PE 1 .on [^ ]+, 127.0.0.1:[0-9]+. was lost: it closed the connection");
}

TEST(SocketDeathTest, WhoseCertificateIsRefusedIsToldSoAndGivesUpSoon) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto be_refused = [] {
    TestAuthority ours, theirs("authority of others");
    const CertificateFiles good = ours.issue({});
    CertificateFiles strange = theirs.issue({});
    strange.ca = good.ca;  // it accepts the other one, but not the other way round
    be_left([&](int me, Pe& pe) {
      return std::make_unique<SocketTransport>(me, 2, SocketSettings{}, make_tls(std::make_unique<TlsContext>(me == 0 ? strange : good)), pe);
    });
  };
  EXPECT_DEATH(be_refused(), "cannot connect to PE 1 .*within 3 s .*See that all PEs have certificates of one authority");
}

TEST(Apply, FourBytesLeaveTheirNeighbourAlone) {
  alignas(8) std::uint32_t words[2] = {5, 7};
  EXPECT_EQ(apply({AtomicOp::add, 4, 0xffffffff}, words), 5u);
  EXPECT_EQ(words[0], 4u);
  EXPECT_EQ(words[1], 7u);
}

}  // namespace
}  // namespace shoal::test

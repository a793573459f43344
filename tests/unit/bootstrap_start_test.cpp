// SPDX-License-Identifier: Apache-2.0
// How a start is found where shoalrun is not: what is read from the environment, from a unique id, from an inherited descriptor.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "bootstrap/direct.hpp"
#include "bootstrap/find.hpp"
#include "bootstrap/rendezvous_server.hpp"
#include "bootstrap/secret_file.hpp"
#include "bootstrap/single.hpp"
#include "bootstrap/unique_id.hpp"
#include "bootstrap_launcher.hpp"
#include "test_certificates.hpp"

namespace shoal {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

using Variables = std::map<std::string, std::string>;
Options::Environment environment_of(const Variables& variables) {
  return [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}
std::string refusal(const Variables& variables, const StartInfo& start = {}) {
  return error_of([&] { find_bootstrap(environment_of(variables), start); });
}

bool equal(const Secret& one, const Secret& other) { return std::ranges::equal(one.bytes(), other.bytes()); }

TEST(UniqueId, TellsAddressesPortAndSecret) {
  const MadeId made = make_unique_id("127.");
  const ReadId read = read_unique_id(made.id);
  ASSERT_EQ(read.addresses.size(), 1u);
  EXPECT_EQ(read.addresses[0].text(), strf("127.0.0.1:%d", port_of(made.listener.get())));
  EXPECT_FALSE(equal(read.secret, read_unique_id(make_unique_id("").id).secret));
}

TEST(UniqueId, InterfaceThatIsNotThereIsNamed) { EXPECT_HAS(error_of([] { make_unique_id("nosuch0"); }), "no interface or address \"nosuch0\""); }

TEST(UniqueId, AnythingElseIsRefusedOrRead) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(strf("seed %u", seed));
  std::mt19937 random(seed);
  EXPECT_HAS(error_of([] { read_unique_id(UniqueId{}); }), "this is no unique id");
  const MadeId made = make_unique_id("");
  for (int i = 0; i < 20'000; ++i) {
    UniqueId id = made.id;
    for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes) id.bytes[random() % (i % 2 == 0 ? 64 : 128)] = static_cast<std::byte>(random());
    error_of([&] { EXPECT_LE(read_unique_id(id).addresses.size(), 17u); });
  }
}

TEST(Start, MembersMeetByAnIdThatAnyOfThemMade) {
  MadeId made = make_unique_id("");
  const UniqueId id = made.id;
  std::vector<std::string> said(3);
  std::vector<std::thread> pes;
  for (int pe = 0; pe < 3; ++pe)
    pes.emplace_back([&, pe] {
      said[static_cast<std::size_t>(pe)] = error_of([&] {
        const Variables none;
        const auto bootstrap = find_bootstrap(environment_of(none), {.rank = pe, .size = 3, .id = &id, .made = pe == 1 ? &made : nullptr});
        const Gathered secrets = bootstrap->allgather(bootstrap->secret()->bytes());
        if (bootstrap->rank() != pe || bootstrap->size() != 3 || secrets.text(0) != secrets.text(1) || secrets.text(1) != secrets.text(2)) throw Error(Code::peer, "they disagree");
        bootstrap->watch();
        bootstrap->barrier();
        bootstrap->leave();
      });
    });
  for (std::thread& pe : pes) pe.join();
  EXPECT_EQ(said, std::vector<std::string>(3));
}

TEST(Start, WhatDoesNotMakeSenseIsRefused) {
  EXPECT_HAS(refusal({{"SHOAL_RDZV", "unix:x"}}), "nothing says which one this is: set SHOAL_PE and SHOAL_NPES");
  EXPECT_HAS(refusal({{"SHOAL_RDZV", "node:x"}, {"SHOAL_PE", "0"}, {"SHOAL_NPES", "2"}}), "expected HOST:PORT");
  EXPECT_HAS(refusal({{"SHOAL_RDZV", "unix:x"}, {"SHOAL_PE", "2"}, {"SHOAL_NPES", "2"}}), "SHOAL_PE=\"2\" is not valid");
  EXPECT_HAS(refusal({{"SHOAL_PE", "0"}, {"SHOAL_NPES", "2"}}), "SHOAL_STORE_FD is not set");
  EXPECT_HAS(refusal({}, {.rank = 0, .size = 2}), "nothing says where they meet");
  EXPECT_HAS(refusal({}, {.rank = 2, .size = 2, .rdzv = "unix:x"}), "PE 2 of 2");
  EXPECT_HAS(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), "WORLD_SIZE=2, RANK=0");
  EXPECT_HAS(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node0"}}), "nothing to prove with");
}

TEST(Start, OneIsAJobOfOneHoweverItWasStarted) {
  for (const Variables& variables : {Variables{{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "x"}}, Variables{{"SHOAL_RDZV", "x"}, {"SHOAL_PE", "0"}, {"SHOAL_NPES", "1"}}})
    EXPECT_EQ(find_bootstrap(environment_of(variables))->size(), 1);
  const Variables none;
  EXPECT_EQ(find_bootstrap(environment_of(none), {.rank = 0, .size = 1})->size(), 1);
}

/// PE 1 of 2 leaves; PE 0, which holds the meeting, dies when it hears of that.
void leave_a_dying_holder() {
  const HostPort at{strf("unix:leave-%d", static_cast<int>(::getpid()))};
  UniqueFd listener = listen_at(at);
  if (::fork() == 0) {
    ::alarm(30);
    RendezvousServer server(std::move(listener), {.kind = RendezvousServer::Kind::pes, .members = 2});
    Uplink::Setup setup{.at = at};
    setup.join.members = 2;
    setup.join.pes = 1;
    Uplink zero(std::move(setup));
    for (; zero.meeting() == nullptr; ::poll(nullptr, 0, 1)) {
      zero.progress();
      server.progress();
    }
    pollfd heard{server.fd(), POLLIN, 0};
    ::poll(&heard, 1, 2000);  // the server may have heard of it already
    ::raise(SIGKILL);
  }
  listener.reset();
  ::alarm(30);
  const auto bootstrap = make_direct_bootstrap({.rank = 1, .size = 2, .at = at});
  bootstrap->watch();
  bootstrap->leave();
}

/// PE 0 of two, of which the other one's second thread aborts while its first one waits in the middle of the start.
void be_told_of_an_abort() {
  const HostPort at{strf("unix:abort-%d", static_cast<int>(::getpid()))};
  UniqueFd listener = listen_at(at);
  ::alarm(30);
  if (::fork() == 0) {
    ::alarm(30);
    const auto bootstrap = make_direct_bootstrap({.rank = 1, .size = 2, .at = at});
    std::thread other([&] {
      ::poll(nullptr, 0, 50);  // the first one has come that far, as a rule
      bootstrap->abort(7, "PE 1 has had enough");
    });
    bootstrap->barrier();
  }
  const auto bootstrap = make_direct_bootstrap({.rank = 0, .size = 2, .at = at, .holds = true, .listener = std::move(listener)});
  bootstrap->watch();
  for (;;) ::pause();
}

TEST(StartDeathTest, AnAbortDuringTheStartIsToldWithItsStatusAndWords) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(be_told_of_an_abort(), testing::ExitedWithCode(7), "PE 1 has had enough");
}

TEST(StartDeathTest, WhoLeavesHearsOfTheDeathOfTheOneWhoHoldsTheMeeting) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(leave_a_dying_holder(), testing::ExitedWithCode(1), "the PE where the job meets is gone: ");
}

TEST(SecretFile, IsWhatTheLauncherHandedDown) {
  const Secret secret = Secret::fresh();
  const UniqueFd file = make_secret_file(secret);
  const Variables variables{{"SHOAL_SECRET_FD", std::to_string(file.get())}};
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(equal(*inherited_secret(environment_of(variables)), secret));  // once for each program of a script
  EXPECT_LT(::write(file.get(), "x", 1), 0) << "it can be changed";
  const Variables none;
  EXPECT_FALSE(inherited_secret(environment_of(none)).has_value());
}

TEST(SecretFile, AnythingElseUnderItsNumberIsRefused) {
  const UniqueFd null(::open("/dev/null", O_RDONLY)), unsealed(::memfd_create("x", MFD_ALLOW_SEALING));
  for (const std::string& number : {std::to_string(null.get()), std::to_string(unsealed.get()), std::string("-1"), std::string("99999")}) {
    const Variables variables{{"SHOAL_SECRET_FD", number}};
    EXPECT_HAS(error_of([&] { inherited_secret(environment_of(variables)); }), "is not the job's secret");
  }
}

TEST(DataCredentials, AreWhatTheOptionsName) {
  TestAuthority authority;
  const CertificateFiles files = authority.issue({});
  const std::string path = authority.folder().write("secret", std::string(32, 'x'));
  const auto credentials = [&](const Variables& variables, const Bootstrap& bootstrap) { return data_credentials(Options::from(environment_of(variables)), bootstrap); };
  const auto alone = make_single_bootstrap();
  const Credentials of_file = credentials({{"SHOAL_JOB_SECRET_FILE", path}}, *alone);
  EXPECT_TRUE(of_file.secret && equal(*of_file.secret, Secret::from_file(path)));
  EXPECT_FALSE(credentials({}, *alone).any());
  EXPECT_TRUE(credentials({{"SHOAL_TLS", "0"}, {"SHOAL_JOB_SECRET_FILE", path}}, *alone).plain);
  EXPECT_TRUE(credentials({{"SHOAL_TLS_CA", files.ca}, {"SHOAL_TLS_CERT", files.certificate}, {"SHOAL_TLS_KEY", files.key}}, *alone).certificates.given());
  EXPECT_HAS(error_of([&] { credentials({{"SHOAL_TLS_CA", files.ca}, {"SHOAL_JOB_SECRET_FILE", path}}, *alone); }), "choose one of the two");
}

}  // namespace
}  // namespace shoal

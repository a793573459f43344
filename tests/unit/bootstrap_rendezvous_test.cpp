// SPDX-License-Identifier: Apache-2.0
// The server where members meet and the members' side of it, driven by one thread that gives each its turn.
#include <gtest/gtest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/rendezvous_server.hpp"
#include "bootstrap/uplink.hpp"
#include "bootstrap_launcher.hpp"
#include "security/tls.hpp"
#include "test_certificates.hpp"

namespace shoal {
namespace {

using store::Bytes;
using store::Frame;
using store::Type;
using Kind = RendezvousServer::Kind;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

/// A server on a port of its own, and as many members as a test makes.
class World final {
 public:
  explicit World(int members, const TlsContext* tls = nullptr, Kind kind = Kind::launchers, std::uint64_t join_by_ns = UINT64_MAX,
                 const std::string& host = "127.0.0.1") {
    UniqueFd listener = listen_at({host, 0});
    at_ = {host, port_of(listener.get())};
    server_ = std::make_unique<RendezvousServer>(
        std::move(listener), RendezvousServer::Setup{.kind = kind, .members = members, .tag = "test", .tls = tls, .join_by_ns = join_by_ns});
  }
  const HostPort& at() const { return at_; }
  RendezvousServer& server() { return *server_; }
  Uplink& join(int members, int member, int pes = 1, const TlsContext* tls = nullptr, const std::string& tag = "test",
               const std::vector<SocketAddress>& addresses = {}) {
    Uplink::Setup setup{.at = at_, .addresses = addresses, .tls = tls, .tag = tag, .connect_by_ns = now_ns() + 9'000'000'000};
    setup.join.members = static_cast<std::uint32_t>(members);
    setup.join.member = static_cast<std::uint32_t>(member);
    setup.join.pes = static_cast<std::uint32_t>(pes);
    members_.push_back(std::make_unique<Uplink>(std::move(setup)));
    return *members_.back();
  }
  Uplink& member(std::size_t i) { return *members_[i]; }
  /// Gives everyone turns until `done`; false when that takes longer than 10 s.
  bool run(const std::function<bool()>& done) {
    for (const std::uint64_t deadline = now_ns() + 10'000'000'000; !done();) {
      if (now_ns() > deadline) return false;
      std::vector<pollfd> fds{{server_->fd(), POLLIN, 0}};
      for (const auto& member : members_) fds.push_back({member->fd(), member->events(), 0});
      ::poll(fds.data(), fds.size(), 5);
      server_->progress();
      for (const auto& member : members_) member->progress();
      for (std::string& note : server_->take_notes()) notes_ += note + "\n";
    }
    return true;
  }
  bool run_until_met() {
    return run([&] { return std::all_of(members_.begin(), members_.end(), [](const auto& one) { return one->meeting() != nullptr; }); });
  }
  /// The next frame for `member`; of type error where nothing comes.
  Frame next(Uplink& member) {
    std::optional<Frame> frame;
    run([&] { return (frame = member.next()).has_value() || !member.failure().empty(); });
    return frame.value_or(Frame{Type::error, {}});
  }
  std::string failure(Uplink& member) {
    run([&] { return !member.failure().empty(); });
    return member.failure();
  }
  const std::string& notes() const { return notes_; }

 private:
  HostPort at_;
  std::unique_ptr<RendezvousServer> server_;
  std::vector<std::unique_ptr<Uplink>> members_;
  std::string notes_;
};

Bytes parts_of(const std::vector<std::string>& texts) {
  std::vector<Bytes> bytes;
  for (const std::string& text : texts) bytes.push_back(bytes_of(text));
  return store::join_parts({bytes.begin(), bytes.end()}, store::kMaxReply);
}

std::string end_text(const Frame& frame) {
  std::string text;
  if (frame.type == Type::end) store::take_fixed<std::uint64_t>(frame, text);
  return frame.type == Type::end ? text : strf("a frame of type %s", store::name_of(frame.type));
}

TEST(Rendezvous, MembersLearnWhereTheirPesBegin) {
  World world(3);
  world.join(3, 2, 4);
  world.join(3, 0, 2);
  world.join(3, 1, 3);
  ASSERT_TRUE(world.run_until_met());
  EXPECT_EQ(world.member(0).meeting()->first, 5);
  EXPECT_EQ(world.member(1).meeting()->first, 0);
  EXPECT_EQ(world.member(2).meeting()->first, 2);
  const Meeting& meeting = *world.member(0).meeting();
  EXPECT_EQ(meeting.total, 9);
  EXPECT_EQ(meeting.nonce, world.member(1).meeting()->nonce);
  EXPECT_EQ(&meeting.of(4), &meeting.members[1]);
  EXPECT_EQ(&meeting.of(8), &meeting.members[2]);
  EXPECT_EQ(meeting.members[1].address, "127.0.0.1");
}

TEST(Rendezvous, GathersWhatAllPesGiveInTheirOrder) {
  World world(2);
  Uplink &late = world.join(2, 1, 1), &first = world.join(2, 0, 2);
  ASSERT_TRUE(world.run_until_met());
  late.send(Type::allgather, parts_of({"c"}));
  first.send(Type::allgather, parts_of({"", "bb"}));
  for (Uplink* member : {&late, &first}) {
    const Frame frame = world.next(*member);
    ASSERT_EQ(frame.type, Type::gathered);
    EXPECT_EQ(frame.payload, parts_of({"", "bb", "c"}));
  }
  for (Uplink* member : {&late, &first}) member->send(Type::barrier, {});
  for (Uplink* member : {&late, &first}) EXPECT_EQ(world.next(*member).type, Type::released);
}

TEST(Rendezvous, LargestStatusIsEveryonesOnceAllAreDone) {
  World world(2);
  Uplink &one = world.join(2, 0), &other = world.join(2, 1);
  ASSERT_TRUE(world.run_until_met());
  one.send_text(Type::done, 0, "");
  other.send_text(Type::done, 7, "");
  for (Uplink* member : {&one, &other}) {
    const Frame frame = world.next(*member);
    ASSERT_EQ(frame.type, Type::finished);
    std::string rest;
    EXPECT_EQ(store::take_fixed<std::int32_t>(frame, rest), 7);
    member->close();
  }
  EXPECT_TRUE(world.run([&] { return world.server().over(); }));
}

TEST(Rendezvous, AbortReachesAll) {
  World world(3);
  for (int i = 0; i < 3; ++i) world.join(3, i);
  ASSERT_TRUE(world.run_until_met());
  world.member(1).send_text(Type::abort, 9, "PE 1 has had enough");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(end_text(world.next(world.member(i))), "PE 1 has had enough");
}

TEST(Rendezvous, LostMemberEndsTheJobByName) {
  for (const Kind kind : {Kind::launchers, Kind::pes}) {
    World world(2, nullptr, kind);
    Uplink& left = world.join(2, 0);
    world.join(2, 1).send(Type::barrier, {});
    ASSERT_TRUE(world.run_until_met());
    world.member(1).close();
    const std::string text = end_text(world.next(left));
    EXPECT_HAS(text, kind == Kind::launchers ? "the launcher of node 1 (" : "PE 1 (");
    EXPECT_HAS(text, "127.0.0.1)");
    EXPECT_HAS(text, "the connection was closed");
  }
}

TEST(Rendezvous, WhoSaidThatItExitsNeedNotCloseItsConnection) {
  World world(2, nullptr, Kind::pes);
  for (int pe = 0; pe < 2; ++pe) world.join(2, pe);
  ASSERT_TRUE(world.run_until_met());
  world.member(0).send_text(Type::exiting, 7, "");
  const Frame frame = world.next(world.member(1));
  ASSERT_EQ(frame.type, Type::end);
  EXPECT_EQ(store::read_text(frame.payload).number, 7);
  EXPECT_EQ(world.member(0).failure(), "");
}

TEST(Rendezvous, LostBeforeTheStartEndsTheJobAsWell) {
  World world(3);
  Uplink &one = world.join(3, 0), &gone = world.join(3, 1);
  ASSERT_TRUE(world.run([&] { return world.server().missing().find("1 of 3 nodes not joined: 2;") == 0; })) << world.server().missing();
  gone.close();
  EXPECT_HAS(world.failure(one), "the launcher of node 1");
}

TEST(Rendezvous, WhoseOthersHaveEndedIsTold) {
  World world(2);
  Uplink &waits = world.join(2, 0), &done = world.join(2, 1);
  ASSERT_TRUE(world.run_until_met());
  done.send_text(Type::done, 0, "");
  waits.send(Type::barrier, {});
  const std::string text = end_text(world.next(waits));
  EXPECT_HAS(text, "all PEs of node 1 (");
  EXPECT_HAS(text, "have ended with status 0, and those of node 0 (");
}

TEST(Rendezvous, DifferentRequestsEndTheJobByName) {
  World world(2);
  Uplink &one = world.join(2, 0), &other = world.join(2, 1);
  ASSERT_TRUE(world.run_until_met());
  one.send(Type::barrier, {});
  ASSERT_TRUE(world.run([&] { return one.drained(); }));
  other.send(Type::leave, {});
  const std::string text = end_text(world.next(one));
  EXPECT_HAS(text, "asks for leave while");
  EXPECT_HAS(text, "do not run the same program");
}

TEST(Rendezvous, ReportsTravelToWhoeverAsked) {
  World world(3);
  for (int i = 0; i < 3; ++i) world.join(3, i);
  ASSERT_TRUE(world.run_until_met());
  world.member(2).send(Type::inquiry, {});
  for (std::size_t i = 0; i < 2; ++i) {
    std::string rest;
    const Frame frame = world.next(world.member(i));
    ASSERT_EQ(frame.type, Type::inquired);
    world.member(i).send(Type::report, store::with_text(store::take_fixed<std::uint32_t>(frame, rest), "rows"));
    const Frame answer = world.next(world.member(2));
    ASSERT_EQ(answer.type, Type::reported);
    EXPECT_EQ(store::take_fixed<std::uint32_t>(answer, rest), i);
    EXPECT_EQ(rest, "rows");
  }
}

TEST(Rendezvous, WhoDoesNotFitIsTurnedAwayAndTheOthersGoOn) {
  World world(2);
  Uplink& first = world.join(2, 0);
  ASSERT_TRUE(world.run([&] { return world.server().missing().find("1 of 2 nodes not joined: 1;") == 0; }));
  EXPECT_HAS(world.failure(world.join(3, 1)), "it says that there are 3 nodes, where the job meets it was said that there are 2: give all the same --nnodes");
  EXPECT_HAS(world.failure(world.join(2, 0)), "node 0 (");
  EXPECT_HAS(world.notes(), "has joined already: give each its own --node-rank");
  EXPECT_HAS(world.failure(world.join(2, 2)), "node 2 is out of range: there are 2");
  EXPECT_HAS(world.failure(world.join(2, 1, 0)), "it brings 0 PEs");
  EXPECT_HAS(world.failure(world.join(2, 1, 1, nullptr, "other")), "it belongs to another job");
  Uplink& second = world.join(2, 1);
  ASSERT_TRUE(world.run([&] { return first.meeting() != nullptr && second.meeting() != nullptr; }));
  EXPECT_HAS(world.failure(world.join(2, 1)), "has all its 2 nodes already");
  first.send(Type::barrier, {});
  second.send(Type::barrier, {});
  EXPECT_EQ(world.next(first).type, Type::released);
}

TEST(Rendezvous, GivesUpWithTheNamesOfThoseWhoDidNotCome) {
  World world(4, nullptr, Kind::launchers, now_ns() + 200'000'000);
  EXPECT_HAS(world.failure(world.join(4, 2)), "gave up: 3 of 4 nodes not joined: 0, 1, 3; is shoalrun running there");
}

TEST(Rendezvous, WhoFindsNobodySaysWhereItLooked) {
  Uplink::Setup setup{.at = {"127.0.0.1", 1}, .connect_by_ns = now_ns() + 300'000'000};
  Uplink member(std::move(setup));
  for (const std::uint64_t deadline = now_ns() + 10'000'000'000; member.failure().empty() && now_ns() < deadline; ::poll(nullptr, 0, 5)) member.progress();
  EXPECT_EQ(member.failure(), "cannot meet the job at 127.0.0.1:1: nobody answers (127.0.0.1:1: Connection refused)");
}

TEST(Rendezvous, ALateServerIsFound) {
  UniqueFd listener = listen_at({"127.0.0.1", 0});
  const HostPort at{"127.0.0.1", port_of(listener.get())};
  listener.reset();
  Uplink::Setup setup{.at = at, .tag = "", .connect_by_ns = now_ns() + 10'000'000'000};
  setup.join.members = setup.join.pes = 1;
  Uplink member(std::move(setup));
  for (const std::uint64_t deadline = now_ns() + 10'000'000'000; member.trouble().empty() && now_ns() < deadline; ::poll(nullptr, 0, 1)) member.progress();
  EXPECT_HAS(member.trouble(), "Connection refused");
  RendezvousServer server(listen_at(at), {.kind = Kind::pes, .members = 1});
  for (const std::uint64_t deadline = now_ns() + 10'000'000'000; member.meeting() == nullptr && now_ns() < deadline; ::poll(nullptr, 0, 1)) {
    server.progress();
    member.progress();
  }
  EXPECT_NE(member.meeting(), nullptr) << member.failure();
}

TEST(Rendezvous, MeetsUnderTls) {
  const TlsContext tls(Secret::fresh(), TlsPurpose::store);
  World world(2, &tls);
  world.join(2, 0, 1, &tls);
  world.join(2, 1, 1, &tls);
  ASSERT_TRUE(world.run_until_met());
  const std::string large[2] = {std::string(300'000, 'x'), std::string(300'000, 'y')};
  for (std::size_t i = 0; i < 2; ++i) world.member(i).send(Type::allgather, parts_of({large[i]}));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(world.next(world.member(i)).payload, parts_of({large[0], large[1]}));
}

TEST(Rendezvous, AnAddressThatIsSilentKeepsNobodyFromTheNext) {
  const TlsContext tls(Secret::fresh(), TlsPurpose::store);
  World world(1, &tls);
  const UniqueFd silent = listen_at({"127.0.0.1", 0});  // its kernel accepts
  Uplink& member = world.join(1, 0, 1, &tls, "test",
                              {SocketAddress::numeric("127.0.0.1", port_of(silent.get())), SocketAddress::numeric("127.0.0.1", world.at().port)});
  EXPECT_TRUE(world.run([&] { return member.meeting() != nullptr; })) << member.trouble();
}

TEST(Rendezvous, WhoHasAnotherSecretIsToldAndTheUserOfTheServerToo) {
  const TlsContext tls(Secret::fresh(), TlsPurpose::store), other(Secret::fresh(), TlsPurpose::store);
  World world(2, &tls);
  EXPECT_HAS(world.failure(world.join(2, 1, 1, &other)), "the other side refused this one's job secret");
  EXPECT_HAS(world.notes(), "another job secret");
}

TEST(Rendezvous, OneSideWithoutTlsIsNamedOnBoth) {
  const TlsContext tls(Secret::fresh(), TlsPurpose::store);
  World encrypted(2, &tls), plain(2);
  EXPECT_HAS(encrypted.failure(encrypted.join(2, 1)), "the other side wants TLS, which is turned off on this one");
  EXPECT_HAS(encrypted.notes(), "does not speak TLS: does it run with SHOAL_TLS=0");
  EXPECT_HAS(plain.failure(plain.join(2, 1, 1, &tls)), "the other side does not speak TLS: does it run with SHOAL_TLS=0");
}

TEST(Rendezvous, CertificateIsHeldToItsPe) {
  TestAuthority authority;
  const TlsContext server(authority.issue({})), right(authority.issue({.names = "URI:shoal:pe:1"})), wrong(authority.issue({.common_name = "zero", .names = "URI:shoal:pe:0"}));
  World world(2, &server, Kind::pes);
  EXPECT_HAS(world.failure(world.join(2, 1, 1, &wrong)), "the certificate \"CN = zero\"");
  Uplink& one = world.join(2, 1, 1, &right);
  Uplink& zero = world.join(2, 0, 1, &wrong);
  EXPECT_TRUE(world.run([&] { return one.meeting() != nullptr && zero.meeting() != nullptr; })) << one.failure() << zero.failure();
}

TEST(Rendezvous, PortInUseIsNamed) {
  World world(1);
  const std::string text = error_of([&] { listen_at(world.at()); });
  EXPECT_HAS(text, world.at().text() + ": Address already in use");
  EXPECT_HAS(text, "another job uses this port, perhaps");
}

TEST(Rendezvous, AddressOfAnotherMachineIsNamed) {
  EXPECT_HAS(error_of([] { listen_at({"192.0.2.1", 8666}); }), "this is no address of this machine");
  EXPECT_HAS(error_of([] { SocketAddress::lookup({"no-such-host.invalid", 8666}); }), "no address is known for host \"no-such-host.invalid\"");
}

TEST(Rendezvous, WorksOverIpv6AndByName) {
  for (const char* host : {"::1", "localhost"}) {
    std::unique_ptr<World> world;
    if (!error_of([&] { world = std::make_unique<World>(1, nullptr, Kind::launchers, UINT64_MAX, host); }).empty()) continue;  // no IPv6 here
    world->join(1, 0);
    EXPECT_TRUE(world->run_until_met()) << host << ": " << world->member(0).failure();
  }
}

// Strangers that send anything at all: the members meet nevertheless, and the server is not the worse for it.
TEST(Rendezvous, RandomBytesAreNobodysConcern) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(strf("seed %u", seed));
  std::mt19937 random(seed);
  const auto few = [&] { return static_cast<std::uint32_t>(random() % 3); };
  const TlsContext tls(Secret::fresh(), TlsPurpose::store);
  for (const TlsContext* context : {static_cast<const TlsContext*>(nullptr), &tls}) {
    World world(1, context);
    for (int round = 0; round < 300; ++round) {
      UniqueFd stranger = start_connecting(SocketAddress::lookup(world.at())[0]);
      Bytes bytes(random() % 200);
      for (std::byte& b : bytes) b = static_cast<std::byte>(random());
      // Often something that begins well.
      if (random() % 2 == 0) {
        Bytes frame = store::make_frame(static_cast<Type>(random() % 32), Bytes(random() % 64, static_cast<std::byte>(random())), store::kMaxRequest);
        if (random() % 2 == 0) {
          const store::JoinPayload join{store::kMagic, store::kVersion, few(), few(), few(), 0};
          frame = store::make_frame(Type::join, store::with_text(join, "host"), store::kMaxRequest);
        }
        bytes.insert(bytes.begin(), frame.begin(), frame.end());
      }
      world.run([&] { return connecting_error(stranger.get()) == 0; });
      static_cast<void>(::send(stranger.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
      world.server().progress();
    }
    Uplink& member = world.join(1, 0, 1, context);
    EXPECT_TRUE(world.run([&] { return member.meeting() != nullptr || !member.failure().empty(); }));
    EXPECT_NE(member.meeting(), nullptr) << member.failure();
  }
}

// A member that has proven itself and then sends anything: the job may end, nothing else.
TEST(Rendezvous, RandomFramesOfAMemberEndTheJobAtMost) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(strf("seed %u", seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    World world(2);
    Uplink &good = world.join(2, 0), &bad = world.join(2, 1, 2);
    ASSERT_TRUE(world.run_until_met());
    for (int i = 0; i < 10; ++i) {
      Bytes payload(random() % 64);
      for (std::byte& b : payload) b = static_cast<std::byte>(random() % 3);
      bad.send(static_cast<Type>(random() % 32), payload);
    }
    EXPECT_TRUE(world.run([&] { return bad.drained(); }));
    bad.close();
    EXPECT_TRUE(world.run([&] { return world.server().over() || good.next().has_value() || !good.failure().empty(); }));
  }
}

TEST(Rendezvous, SilentStrangersKeepNobodyOut) {
  World world(1);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 400; ++i) {
    strangers.push_back(start_connecting(SocketAddress::lookup(world.at()).front()));
    world.server().progress();
  }
  const std::uint64_t began = now_ns();
  Uplink& member = world.join(1, 0);
  EXPECT_TRUE(world.run([&] { return member.meeting() != nullptr; })) << member.trouble();
  EXPECT_LT(now_ns() - began, 8'000'000'000u) << "it had to wait until they were sent away";
  EXPECT_HAS(world.notes(), "too many connections wait to say who they are");
}

/// So low that no descriptor is left, for the length of a scope.
class NoDescriptors final {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(Rendezvous, WithoutDescriptorsItKeepsTimeAndAcceptsLater) {
  ::alarm(60);  // without end, progress() would not come back
  World world(1);
  const UniqueFd early = start_connecting(SocketAddress::lookup(world.at()).front());
  pollfd waits{world.server().fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&waits, 1, 10'000), 1);
  {
    const NoDescriptors none;
    world.server().progress();
    EXPECT_EQ(::poll(&waits, 1, 0), 0) << "who waits to be accepted must not keep the server awake";
    EXPECT_GT(world.server().wait_ms(), 0);
  }
  Uplink& member = world.join(1, 0);
  EXPECT_TRUE(world.run([&] { return member.meeting() != nullptr; })) << member.trouble();
  ::alarm(0);
}

// By _Fork, so that no handler closes anything in it.
TEST(Rendezvous, AForkedChildThatKeepsItsDescriptorsDoesNotKeepItBusy) {
  World world(2, nullptr, Kind::pes);
  for (int pe = 0; pe < 2; ++pe) world.join(2, pe);
  ASSERT_TRUE(world.run_until_met());
  const pid_t child = ::_Fork();
  if (child == 0) {
    for (std::size_t i = 0; i < 2; ++i) ::close(world.member(i).fd());
    for (;;) ::pause();
  }
  ::alarm(60);  // in place of going on for ever
  for (std::size_t i = 0; i < 2; ++i) world.member(i).send(Type::leave, {});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(world.next(world.member(i)).type, Type::goodbye);
  for (std::size_t i = 0; i < 2; ++i) world.member(i).close();
  EXPECT_TRUE(world.run([&] { return world.server().over(); }));
  pollfd events{world.server().fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&events, 1, 0), 0) << "who waits for it never sleeps again";
  EXPECT_NO_THROW(listen_at(world.at()));
  ::alarm(0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(Link, LastWordsAreHeardByOneWhoStillHasMoreToSay) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  Link link(UniqueFd(ends[0]), nullptr, Link::Side::accepting);
  {
    const UniqueFd other(ends[1]);
    const Bytes last = store::make_text_frame(Type::exiting, 7, "");
    ASSERT_EQ(::send(other.get(), last.data(), last.size(), 0), static_cast<ssize_t>(last.size()));
  }
  link.send(std::make_shared<const Bytes>(store::make_text_frame(Type::end, 0, "")));  // nobody is there to take it
  link.progress();
  EXPECT_FALSE(link.open());
  const auto frame = link.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(store::read_text(frame->payload).number, 7);
}

TEST(Link, WhoSendsWithoutEndIsKeptToOneFrame) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  Link link(UniqueFd(ends[0]), nullptr, Link::Side::accepting);
  const UniqueFd other(ends[1]);
  const Bytes frame = store::make_text_frame(Type::exiting, 7, std::string(1000, 'x'));
  std::size_t sent = 0;
  const auto send_all = [&] {  // the kernel takes what it has room for
    for (ssize_t n; (n = ::send(other.get(), frame.data() + sent % frame.size(), frame.size() - sent % frame.size(), MSG_NOSIGNAL)) > 0;)
      sent += static_cast<std::size_t>(n);
  };
  send_all();
  const std::size_t taken_by_the_kernel = sent;
  for (int i = 0; i < 100; ++i) {
    link.progress();
    send_all();
  }
  EXPECT_LT(sent, taken_by_the_kernel + (1 << 17));
  EXPECT_EQ(link.events() & POLLIN, 0) << "it would be woken for what it does not read";
  std::size_t frames = 0;
  while (link.next()) ++frames;
  EXPECT_EQ(frames, sent / frame.size());
  EXPECT_EQ(link.events() & POLLIN, POLLIN);
}

TEST(SocketAddress, WhoHasConnectedToItselfHasFoundNobody) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress any = SocketAddress::numeric("127.0.0.1", 0);
  ASSERT_EQ(::bind(socket.get(), any.raw(), any.length()), 0);
  const SocketAddress own = SocketAddress::local_of(socket.get());
  ASSERT_EQ(::connect(socket.get(), own.raw(), own.length()), 0);
  EXPECT_EQ(connecting_error(socket.get()), ECONNREFUSED);
}

TEST(HostPort, IsReadStrictly) {
  const auto text = [](const std::string& given) {
    const HostPort where = parse_host_port(given, "--rdzv");
    return where.host + "|" + std::to_string(where.port);
  };
  EXPECT_EQ(text("node1"), "node1|8666");
  EXPECT_EQ(text("node1:9000"), "node1|9000");
  EXPECT_EQ(text("tcp://node1:9000"), "node1|9000");
  EXPECT_EQ(text("10.0.0.1"), "10.0.0.1|8666");
  EXPECT_EQ(text("[fd00::1]:77"), "fd00::1|77");
  EXPECT_EQ(text("[fe80::1%eth0]"), "fe80::1%eth0|8666");
  EXPECT_EQ(text("fd00::1"), "fd00::1|8666");
  EXPECT_EQ(text(":9000"), "|9000");
  for (const char* bad : {"", ":", "node1:", "node1:x", "node1:65536", "node1:-1", "[::1", "[::1]9", "[node1]:9", "a b:9", "tcp://", "http://node1:9", "node1:9/"})
    EXPECT_HAS(error_of([&] { parse_host_port(bad, "--rdzv"); }), "expected HOST:PORT") << bad;
  EXPECT_EQ((HostPort{"fd00::1", 7}.text()), "[fd00::1]:7");
}

}  // namespace
}  // namespace shoal

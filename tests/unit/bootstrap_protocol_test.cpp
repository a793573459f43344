// SPDX-License-Identifier: Apache-2.0
// What does not belong on the channel, in either direction.
#include "bootstrap/protocol.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/error.hpp"
#include "bootstrap/store.hpp"
#include "bootstrap_launcher.hpp"

namespace shoal {
namespace {

using store::Bytes;
using store::HelloPayload;
using store::Type;
using Kind = StoreServer::Event::Kind;

Bytes header(std::uint32_t type, std::uint32_t length) {
  const store::Header h{type, length};
  Bytes bytes(sizeof h);
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

Bytes hello(std::uint32_t rank, std::uint32_t size, std::uint32_t version = store::kVersion, std::uint32_t magic = store::kMagic) {
  const HelloPayload payload{magic, version, rank, size};
  return store::make_frame(Type::hello, std::as_bytes(std::span(&payload, 1)), store::kMaxRequest);
}

Bytes plain(Type type, const std::string& payload = "") { return store::make_frame(type, bytes_of(payload), store::kMaxRequest); }

/// Takes the next whole answer to `pe` out of the server.
store::Frame answer(StoreServer& server, int pe) {
  store::FrameReader reader(store::kMaxReply);
  while (!server.pending(pe).empty()) {
    const auto bytes = server.pending(pe);
    reader.feed(bytes);
    server.sent(pe, bytes.size());
    if (auto frame = reader.next()) return *frame;
  }
  return {};
}

std::vector<StoreServer::Event> events(StoreServer& server) {
  std::vector<StoreServer::Event> all;
  while (auto event = server.next_event()) all.push_back(*event);
  return all;
}

TEST(Protocol, FramesArriveWholeHoweverTheBytesAreCut) {
  Bytes stream;
  for (const std::string text : {"", "a", "some more bytes"}) {
    const Bytes frame = plain(Type::allgather, text);
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  for (size_t cut = 1; cut <= stream.size(); ++cut) {
    store::FrameReader reader(store::kMaxRequest);
    std::vector<std::string> texts;
    for (size_t at = 0; at < stream.size(); at += cut) {
      reader.feed(std::span(stream).subspan(at, std::min(cut, stream.size() - at)));
      while (auto frame = reader.next()) texts.push_back(text_of(frame->payload));
    }
    EXPECT_EQ(texts, (std::vector<std::string>{"", "a", "some more bytes"})) << "cut at " << cut;
  }
}

TEST(Protocol, WhatAPeMustNotSendBreaksItsChannelWithAText) {
  struct Case {
    const char* what;
    bool joined;
    std::vector<Bytes> frames;
    const char* text;
  };
  Bytes short_abort = plain(Type::abort, "abc");
  const Case cases[] = {
      {"type 0", true, {header(0, 0)}, "type 0"},
      {"an unknown type", true, {header(99, 0)}, "type 99"},
      {"a launcher's type", true, {header(17, 0)}, "type 17"},
      {"a length over the limit", true, {header(2, store::kMaxRequest + 1)}, "length 16777217 (at most 16777216)"},
      {"the largest length", true, {header(2, 0xffffffff)}, "length 4294967295"},
      {"text", true, {bytes_of("hello, world\n")}, "malformed frame"},
      {"a short hello", false, {plain(Type::hello, "abc")}, "hello of 3 bytes"},
      {"a long hello", false, {plain(Type::hello, std::string(17, 'x'))}, "hello of 17 bytes"},
      {"a hello of someone else", false, {hello(0, 2, store::kVersion, 0x12345678)}, "hello with mark 0x12345678"},
      {"a request before hello", false, {plain(Type::barrier)}, "barrier before hello"},
      {"two requests", true, {plain(Type::barrier), plain(Type::allgather)}, "allgather before barrier was answered"},
      {"a barrier with a payload", true, {plain(Type::barrier, "x")}, "barrier of 1 bytes"},
      {"a leave with a payload", true, {plain(Type::leave, "xy")}, "leave of 2 bytes"},
      {"an abort without status", true, {short_abort}, "a number and a text in 3 bytes"},
  };
  for (const Case& test : cases) {
    StoreServer server(2);
    if (test.joined) {
      server.feed(0, hello(0, 2));
      EXPECT_EQ(answer(server, 0).type, Type::welcome);
      EXPECT_EQ(events(server).size(), 1u);
    }
    for (const Bytes& frame : test.frames) server.feed(0, frame);
    const auto seen = events(server);
    ASSERT_EQ(seen.size(), 1u) << test.what;
    EXPECT_EQ(seen[0].kind, Kind::broken) << test.what;
    EXPECT_NE(seen[0].text.find(test.text), std::string::npos) << test.what << ": " << seen[0].text;
    const auto reply = answer(server, 0);
    EXPECT_EQ(reply.type, Type::error) << test.what;
    EXPECT_EQ(store::read_text(reply.payload).text, seen[0].text);
    server.feed(0, hello(0, 2));
    EXPECT_TRUE(events(server).empty()) << test.what << ": a broken channel is no longer listened to";
    server.feed(1, hello(1, 2));
    EXPECT_EQ(answer(server, 1).type, Type::welcome) << test.what << ": the others are served on";
  }
}

TEST(Protocol, AnotherVersionIsRefusedWithBothNumbers) {
  StoreServer server(1);
  server.feed(0, hello(0, 1, 77));
  const auto reply = answer(server, 0);
  ASSERT_EQ(reply.type, Type::error);
  EXPECT_NE(store::read_text(reply.payload).text.find(strf("version %u of the protocol, this library version 77", store::kVersion)), std::string::npos);
  EXPECT_TRUE(events(server).empty());
  EXPECT_EQ(server.state(0), StoreServer::State::absent);
}

TEST(Protocol, AnAbortReasonIsCutAtItsLimit) {
  const auto frame = store::make_text_frame(Type::abort, -5, std::string(200'000, 'x'));
  const auto read = store::read_text(std::span(frame).subspan(sizeof(store::Header)));
  EXPECT_EQ(read.number, -5);
  EXPECT_EQ(read.text.size(), store::kMaxReason);
}

/// Feeds frames with random damage. Whatever comes, the server answers the PEs that behave.
TEST(Protocol, RandomBytesNeverHurtTheServer) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto upto = [&](size_t n) { return static_cast<size_t>(random() % (n + 1)); };
  for (int round = 0; round < 3000; ++round) {
    StoreServer server(2);
    Bytes stream = upto(3) == 0 ? Bytes() : hello(0, 2);
    for (size_t frames = upto(5); frames > 0; --frames) {
      const auto type = static_cast<Type>(1 + upto(6));
      const Bytes frame = type == Type::hello ? hello(0, 2) : plain(type, std::string(upto(40), 'p'));
      stream.insert(stream.end(), frame.begin(), frame.end());
    }
    if (stream.empty()) stream.resize(1 + upto(64));
    for (size_t hits = upto(4); hits > 0; --hits) stream[upto(stream.size() - 1)] = static_cast<std::byte>(random());
    for (size_t at = 0; at < stream.size();) {
      const size_t n = std::min(stream.size() - at, 1 + upto(30));
      server.feed(0, std::span(stream).subspan(at, n));
      at += n;
    }
    int broken = 0;
    for (const auto& event : events(server)) broken += event.kind == Kind::broken ? 1 : 0;
    ASSERT_LE(broken, 1);
    server.feed(1, hello(1, 2));
    ASSERT_EQ(answer(server, 1).type, Type::welcome);
  }
}

/// A launcher that welcomes and then answers a request with `reply`: what does the PE say?
std::string client_sees(const Bytes& reply) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const Bytes welcome = store::make_frame(Type::welcome, std::as_bytes(std::span(&store::kVersion, 1)), store::kMaxReply);
  ::send(ours.get(), welcome.data(), welcome.size(), 0);
  ::send(ours.get(), reply.data(), reply.size(), 0);
  ::shutdown(ours.get(), SHUT_WR);
  return error_of([&] { make_store_bootstrap(theirs.get(), 0, 2)->allgather({}); });
}

/// @param words  the number of runs; of each its bytes and how many have them
Bytes gathered(std::vector<std::uint32_t> words, const std::string& bytes) {
  std::string payload(reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]);
  return store::make_frame(Type::gathered, bytes_of(payload + bytes), store::kMaxReply);
}

TEST(Protocol, APeRefusesAnswersThatMakeNoSense) {
  EXPECT_EQ(client_sees(gathered({2, 1, 1, 2, 1}, "abc")), "");
  EXPECT_EQ(client_sees(gathered({1, 3, 2}, "abc")), "");
  const std::pair<Bytes, const char*> cases[] = {
      {gathered({2, 1, 1}, ""), "gathered is too short"},
      {gathered({0xffffffff, 1, 1}, ""), "gathered is too short"},
      {gathered({2, 1, 1, 2, 1}, "ab"), "gathered is too short"},
      {gathered({2, 1, 1, 0xffffffff, 1}, "abc"), "gathered is too short"},
      {gathered({2, 1, 1, 2, 1}, "abcd"), "gathered is too long"},
      {gathered({1, 1, 0xffffffff}, "a"), "gathered is of too many PEs"},
      {gathered({1, 1, 1}, "a"), "gathered is of too few PEs"},
      {header(static_cast<std::uint32_t>(Type::gathered), store::kMaxReply + 1), "length 268435457"},
      {header(0, 0), "type 0"},
      {header(2, 0), "type 2"},
      {plain(Type::released), "answered allgather with released"},
      {plain(Type::error, "x"), "a number and a text in 1 bytes"},
      {store::make_text_frame(Type::error, 6, "the reason"), "the reason"},
      {Bytes(3), "has gone away"},
      {Bytes(), "has gone away"},
  };
  for (const auto& [reply, text] : cases) {
    const std::string seen = client_sees(reply);
    EXPECT_NE(seen.find(text), std::string::npos) << "expected \"" << text << "\", got \"" << seen << "\"";
  }
}

TEST(Protocol, RandomAnswersNeverHurtAPe) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 1000; ++round) {
    Bytes reply = gathered({2, 3, 1, 4, 1}, "abcdefg");
    for (unsigned hits = 1 + random() % 4; hits > 0; --hits) reply[random() % reply.size()] = static_cast<std::byte>(random());
    reply.resize(random() % (reply.size() + 1));
    client_sees(reply);  // an error or not, but it returns
  }
}

}  // namespace
}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "bootstrap/protocol.hpp"
#include "bootstrap/rendezvous_server.hpp"
#include "bootstrap/store_server.hpp"
#include "bootstrap/unique_id.hpp"
#include "job/greeting.hpp"
#include "targets.hpp"
#include "transport/socket/connection.hpp"

namespace shoal::fuzz {
namespace {

using store::Type;

std::string text_of(const store::Bytes& bytes) { return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }
std::span<const std::byte> bytes_in(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

/// Pieces of what a PE sends: a byte that says from whom (lowest bit) and how many bytes (the others), then those.
std::string piece(int pe, const std::string& bytes) { return static_cast<char>(pe | static_cast<int>(bytes.size()) << 1) + bytes; }

void launchers_channel(std::string_view input) {
  StoreServer server(2);
  for (Reader reader(input); !reader.empty();) {
    const unsigned head = reader.byte();
    server.feed(static_cast<int>(head & 1), bytes_in(reader.take(head >> 1)));
    while (server.next_event()) {
    }
    for (int to = 0; to < 2; ++to)
      if (const std::size_t n = server.pending(to).size(); n != 0) server.sent(to, n);
  }
}
std::string hello_of(std::uint32_t pe) {
  const store::HelloPayload hello{store::kMagic, store::kVersion, pe, 2};
  return text_of(store::make_frame(Type::hello, std::as_bytes(std::span(&hello, 1)), store::kMaxRequest));
}
std::vector<std::string> channel_seeds() {
  const auto frame = [](Type type, std::string_view payload) { return text_of(store::make_frame(type, bytes_in(payload), store::kMaxRequest)); };
  const std::string both = piece(0, hello_of(0)) + piece(1, hello_of(1));
  std::vector<std::string> seeds{both};
  for (const std::string& bytes : {frame(Type::barrier, ""), frame(Type::allgather, "abc"), frame(Type::leave, "")})
    seeds.push_back(both + piece(0, bytes) + piece(1, bytes));
  seeds.push_back(both + piece(1, text_of(store::make_text_frame(Type::abort, 3, "why"))));
  seeds.push_back(both + piece(0, text_of(store::make_text_frame(Type::exiting, 1, ""))));
  return seeds;
}

/// One member of a job, as the server of its meeting hears it.
void rendezvous(std::string_view input) {
  Reader reader(input);
  const bool launchers = (reader.byte() & 1) != 0;
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int ends[2];
  const sockaddr_un unnamed{.sun_family = AF_UNIX, .sun_path = {}};  // the kernel gives it a name
  require(listener && ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&unnamed), sizeof unnamed.sun_family) == 0 && ::listen(listener.get(), 1) == 0 && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "no sockets");
  const UniqueFd member(ends[0]);
  RendezvousServer server(std::move(listener),
                          {.kind = launchers ? RendezvousServer::Kind::launchers : RendezvousServer::Kind::pes, .members = 1, .tag = "job"});
  server.adopt(UniqueFd(ends[1]));
  const std::string_view rest = reader.rest().substr(0, 65536);
  [[maybe_unused]] const ssize_t sent = ::send(member.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
  for (int turn = 0; turn < 16 && !server.over(); ++turn) {
    pollfd ready{server.fd(), POLLIN, 0};
    if (::poll(&ready, 1, 0) <= 0) break;
    server.progress();
  }
  server.take_notes();
}
std::vector<std::string> rendezvous_seeds() {
  const store::JoinPayload join{store::kMagic, store::kVersion, 1, 0, 1, 0};
  const std::string joins = text_of(store::make_frame(Type::join, store::with_text(join, "host\njob"), store::kMaxRequest));
  const auto frame = [](Type type, std::string_view payload) { return text_of(store::make_frame(type, bytes_in(payload), store::kMaxRequest)); };
  std::vector<std::string> seeds;
  for (const char kind : {'\0', '\1'}) {
    seeds.push_back(kind + joins);
    seeds.push_back(kind + joins + frame(Type::barrier, "") + frame(Type::leave, ""));
    seeds.push_back(kind + joins + frame(Type::allgather, std::string("\3\0\0\0abc", 7)));
    seeds.push_back(kind + joins + frame(Type::done, std::string(4, '\0')));
    seeds.push_back(kind + joins + frame(Type::inquiry, ""));
    seeds.push_back(kind + joins + text_of(store::make_text_frame(Type::abort, 3, "why")));
  }
  return seeds;
}

void unique_id(std::string_view input) {
  UniqueId id;
  std::memcpy(id.bytes.data(), input.data(), std::min(input.size(), id.bytes.size()));
  try {
    for (const SocketAddress& address : read_unique_id(id).addresses) require(!address.text().empty(), "an address without text");
  } catch (const Error& error) {
    require(error.code() == Code::invalid_argument, "refused for another reason than it may");
  }
}
std::vector<std::string> unique_id_seeds() {
  std::string id(128, '\0');
  id.replace(0, 8, std::string("SHID\1\0\xda\x21", 8));
  id.replace(40, 6, std::string("\1\4\x7f\0\0\1", 6));
  std::string longer = id;
  longer.replace(40, 1, "\2");
  longer.replace(46, 17, std::string("\6") + std::string(15, '\0') + "\1");
  return {id, longer};
}

/// What has come, in pieces of some length; what is written goes nowhere.
class Given final : public Stream {
 public:
  Given(std::string bytes, std::size_t most) : bytes_(std::move(bytes)), most_(most) {}
  ssize_t read(void* to, std::size_t bytes) noexcept override {
    const std::size_t n = std::min({bytes, most_, bytes_.size() - at_});
    if (n == 0) return kEnded;
    std::memcpy(to, bytes_.data() + at_, n);
    at_ += n;
    return static_cast<ssize_t>(n);
  }
  ssize_t write(const void*, std::size_t bytes) noexcept override { return static_cast<ssize_t>(bytes); }
  ssize_t write_both(const void*, std::size_t head, const void*, std::size_t body) noexcept override { return static_cast<ssize_t>(head + body); }
  bool handshake() override { return true; }
  std::size_t available() const noexcept override { return std::min(most_, bytes_.size() - at_); }
  bool holds_input() const noexcept override { return true; }
  int fd() const noexcept override { return -1; }
  std::string why() const override { return "the input ended"; }

 private:
  const std::string bytes_;
  const std::size_t most_;
  std::size_t at_ = 0;
};

/// Segment 1 is a page that may be used.
class Memory final : public shoal::Target {
 public:
  char* admit(int, std::uint32_t key, std::uint64_t offset, std::uint64_t bytes, Access access) noexcept override {
    const std::uint64_t size = page_.size();
    if (key != 1 || offset > size || bytes > size - offset || (access == Access::atomic && offset % bytes != 0)) return nullptr;
    return page_.data() + offset;
  }
  std::span<char> region(int, std::uint32_t) noexcept override { return {}; }
  void refused(const std::string&, const std::string&) noexcept override {}
  void wake() noexcept override {}
  [[noreturn]] void fail(const std::string& what) noexcept override {
    require(false, what.c_str());
    __builtin_unreachable();
  }

 private:
  alignas(64) std::array<char, 64 * 1024> page_{};
};

/// What another PE sends: first how many bytes come at a time, and how many answers this one waits for.
void frames(std::string_view input) {
  static Memory memory;
  Reader reader(input);
  const std::size_t most = 1 + reader.byte() * 16;
  const unsigned awaited = reader.byte() % 8;
  std::string bytes(reader.rest());
  // A request that is refused ends the job, as it must; so nobody refuses here.
  if (awaited != 0) std::replace(bytes.begin(), bytes.end(), static_cast<char>(wire::Type::refused), static_cast<char>(wire::Type::ask_key));
  std::array<char, 8 * 16> answers;
  Tally tally;
  Connection connection(1, std::make_unique<Given>(std::move(bytes), most), memory);
  for (unsigned i = 0; i < awaited; ++i) connection.await(answers.data() + i * 16, i % 2 == 0 ? 8 : 16, tally);
  while (!connection.broken()) {
    connection.receive();
    connection.flush();
  }
}
std::vector<std::string> frame_seeds() {
  using wire::Frame;
  const auto operands = bytes_of(wire::Operands{1, 2});
  const auto start = [](int awaited) { return std::string("\x10") + static_cast<char>(awaited); };
  return {start(0) + bytes_of(Frame{wire::Type::put, 0, 0, 0, 1, 64, 8}) + "12345678",
          start(0) + bytes_of(Frame{wire::Type::put, 0, 0, 0, 1, 0, 200}) + std::string(200, 'x') + bytes_of(Frame{wire::Type::get, 0, 0, 0, 1, 0, 0}),
          start(0) + bytes_of(Frame{wire::Type::get, 0, 0, 0, 1, 8, 4096}) + bytes_of(Frame{wire::Type::get, 0, 0, 0, 1, 0, 16384}),
          start(0) + bytes_of(Frame{wire::Type::update, 3, 8, 0, 1, 8, 0}) + operands + bytes_of(Frame{wire::Type::fetch, 2, 4, 0, 1, 4, 0}) + operands,
          start(2) + bytes_of(Frame{wire::Type::reply, 0, 0, 0, 0, 0, 8}) + "12345678" + bytes_of(Frame{wire::Type::reply, 0, 0, 0, 0, 0, 16}) + std::string(16, 'y'),
          start(0) + bytes_of(Frame{wire::Type::put, 0, 0, 0, 2, 0, 20000}) + std::string(20000, 'z') + bytes_of(Frame{wire::Type::refused, 0, 0, 0, 1, 0, 0})};
}

/// A PE that has said hello, and hears what another one says of itself.
class Hearsay final : public Bootstrap {
 public:
  explicit Hearsay(std::string_view theirs) : theirs_(theirs) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  Gathered allgather(std::span<const std::byte> mine) override { return {{}, {mine, bytes_in(theirs_)}}; }
  void barrier() override {}
  void leave() override {}
  [[noreturn]] void abort(int, const std::string& why) override {
    require(false, why.c_str());
    __builtin_unreachable();
  }

 private:
  const std::string_view theirs_;
};

constexpr const char* kAlike[] = {"SHMEM_SYMMETRIC_SIZE"};
const Options& default_options() {
  static const Options options = Options::from([](const char*) { return nullptr; });
  return options;
}

void greeting(std::string_view input) {
  Hearsay bootstrap(input);
  try {
    const Greetings read = greet(bootstrap, 1, default_options(), kAlike, StaticPlan::none());
    require(read.node_of.size() == 2 && read.machine_pes >= 1 && read.machine_pes <= 2 && read.processors >= 1, "greetings that make no sense");
  } catch (const Error& error) {
    require(error.what()[0] != '\0', "refused without a word");
  }
}
/// What this one says itself.
std::vector<std::string> greeting_seeds() {
  class Overheard final : public Bootstrap {
   public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    Gathered allgather(std::span<const std::byte> mine) override {
      said = std::string(reinterpret_cast<const char*>(mine.data()), mine.size());
      return {{}, {mine}};
    }
    void barrier() override {}
    void leave() override {}
    [[noreturn]] void abort(int, const std::string&) override { std::abort(); }
    std::string said;
  } bootstrap;
  greet(bootstrap, 1, default_options(), kAlike, StaticPlan::none());
  return {bootstrap.said};
}

}  // namespace

const std::vector<Target> kWire{{"launchers_channel", launchers_channel, channel_seeds},
                                {"rendezvous", rendezvous, rendezvous_seeds},
                                {"unique_id", unique_id, unique_id_seeds},
                                {"frames", frames, frame_seeds},
                                {"greeting", greeting, greeting_seeds, true}};

}  // namespace shoal::fuzz

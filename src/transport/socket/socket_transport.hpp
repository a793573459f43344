// SPDX-License-Identifier: Apache-2.0
// The transport over TCP sockets, encrypted or not: the stream maker decides. One connection to each PE that something
// was ever sent to or by, opened on first use.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/event_fd.hpp"
#include "transport/lost_peer.hpp"
#include "transport/serving_thread.hpp"
#include "transport/socket/connection.hpp"
#include "transport/socket/door.hpp"
#include "transport/socket/endpoint.hpp"
#include "transport/transport.hpp"

namespace shoal {

class SocketTransport final : public Transport, private Served, private Host {
 public:
  /// Listens. @param target  outlives this. @throws Error
  SocketTransport(int me, int n_pes, const SocketSettings& settings, std::unique_ptr<StreamMaker> maker,
                  Target& target);
  ~SocketTransport() override;

  const char* name() const noexcept override { return maker_->name(); }
  std::string address() const override;
  void start(std::vector<std::string> addresses) override;
  void leaving() noexcept override { leaving_.store(true, std::memory_order_seq_cst); }
  void close() noexcept override;

  void put(const Far& to, const void* from, std::size_t bytes) noexcept override;
  void get(const Far& from, void* to, std::size_t bytes, Tally& tally, bool gather) noexcept override;
  void update(const Far& word, const AtomicCall& call) noexcept override;
  void raise(const Far& word, std::uint64_t value) noexcept override;
  void fetch(const Far& word, const AtomicCall& call, void* old, Tally& tally, bool gather) noexcept override;
  void flush(Tally& tally) noexcept override;
  bool progress() noexcept override;
  void rest() noexcept override { thread_.rest(); }

 private:
  using JobId = std::array<std::uint8_t, 16>;

  Connection& peer(int pe) noexcept {
    Connection* connection = peers_[static_cast<std::size_t>(pe)].load(std::memory_order_acquire);
    return connection != nullptr ? *connection : open(pe);
  }
  // open.cpp: how connections come about
  Connection& open(int pe) noexcept;
  Endpoint endpoint_of(int pe) const;
  std::string identity_of(int pe) const;
  /// What came of dialling a PE's addresses.
  struct Attempt {
    std::string tried;                     // what was wrong with each, for messages
    bool refused = false, silent = false;  // one has another's credentials; at one nobody answers
    bool use_theirs = false;
  };
  enum class Dialing : std::uint8_t { no, searching, asking };  // asking: hello is said, and not answered
  bool begin_asking(int pe);
  std::unique_ptr<Stream> dial(int pe);
  std::unique_ptr<Stream> dial_host(int pe, const std::string& host, std::uint64_t answer_ns, Attempt& attempt);
  void say_silent(int pe, const std::string& tried) const;
  bool on_hello(const wire::Hello& hello, Stream& stream) noexcept override;
  void on_confirmed(const wire::Hello& hello, std::unique_ptr<Stream> stream) noexcept override;
  void on_given_up(const wire::Hello& hello) noexcept override;
  void add(int pe, std::unique_ptr<Stream> stream);

  void put_body(Connection& connection, const wire::Frame& frame, const void* data) noexcept;
  void make_room(Connection& connection, std::size_t bytes) noexcept;
  void make_await(Connection& connection, std::uint64_t bytes) noexcept;
  void wait_on(Connection& connection, short events, int round) noexcept;
  void appended(Connection& connection) noexcept;
  [[noreturn]] void lost(Connection& connection) noexcept;
  [[noreturn]] void fail_lost(const Connection& connection) noexcept;

  bool watch(Connection& connection, int how) noexcept;
  bool own_soon(Connection& connection) noexcept;
  bool serve(Connection& connection) noexcept;
  void note_if_lost(Connection& connection) noexcept;
  bool serve_ready(int timeout_ms, bool& nudged) noexcept;
  bool serve_all() noexcept override;
  void send_what_lies() noexcept override;
  bool serve_next() noexcept override;
  void nudge() noexcept override { nudge_.raise(); }
  void watch_lost() noexcept override;

  const int me_, n_pes_;
  const SocketSettings settings_;
  const std::unique_ptr<StreamMaker> maker_;
  Target& target_;
  JobId job_{};
  Endpoint endpoint_;
  UniqueFd listener_;  // until start
  const ProcessFd epoll_;
  const EventFd nudge_;
  // By PE, from start on. Many PEs have their machine in common.
  struct Place {
    const std::string* machine;
    std::uint16_t port;
  };
  std::set<std::string> machines_;
  std::vector<Place> places_;
  std::vector<std::string> identities_;  // of their streams' makers; empty: they have none

  std::mutex opening_;
  std::condition_variable opened_;
  std::vector<Dialing> dialing_;                    // by PE
  std::multiset<int> welcomed_;                     // PEs that were, and have neither confirmed it nor given up
  std::atomic<std::size_t> host_that_led_{0};       // its position among a machine's addresses, the last time
  std::vector<std::unique_ptr<Connection>> owned_;  // all ever opened
  std::unique_ptr<std::atomic<Connection*>[]> peers_, opened_list_;  // by PE; in the order of opening
  std::atomic<int> opened_count_{0};

  std::atomic<bool> leaving_{false};
  LostPeer<Connection> lost_;
  std::uint64_t look_ns_ = 0;  // the thread's
  std::unique_ptr<Door> door_;
  ServingThread thread_{*this};
};

}  // namespace shoal

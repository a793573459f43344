// SPDX-License-Identifier: Apache-2.0
// The launchers of the job's other nodes, as this one sees them. That of node 0 runs the server where all meet; each,
// that one included, has a connection to it. What they say to each other: bootstrap/protocol.hpp.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bootstrap/rendezvous_server.hpp"
#include "bootstrap/uplink.hpp"
#include "command_line.hpp"
#include "security/credentials.hpp"

namespace shoal::run {

class Federation final {
 public:
  /// Listens, on node 0, and begins to look for the others. @throws Error
  explicit Federation(const Settings& settings);

  /// Waits until all are there. Nothing: they are; else the exit status, and the user was told. `guard_fd` is that of
  /// Job.
  std::optional<int> meet(int guard_fd);
  const Meeting& meeting() const { return *uplink_->meeting(); }
  /// What this job's data is protected with; nothing where it is by certificates, or not at all.
  std::optional<Secret> job_secret() const;
  /// This machine's address on the way to node 0; on node 0, that where it listens.
  const std::string& own_address() const {
    return meeting().members[static_cast<std::size_t>(settings_.node_rank)].address;
  }

  // To be polled, if not -1.
  int server_fd() const { return server_ != nullptr ? server_->fd() : -1; }
  int uplink_fd() const { return uplink_->fd(); }
  short uplink_events() const { return uplink_->events(); }
  /// At most so long (-1: for ever) until progress() is due.
  int wait_ms() const;
  void progress();

  /// What the server has said, in order.
  std::optional<store::Frame> next() { return uplink_->next(); }
  /// "" while node 0 is there, else a sentence that says what became of it.
  std::string failure() const;
  void ask(store::Type type, std::span<const std::byte> payload) { uplink_->send(type, payload); }
  void abort(int status, const std::string& text) { uplink_->send_text(store::Type::abort, status, text); }
  void done(int status) { uplink_->send_text(store::Type::done, status, ""); }
  void inquire() { uplink_->send(store::Type::inquiry, {}); }
  void report(std::uint32_t asker, const std::string& states) {
    uplink_->send(store::Type::report, store::with_text(asker, states));
  }
  /// The server has said its last word to this node.
  void part() { uplink_->close(); }
  /// Nobody has to be told anything any more, or it has taken too long.
  bool parted();

 private:
  std::optional<int> stopped_by(int signal_fd, int guard_fd);
  void say_who_is_missing();
  const Settings& settings_;
  const HostPort at_;
  Credentials credentials_;
  std::unique_ptr<TlsContext> tls_;
  std::unique_ptr<RendezvousServer> server_;
  std::unique_ptr<Uplink> uplink_;
  std::uint64_t part_by_ns_ = 0;
};

}  // namespace shoal::run

// SPDX-License-Identifier: Apache-2.0
// A member's connection to the place where its job meets: finds it, tries until it is there, joins, and carries frames.
// Used by one thread at a time; never blocks but for the lookup of a name, and never throws once made.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/address.hpp"
#include "bootstrap/link.hpp"

namespace shoal {

/// What all members learn when the last one has joined.
struct Meeting {
  struct Member {
    int first, pes;
    std::string host, address;
  };
  int total = 0, first = 0;
  std::vector<std::byte> nonce;
  std::vector<Member> members;
  /// The member that brings `pe`.
  const Member& of(int pe) const;
};

class Uplink final {
 public:
  struct Setup {
    HostPort at;
    std::vector<SocketAddress> addresses = {};  ///< to be tried in place of those that `at` stands for
    const TlsContext* tls = nullptr;            ///< null: plain. Outlives the uplink
    store::JoinPayload join{};                  ///< all but magic and version
    std::string tag = {};
    std::uint64_t connect_by_ns = UINT64_MAX;
    int silence_s = 10;
    std::uint32_t all_members = 0;  ///< how many must turn out to be there; 0: any number
    std::uint32_t all_pes = 0;      ///< the same of PEs
    bool once = false;              ///< nobody else will ever listen there: what ends a connection is final
  };
  explicit Uplink(Setup setup);
  /// Over a socket to a server on this machine: nothing to find.
  Uplink(UniqueFd socket, Setup setup);

  int fd() const { return link_ != nullptr ? link_->fd() : socket_.get(); }
  short events() const;
  int wait_ms() const;
  void progress();
  /// Set once all have joined.
  const Meeting* meeting() const { return meeting_ ? &*meeting_ : nullptr; }
  /// Frames after that, in order; also those that came before the connection ended.
  std::optional<store::Frame> next();
  void send(store::Type type, std::span<const std::byte> payload);
  void send_text(store::Type type, int number, const std::string& text);
  bool drained() const { return link_ == nullptr || link_->drained(); }
  /// "" while it works, else why not: "cannot meet the job at ...", or what the server said.
  const std::string& failure() const { return failure_; }
  /// What the last attempt to connect came to, while it is still tried; "" before the first one has failed.
  const std::string& trouble() const { return trouble_; }
  /// Of this machine, on the connection.
  std::string own_address() const { return SocketAddress::local_of(fd()).host_text(); }
  void close();

 private:
  void try_next();
  void look_at_attempt();
  void attempt_failed(const std::string& why);
  void greet(UniqueFd fd, const TlsContext* tls);
  void read_start(const store::Frame& frame);
  void fail(const std::string& why);
  std::string tried() const;
  Setup setup_;
  std::vector<SocketAddress> addresses_;  // still to be tried in this round
  SocketAddress target_;
  UniqueFd socket_;  // on its way
  std::unique_ptr<Link> link_;
  bool several_ = false;  // addresses were there to try in this round
  std::uint64_t attempt_by_ns_ = 0, answer_ns_, next_attempt_ns_ = 0, checked_ns_ = 0;
  std::string trouble_, failure_;
  std::optional<Meeting> meeting_;
};

}  // namespace shoal

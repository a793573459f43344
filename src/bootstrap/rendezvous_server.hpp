// SPDX-License-Identifier: Apache-2.0
// Where the members of a job meet and stay in touch: launchers, each with the PEs of one node, or PEs, single or,
// behind a server of their node that is a member for all of them, many. It accepts connections, admits members, answers
// what all of them ask, and tells everyone when the job ends and why. One thread drives it; it never blocks (but for
// the lookup of a name, on the way to a larger meeting), and nothing that arrives makes it throw.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/address.hpp"
#include "bootstrap/link.hpp"
#include "bootstrap/uplink.hpp"

namespace shoal {

class RendezvousServer final {
 public:
  enum class Kind { launchers, pes };
  struct Setup {
    Kind kind;
    int members;                            ///< how many launchers are to join, or how many PEs
    std::string tag = {};                   ///< of the job; members with another one are refused
    const TlsContext* tls = nullptr;        ///< null: plain. Outlives the server
    std::uint64_t join_by_ns = UINT64_MAX;  ///< until when all must have joined
    int silence_s = 10;                     ///< how long a machine may be silent
    int first = 0;                          ///< the number of the first of these PEs in the job
    /// Where all these PEs are one member of a larger meeting, that joins as `first`: the connection to it.
    std::unique_ptr<Uplink> above = nullptr;
  };
  /// @param listener  a non-blocking listening socket. @throws Error{system}
  RendezvousServer(UniqueFd listener, Setup setup);
  ~RendezvousServer();
  /// A member of this very process or machine: the other end of a socket pair. It needs no TLS.
  void adopt(UniqueFd socket);

  /// Readable when progress() has something to do; wait_ms() says when it has without that (-1: never).
  int fd() const { return events_.get(); }
  /// The same of the connection to the larger meeting, with the events to wait for; -1: there is none.
  int fd_above() const { return events_above() != 0 ? setup_.above->fd() : -1; }
  short events_above() const { return setup_.above != nullptr ? setup_.above->events() : short{0}; }
  int wait_ms() const;
  void progress();
  /// Ends the job: everyone is told. The first cause counts.
  void end(int status, const std::string& text);
  /// The job is over (finished, left by all, or ended), and everyone who could be told has been.
  bool over() const;
  /// All have been told that the process of this server exits.
  bool told_exit() const;
  /// Who has not joined yet, in words.
  std::string missing() const;
  /// Lines that the user should see: who was turned away, and why.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  struct Guest;
  struct Member {
    Guest* guest = nullptr;  // null before it joined, and when it went
    std::string host, address;
    int first = 0, pes = 0;
    std::optional<store::Frame> request;  // unanswered
    std::optional<int> status;            // of a launcher that is done
    bool left = false;
  };
  enum class Phase { joining, running, ending, over };

  void accept_all();
  void lose_oldest_stranger();
  void watch_listener(bool on);
  void add(UniqueFd fd, const TlsContext* tls, bool trusted);
  void serve(Guest& guest);
  void forget(int fd) const;
  void set_interest(Guest& guest);
  void take(Guest& guest, const store::Frame& frame);
  void join(Guest& guest, const store::Frame& frame);
  std::string objection(const Guest& guest, const store::JoinPayload& payload, const std::string& tag) const;
  std::string own_address() const;
  bool all_joined() const;
  /// How many numbers of the meeting a member takes that brings so many PEs: a launcher is one.
  std::uint32_t numbers(std::uint32_t pes) const { return setup_.kind == Kind::pes ? pes : 1; }
  void start();
  void serve_above();
  void collect(Guest& guest, store::Frame frame);
  void answer_all();
  void answer(store::Type type, std::span<const std::byte> payload);
  void note_done(Guest& guest, int status);
  void check_deserted();
  void lose(Guest& guest);
  void end_by_exit(const Guest& guest);
  void refuse(Guest& guest, const std::string& why);
  void close_doors();
  void broadcast(store::Type type, std::span<const std::byte> payload);
  void tell_end(int status, const std::string& text, bool print);
  void check_time();
  std::string text_of(int member) const;
  Member& at(int member) { return members_[static_cast<std::size_t>(member)]; }
  const Member& at(int member) const { return members_[static_cast<std::size_t>(member)]; }

  const Setup setup_;
  ProcessFd listener_, events_;
  bool accepts_ = true;  // false: there were no descriptors left
  std::map<std::uint64_t, std::unique_ptr<Guest>> guests_;
  std::uint64_t next_guest_ = 1;
  std::vector<Member> members_;  // of PEs: by the first that one brings, with gaps behind those that bring several
  std::vector<bool> taken_;      // the numbers that have joined, whoever brought them
  // Counts of what is in them, since a job may have many.
  int joined_ = 0, asking_ = 0, done_ = 0, strangers_ = 0;
  std::uint64_t pes_ = 0;
  bool exit_told_ = false;
  int asked_first_ = 0;  // of those who ask
  std::vector<std::string> notes_;
  int turned_away_ = 0;
  Phase phase_ = Phase::joining;
  std::uint64_t checked_ns_ = 0, close_by_ns_ = 0;
  std::uint64_t say_ns_;  // when the user may wonder why the larger meeting does not begin
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// The transport over UCX: one worker, and an endpoint for each PE that something was ever sent to, opened on first use.
//
// An operation takes one of two ways:
//   message   an active message of frames (transport/frames.hpp), which the target's processor handles and checks:
//   small puts,
//             gathered; all atomics and signals, by the instructions that the target's neighbours use; what has no
//             remote key
//   native    ucp_put_nbx and ucp_get_nbx with the segment's remote key: large puts, gets
// UCX orders messages to a PE among themselves, and nothing else. So messages wait until the native puts before them
// have arrived; a native put waits for what a fence sets before it; a get for all that may not be done yet, or it is a
// message.
//
// Thread safety: UCX and all state are used by whoever owns the worker.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/lost_peer.hpp"
#include "transport/owner_flag.hpp"
#include "transport/serving_thread.hpp"
#include "transport/ucx/peer.hpp"
#include "transport/ucx/ucx.hpp"

namespace shoal {

class UcxTransport final : public Transport, private Served {
 public:
  UcxTransport(int me, int n_pes, const UcxSettings& settings, Target& target);
  ~UcxTransport() override;

  const char* name() const noexcept override { return "ucx"; }
  std::string address() const override { return address_; }
  void start(std::vector<std::string> addresses) override;
  void leaving() noexcept override { leaving_.store(true, std::memory_order_seq_cst); }
  void close() noexcept override;
  void detach(std::uint32_t key) noexcept override;

  void put(const Far& to, const void* from, std::size_t bytes) noexcept override;
  void get(const Far& from, void* to, std::size_t bytes, Tally& tally, bool gather) noexcept override;
  void update(const Far& word, const AtomicCall& call) noexcept override;
  void raise(const Far& word, std::uint64_t value) noexcept override;
  void fetch(const Far& word, const AtomicCall& call, void* old, Tally& tally, bool gather) noexcept override;
  void fence() noexcept override { fences_.fetch_add(1, std::memory_order_relaxed); }
  void flush(Tally& tally) noexcept override;
  bool progress() noexcept override;
  void rest() noexcept override { thread_.rest(); }

 private:
  using Frame = wire::Frame;
  static constexpr unsigned kMessageId = 0;  // of the active messages
  /// What a request of UCX's carries along.
  struct Note {
    UcxPeer* peer;
    Tally* tally;
    std::uint64_t upto;  // the peer's puts when it was asked whether they have arrived
    Message* message;    // owned, until UCX is done with it
  };
  /// Memory of this PE's that others may have a key of.
  struct Region {
    std::uint32_t key;
    ucp_mem_h memory;
    std::uint64_t base, bytes;
    std::string packed;  // the key
  };

  // ucx_transport.cpp
  void open_context(const UcxSettings& settings);
  void open_worker(const UcxSettings& settings);
  UcxPeer& peer(int pe) noexcept;
  void connect(UcxPeer& peer) noexcept;
  void broke(UcxPeer& peer, ucs_status_t status) noexcept { broke(peer, ucp_.ucs_status_string(status)); }
  void broke(UcxPeer& peer, const char* why) noexcept;
  [[noreturn]] void lost(UcxPeer& peer) noexcept;
  std::string lost_text(const UcxPeer& peer) const;
  bool own_soon() noexcept;
  bool serve_owned() noexcept;
  bool serve_all() noexcept override;
  void send_what_lies() noexcept override;
  bool serve_next() noexcept override;
  void nudge() noexcept override { ucp_.ucp_worker_signal(worker_); }
  void watch_lost() noexcept override;
  template <class Done>
  void wait_until(UcxPeer& peer, Done&& done) noexcept;
  void sleep_armed(int timeout_ms) noexcept;

  // messages.cpp
  std::unique_ptr<Message> fresh_message();
  void append(UcxPeer& peer, const Frame& frame, const void* data, std::size_t bytes, const void* more = nullptr,
              std::size_t more_bytes = 0) noexcept;
  void request(UcxPeer& peer, const Frame& frame, const void* data, std::size_t bytes) noexcept;
  void await(UcxPeer& peer, void* to, std::uint64_t bytes, Tally& tally) noexcept;
  void leave(UcxPeer& peer, bool gather) noexcept;
  void put_message(UcxPeer& peer, Far to, const char* from, std::size_t bytes) noexcept;
  void get_message(UcxPeer& peer, Far from, char* to, std::size_t bytes, Tally& tally, bool gather) noexcept;
  bool send(UcxPeer& peer, bool all) noexcept;
  bool send_dirty() noexcept;
  void on_message(const char* data, std::size_t bytes) noexcept;
  bool on_frames(UcxPeer& peer, const char* at, const char* end) noexcept;
  bool on_atomic(UcxPeer& peer, const Frame& frame, const char* behind) noexcept;
  void answer(UcxPeer& peer, const void* data, std::uint64_t bytes) noexcept;
  void refuse(UcxPeer& peer, const wire::Frame& request) noexcept;
  bool on_get(UcxPeer& peer, const Frame& frame) noexcept;
  bool on_reply(UcxPeer& peer, const Frame& frame, const char* behind) noexcept;

  // native.cpp
  const RemoteKey* key_for(UcxPeer& peer, const Far& place, std::size_t bytes) noexcept;
  void on_key(UcxPeer& peer, const Frame& frame, const char* behind) noexcept;
  void answer_keys() noexcept;
  const Region* region(int from, std::uint32_t key) noexcept;
  void put_native(UcxPeer& peer, const RemoteKey& key, std::uint64_t offset, const char* from,
                  std::size_t bytes) noexcept;
  void get_native(UcxPeer& peer, const RemoteKey& key, std::uint64_t offset, char* to, std::size_t bytes,
                  Tally& tally) noexcept;
  void flush_puts(UcxPeer& peer, Tally* tally) noexcept;
  void settle(UcxPeer& peer, bool puts, bool messages) noexcept;
  void confirm(UcxPeer& peer, Tally& tally) noexcept;

  static Note& note_of(ucs_status_ptr_t request) noexcept { return *static_cast<Note*>(request); }

  const int me_, n_pes_;
  const std::size_t gather_;
  Target& target_;
  const UcpFunctions& ucp_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int event_fd_ = -1;  // the worker's
  std::string address_;
  std::vector<std::pair<std::string, std::string>>
      machines_;  // by PE: its machine, for messages, and where its worker is

  OwnerFlag owner_;                              // of the worker, and of what follows
  std::vector<std::unique_ptr<UcxPeer>> peers_;  // by PE; null: never spoken to
  std::vector<UcxPeer*> opened_, dirty_;
  std::vector<std::unique_ptr<Message>> spare_;
  std::vector<std::pair<int, std::uint32_t>> asked_;  // keys that others want
  std::vector<Region> regions_;
  bool touched_ = false;  // memory or tallies changed since target_.wake()

  std::atomic<std::uint64_t> fences_{0};
  std::atomic<bool> leaving_{false};
  LostPeer<UcxPeer> lost_;
  ServingThread thread_{*this};
};

/// Serves until `done()`, for a caller that can go no further before.
template <class Done>
void UcxTransport::wait_until(UcxPeer& peer, Done&& done) noexcept {
  constexpr int kSpins = 64;  // without anything to serve, before it sleeps
  for (int round = 0; !done(); ++round) {
    if (peer.broken) lost(peer);
    thread_.polled();
    if (serve_owned())
      round = 0;
    else if (round > kSpins && !done())
      sleep_armed(1);
  }
}

}  // namespace shoal

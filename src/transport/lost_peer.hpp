// SPDX-License-Identifier: Apache-2.0
// What a transport does about a lost connection. A launcher notices a dead PE sooner, and knows more about it: so
// whoever needs the connection, and the thread where nobody does, give it time to end this process before they fail
// themselves.
#pragma once
#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace shoal {

/// `Peer` is what the transport has of a PE. note() and any() may be called by all threads, due() by the serving one.
template <class Peer>
class LostPeer final {
 public:
  void note(Peer& peer) noexcept { peer_.store(&peer, std::memory_order_release); }
  bool any() const noexcept { return peer_.load(std::memory_order_relaxed) != nullptr; }
  /// The lost peer once it is time to fail for it, null before. The time begins with the first call that finds one.
  const Peer* due() noexcept {
    const Peer* const peer = peer_.load(std::memory_order_acquire);
    if (peer == nullptr) return nullptr;
    if (since_ns_ == 0) since_ns_ = now_ns();
    return now_ns() - since_ns_ >= kToBeEndedNs ? peer : nullptr;
  }
  static void wait_to_be_ended() noexcept {
    timespec pause{kToBeEndedNs / 1'000'000'000, kToBeEndedNs % 1'000'000'000};
    ::nanosleep(&pause, nullptr);
  }

 private:
  static constexpr std::uint64_t kToBeEndedNs = 1'500'000'000;
  std::atomic<Peer*> peer_{nullptr};
  std::uint64_t since_ns_ = 0;
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// A transport's own thread, which serves other PEs when nobody else does. Whoever waits inside the library polls the
// transport itself; the thread has two states:
//   standby   somebody polled, or sent, lately: it only looks every kStandbyNs whether that is still so, and sends what
//   lies serving   nobody did: it sleeps until something comes, and the first thing given to send wakes it
// So an exchange between two waiting PEs costs no thread switch, and a PE that computes is served at once.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace shoal {

/// Starts a thread that handles no signals of the program's. @throws std::system_error
std::thread start_thread(std::function<void()> body);

/// What the thread does its work on. All functions are called by it, nudge() by others, too.
class Served {
 public:
  virtual ~Served() = default;
  /// Sends what lies and serves what has come. @return whether anything was to do
  virtual bool serve_all() noexcept = 0;
  /// Sends what lies, and waits for whoever is just giving something: one that has not looked yet whether the thread
  /// sleeps would leave it there.
  virtual void send_what_lies() noexcept = 0;
  /// Sleeps until something comes, or it is nudged, and serves it. @return whether anything was to do
  virtual bool serve_next() noexcept = 0;
  /// Ends serve_next().
  virtual void nudge() noexcept = 0;
  /// Looks after what has failed: called now and then.
  virtual void watch_lost() noexcept = 0;
};

class ServingThread final {
 public:
  /// @param served  outlives the thread
  explicit ServingThread(Served& served) noexcept : served_(served) {}
  ~ServingThread() { stop(); }
  /// @throws std::system_error
  void start();
  void stop() noexcept;

  /// Somebody polls, who serves in the thread's place.
  void polled() noexcept {
    if (resting_.load(std::memory_order_relaxed)) resting_.store(false, std::memory_order_relaxed);
    polls_.store(polls_.load(std::memory_order_relaxed) + 1,
                 std::memory_order_relaxed);  // a count lost between threads does no harm
  }
  /// Something was given to send that was not sent at once. Whoever calls owns what it lies in.
  void given() noexcept {
    sends_.store(sends_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (serving_.load(std::memory_order_seq_cst)) served_.nudge();
  }
  /// Who polled sleeps now: the thread takes over at once.
  void rest() noexcept;

 private:
  void run() noexcept;
  void stand_by() noexcept;
  void stay_awake() noexcept;

  Served& served_;
  alignas(64) std::atomic<std::uint32_t> polls_{0};
  std::atomic<std::uint32_t> sends_{0};
  alignas(64) std::atomic<bool> serving_{false};  // the thread is in serve_next(), or about to be
  std::atomic<std::uint32_t> standby_{0};         // what it sleeps on otherwise
  std::atomic<bool> resting_{false};              // the PE sleeps inside the library: its core is the thread's
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// The launcher's side of the channels for unit tests: a StoreServer over socket pairs, driven by a thread or by the test itself.
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "bootstrap/store_server.hpp"

namespace shoal {

class TestLauncher final {
 public:
  explicit TestLauncher(int size) : server_(size) {
    for (int pe = 0; pe < size; ++pe) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
      ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
      ours_.emplace_back(ends[0]);
      theirs_.emplace_back(ends[1]);
    }
  }
  ~TestLauncher() { stop(); }
  int fd(int pe) const { return theirs_[static_cast<size_t>(pe)].get(); }
  /// What happened so far; to be read when no thread pumps.
  const std::vector<StoreServer::Event>& events() const { return events_; }
  StoreServer& server() { return server_; }

  void start() {
    thread_ = std::thread([this] { pump([this] { return stop_.load(std::memory_order_acquire); }, 60); });
  }
  void stop() {
    stop_.store(true, std::memory_order_release);
    if (thread_.joinable()) thread_.join();
    stop_.store(false, std::memory_order_release);
  }
  /// Closes the launcher's ends, as its death does.
  void die() {
    stop();
    ours_.clear();
  }
  /// Serves until `done`, false if that takes longer than `seconds`.
  bool pump(const std::function<bool()>& done, unsigned seconds = 10) {
    for (const std::uint64_t deadline = now_ns() + seconds * 1'000'000'000ull; !done();) {
      if (now_ns() > deadline) return false;
      std::vector<pollfd> fds;
      for (int pe = 0; pe < server_.size(); ++pe)
        fds.push_back({ours_[static_cast<size_t>(pe)].get(),
                       static_cast<short>(POLLIN | (server_.pending(pe).empty() ? 0 : POLLOUT)), 0});
      if (::poll(fds.data(), fds.size(), 5) <= 0) continue;
      for (int pe = 0; pe < server_.size(); ++pe) serve(pe);
    }
    for (int pe = 0; pe < server_.size(); ++pe) serve(pe);  // what a process said before its end, which was `done`
    return true;
  }

 private:
  void serve(int pe) {
    const int fd = ours_[static_cast<size_t>(pe)].get();
    std::array<std::byte, 4096> bytes;
    for (ssize_t n; (n = ::recv(fd, bytes.data(), bytes.size(), 0)) > 0;)
      server_.feed(pe, std::span(bytes).first(static_cast<size_t>(n)));
    while (auto event = server_.next_event()) events_.push_back(*event);
    while (!server_.pending(pe).empty()) {
      const ssize_t n = ::send(fd, server_.pending(pe).data(), server_.pending(pe).size(), MSG_NOSIGNAL);
      if (n < 0) return;
      server_.sent(pe, static_cast<size_t>(n));
    }
  }

  StoreServer server_;
  std::vector<UniqueFd> ours_, theirs_;
  std::vector<StoreServer::Event> events_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// The text as bytes, and back.
inline std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* at = reinterpret_cast<const std::byte*>(text.data());
  return {at, at + text.size()};
}
inline std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What `action` throws, or "" when it returns.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "transport/socket/door.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/address.hpp"
#include "transport/serving_thread.hpp"

namespace shoal {
namespace {

constexpr std::size_t kMostStrangers = 256;         // that have not said hello yet, besides all PEs at once
constexpr std::uint64_t kHelloNs = 10'000'000'000;  // to say it
constexpr int kLookMs = 1000;
constexpr int kAgainMs = 10;  // where descriptors or memory are short

}  // namespace

struct Door::Pending {
  std::unique_ptr<Stream> stream;
  std::string who;
  std::uint64_t deadline_ns;
  bool open = false;      // the handshake is done
  bool welcomed = false;  // what is heard next is a confirm
  wire::Hello hello{};
  wire::Confirm confirm{};
  std::size_t heard = 0;

  /// @return whether all of `message` has come. @throws Error
  template <class Message>
  bool hear(Message& message) {
    while (heard < sizeof message) {
      const ssize_t n = stream->read(reinterpret_cast<char*>(&message) + heard, sizeof message - heard);
      if (n == Stream::kAgain) return false;
      if (n == Stream::kEnded) throw Error(stream->code(), stream->why());
      heard += static_cast<std::size_t>(n);
    }
    heard = 0;
    return true;
  }
};

Door::Door(UniqueFd listener, int n_pes, const StreamMaker& maker, const SocketSettings& settings, Target& target,
           Host& host)
    : most_(kMostStrangers + static_cast<std::size_t>(n_pes)),
      listener_(std::move(listener)),
      maker_(maker),
      settings_(settings),
      target_(target),
      host_(host) {
  thread_ = start_thread([this] { run(); });
}

Door::~Door() {
  stop_.raise();
  thread_.join();
}

void Door::accept_all() noexcept {
  for (;;) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      // No descriptors left: who comes waits until some are. The listener stays readable meanwhile: do not spin on it.
      pollfd stop{stop_.fd(), POLLIN, 0};
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) ::poll(&stop, 1, kAgainMs);
      return;
    }
    prepare(socket.get(), settings_);
    const std::string who = SocketAddress::peer_of(socket.get()).text();
    if (pending_.size() >= most_) {  // PEs speak at once: who came first is none
      const auto first =
          std::find_if(pending_.begin(), pending_.end(), [](const Pending& pending) { return !pending.welcomed; });
      if (first == pending_.end()) return;
      target_.refused(first->who, "too many connections wait to say who they are");
      pending_.erase(first);
    }
    try {
      pending_.push_back({maker_.make(std::move(socket), false), who, now_ns() + kHelloNs});
    } catch (const std::exception& error) {
      target_.refused(who, error.what());
    }
  }
}

/// @return whether it is done with: handed on, or closed. @throws Error
bool Door::advance(Pending& pending) {
  if (!pending.open && !(pending.open = pending.stream->handshake())) return false;
  if (!pending.welcomed) {
    if (!pending.hear(pending.hello)) return false;
    if (!host_.on_hello(pending.hello, *pending.stream)) return true;
    pending.welcomed = true;
  }
  if (!pending.hear(pending.confirm)) return false;
  if (pending.confirm.magic != wire::kConfirmMagic) throw Error(Code::peer, "it does not confirm that it is let in");
  host_.on_confirmed(pending.hello, std::move(pending.stream));
  return true;
}

/// The same; whoever is sent away, or went, is told of.
bool Door::is_done(Pending& pending) noexcept {
  try {
    if (advance(pending)) return true;
    // One that is welcome has time: it may be stopped, and counts on the connection when it goes on.
    if (pending.welcomed || now_ns() < pending.deadline_ns) return false;
    target_.refused(pending.who, "it connected and did not say who it is");
  } catch (const Error& error) {
    // Who went away and had said nothing, or no longer wants in, wasn't refused: it may be a PE that died, of which
    // others tell.
    if (error.code() != Code::peer || pending.heard != 0) target_.refused(pending.who, error.what());
  } catch (const std::exception& error) {
    target_.refused(pending.who, error.what());
  }
  if (pending.welcomed) host_.on_given_up(pending.hello);
  return true;
}

void Door::run() noexcept {
  std::vector<pollfd> polled;
  for (;;) {
    polled = {{stop_.fd(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Pending& pending : pending_) polled.push_back({pending.stream->fd(), POLLIN, 0});
    if (::poll(polled.data(), polled.size(), pending_.empty() ? -1 : kLookMs) < 0) {
      // EINTR; or memory or the limit of descriptors is short, for now.
      ::poll(polled.data(), 1, kAgainMs);
      if (polled[0].revents != 0) return;
      continue;
    }
    if (polled[0].revents != 0) return;
    if (polled[1].revents != 0) accept_all();
    std::erase_if(pending_, [this](Pending& pending) { return is_done(pending); });
  }
}

}  // namespace shoal

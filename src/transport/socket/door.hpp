// SPDX-License-Identifier: Apache-2.0
// Lets other PEs in: a thread that accepts connections, has them say who they are, and hands those on that belong to
// the job. A stranger who connects and says nothing, or the wrong thing, costs the others nothing.
#pragma once
#include <memory>
#include <thread>
#include <vector>

#include "base/event_fd.hpp"
#include "transport/socket/endpoint.hpp"
#include "transport/socket/stream.hpp"
#include "transport/socket/wire.hpp"
#include "transport/transport.hpp"

namespace shoal {

/// Whose door it is. Called on the door's thread.
class Host {
 public:
  virtual ~Host() = default;
  /// Answers a hello. @return whether it was welcomed: then it either confirms that or gives up
  virtual bool on_hello(const wire::Hello& hello, Stream& stream) noexcept = 0;
  virtual void on_confirmed(const wire::Hello& hello, std::unique_ptr<Stream> stream) noexcept = 0;
  virtual void on_given_up(const wire::Hello& hello) noexcept = 0;
};

class Door final {
 public:
  /// @param maker, target, host  outlive the door
  Door(UniqueFd listener, int n_pes, const StreamMaker& maker, const SocketSettings& settings, Target& target,
       Host& host);
  ~Door();

 private:
  struct Pending;
  void run() noexcept;
  void accept_all() noexcept;
  bool advance(Pending& pending);
  bool is_done(Pending& pending) noexcept;

  const std::size_t most_;  // connections that wait
  const ProcessFd listener_;
  const EventFd stop_;
  const StreamMaker& maker_;
  const SocketSettings settings_;
  Target& target_;
  Host& host_;
  std::vector<Pending> pending_;  // in the order in which they came
  std::thread thread_;
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// Lets other PEs in: a thread that accepts connections, has them say who they are, and hands those on that belong to
// the job. A stranger who connects and says nothing, or the wrong thing, costs the others nothing.
#pragma once
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/event_fd.hpp"
#include "transport/socket/endpoint.hpp"
#include "transport/socket/stream.hpp"
#include "transport/socket/wire.hpp"
#include "transport/transport.hpp"

namespace shoal {

class Door final {
 public:
  /// Called on the door's thread with each connection that has said hello.
  using Visitor = std::function<void(const wire::Hello&, std::unique_ptr<Stream>)>;

  /// @param maker, target  outlive the door
  Door(UniqueFd listener, int n_pes, const StreamMaker& maker, const SocketSettings& settings, Target& target,
       Visitor visitor);
  ~Door();

 private:
  struct Pending;
  void run() noexcept;
  void accept_all() noexcept;
  bool advance(Pending& pending);

  const std::size_t most_;  // connections that wait
  const ProcessFd listener_;
  const EventFd stop_;
  const StreamMaker& maker_;
  const SocketSettings settings_;
  Target& target_;
  const Visitor visitor_;
  std::vector<Pending> pending_;  // in the order in which they came
  std::thread thread_;
};

}  // namespace shoal

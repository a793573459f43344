// SPDX-License-Identifier: Apache-2.0
// From the program's name to running PEs.
#pragma once
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "command_line.hpp"

namespace shoal::run {

/// Where a shell would find it. @throws Error{invalid_argument}; `status` is then 126 or 127, as a shell's
std::string find_program(const std::string& name, int& status);

/// What a PE is started with; a descriptor of -1 is left as it is.
struct Wiring {
  int store_fd, life_fd, status_fd, secret_fd;
  int in = -1, out = -1, err = -1;
};

/// What a PE that could not execute the program reports through the error pipe.
struct ExecFailure {
  int pe, error;
};

class Spawner final {
 public:
  /// For a job of `total` PEs. `program` is a path; `signals` are unblocked in the PEs, `files` is their limit of
  /// descriptors.
  Spawner(const Settings& settings, int total, std::string program, const sigset_t& signals, const rlimit& files);
  /// Starts this launcher's PE `pe`, the job's PE `number`, in a process group of its own, to be killed when this
  /// thread ends.
  /// @throws Error{system}
  pid_t start(int pe, int number, const Wiring& wiring);
  /// An ExecFailure can be read here for each PE that did not come to execute; nobody writes here any more once all
  /// have.
  int failures() const { return failures_.get(); }
  /// To be called when all are started.
  void close_writer() { failure_writer_.reset(); }
  /// The core that --bind core gives to `pe`.
  int core_of(int pe) const { return cores_[static_cast<size_t>(pe) % cores_.size()]; }

 private:
  [[noreturn]] void become(int pe, const Wiring& wiring, const std::vector<char*>& environment, pid_t parent) const;
  const Settings& settings_;
  const std::string program_;
  const sigset_t signals_;
  const rlimit files_;
  std::vector<int> cores_;
  std::vector<char*> arguments_;
  std::vector<std::string> environment_;  // what is the same for all PEs
  UniqueFd failures_, failure_writer_;
};

/// One line: "cannot execute ./app: Exec format error ...", with what to do.
std::string exec_failure_text(const std::string& program, int error);

/// `fd` moved to a number that scripts do not use for themselves (100 or more), close-on-exec.
UniqueFd move_up(UniqueFd fd);

}  // namespace shoal::run

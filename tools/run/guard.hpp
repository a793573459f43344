// SPDX-License-Identifier: Apache-2.0
// The job is run by a child of the process that the user started, and either survives the other long enough to end all:
// the parent (the guard) adopts and kills everything when the child dies; the child ends the job when its pipe from the
// parent closes. So SIGKILL to either leaves nothing, whatever process groups and sessions the PEs have made.
#pragma once
#include <signal.h>

#include <functional>
#include <vector>

namespace shoal::run {

/// Blocked in shoalrun, so that the system call's own error tells: a reader that is gone, a limit of file sizes, and a
/// terminal that belongs to another process group (reading it fails, writing to it goes through).
inline constexpr int kToldByErrors[] = {SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU};

/// The signals that shoalrun handles, SIGCHLD among them; less those that it was started with ignored (nohup).
sigset_t handled_signals();

/// Runs `body` in a child, with the pipe's end, whose closing says that the guard is gone, as argument and
/// handled_signals() and kToldByErrors blocked; forwards signals to it. Returns the exit status for this process.
/// @param killed  called when the child was killed, once all that it had started is ended
int run_guarded(const std::function<int(int guard_fd)>& body, const std::function<void()>& killed);

/// The children of this process, by their numbers in /proc, which may be those of another pid namespace than ours.
std::vector<pid_t> children();
/// Kills every child of this process. What they leave behind becomes its child in turn: to be called until there is
/// none.
void kill_children();

}  // namespace shoal::run

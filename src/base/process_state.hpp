// SPDX-License-Identifier: Apache-2.0
// What the kernel says of another process of this machine.
#pragma once
#include <string>

namespace shoal {

/// The fields of /proc/PID/stat from the third, its state, on; "" for a process that is gone or cannot be seen.
std::string stat_from_state(int pid);

/// "stopped by a signal", "stopped by a debugger", or "" for a process that runs, is gone or cannot be seen.
std::string how_stopped(int pid);

}  // namespace shoal

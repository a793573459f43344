// SPDX-License-Identifier: Apache-2.0
// How shoalrun words what happened.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace shoal::run {

/// Writes "shoalrun: text\n" to stderr in one system call.
void say(const std::string& text);

/// "signal 9 (Killed)"
std::string signal_text(int signal);
/// "was killed by signal 9 (Killed)", "exited with status 3", "exited with status 137 (128 + signal 9 (Killed))"
std::string end_text(int wait_status);
/// What a shell would make of it: 128 + the signal, or the exit status.
int end_code(int wait_status);
/// The wait status of a process that has ended and is not ours to wait for, by its pidfd; nothing when the kernel does
/// not tell (before Linux 6.15 it does only until the parent has asked).
std::optional<int> ended_status(int process);
/// The name of a process, by its number in /proc.
std::string process_name(pid_t pid);
/// Whether a process has libshoal loaded, by its number in /proc.
bool uses_shoal(pid_t pid);

/// Tells whether the kernel killed for lack of memory since this was made.
class OomWatch final {
 public:
  OomWatch();
  /// " (out of memory: ...)", or "" when nothing of the kind was counted.
  std::string text() const;

 private:
  std::int64_t group_before_, machine_before_;
};

}  // namespace shoal::run

// SPDX-License-Identifier: Apache-2.0
// The program's signals are its own: each thread that the library starts, for cores, streams, engines, transports or the launcher's
// channel, blocks them, so that they reach a thread of the program's or wait.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support.hpp"

using namespace device_test;
using device::Core;
using device::DeviceView;

namespace {

constexpr std::size_t kWords = 64 * 1024;

SHOAL_KERNEL void everything_works(DeviceView view, long* to, long* from) {
  const Core core(view);
  if (core.id() == 0) core.put_nbi(to, from, kWords, (core.my_pe() + 1) % core.n_pes());
  core.quiet();
}

/// The signals that a thread of this process blocks: bit i stands for signal i + 1.
unsigned long long blocked_by(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  for (std::string word; status >> word;)
    if (unsigned long long mask = 0; word == "SigBlk:" && status >> std::hex >> mask) return mask;
  return ~0ull;  // it has ended
}

}  // namespace

int main() {
  const Job job;
  const Device device;
  const Stream stream(device);
  Memory<long> to(device, kWords), from(device, kWords);
  run_kernel(stream, everything_works, 4, to.get(), from.get());
  int others = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(getpid())) continue;
    ++others;
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCHLD, SIGTSTP, SIGWINCH, SIGRTMIN, SIGRTMAX})
      CHECK((blocked_by(thread.path()) >> (signal - 1) & 1) != 0);
  }
  CHECK(others >= 5);  // three cores, a stream's thread, an engine's
  shmem_barrier_all();
}

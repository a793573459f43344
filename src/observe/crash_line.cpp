// SPDX-License-Identifier: Apache-2.0
#include "observe/crash_line.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "observe/caller.hpp"
#include "observe/own_code.hpp"

namespace shoal {
namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr std::uint64_t kPatienceNs = 5'000'000'000;  // longer than addr2line is waited for

constinit std::atomic<int> crash_speaker{-1};  // the PE; -1: nobody listens

std::uintptr_t crash_address(const void* context) noexcept {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return registers.pc;
#else
  return static_cast<void>(registers), 0;
#endif
}

/// In a child, which may use whatever it likes.
void tell(int number, const siginfo_t& info, const void* context) {
  const std::uintptr_t at = crash_address(context);
  const std::shared_ptr<const OwnCode> own = OwnCode::now();
  const bool in_program = at != 0 && !own->in_library(at) && !own->in_runtime(at) && !own->in_header(at);
  // What is looked up is the byte before.
  const std::string line = describe_code(in_program ? at + 1 : caller_address());
  const bool knows = (number == SIGSEGV || number == SIGBUS) && info.si_code > 0 && info.si_code != SI_KERNEL;
  const std::string touched = knows ? strf(" at address %p", info.si_addr) : "";
  print_line(crash_speaker.load(std::memory_order_relaxed),
             strf("crashed by signal %d (%s)%s; at %s", number, ::sigdescr_np(number), touched.c_str(), line.c_str()));
}

/// Whatever was interrupted may hold any lock, of malloc, too: so a child does the work, and is not waited for if it
/// hangs. No fork handler runs for it, and nobody is told of its end. The signal has its default action again.
void on_crash(int number, siginfo_t* info, void* context) {
  const auto child = static_cast<pid_t>(::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    tell(number, *info, context);
    ::_exit(0);
  }
  const std::uint64_t until = now_ns() + kPatienceNs;
  while (child > 0 && ::waitpid(child, nullptr, __WALL | WNOHANG) == 0) {
    ::poll(nullptr, 0, 2);
    if (now_ns() >= until) ::kill(child, SIGKILL);
  }
  // An instruction that faults does so again; what another process sent does not come again.
  if (info->si_code <= 0) ::raise(number);
}

}  // namespace

CrashLine::CrashLine(int pe) noexcept {
  int nobody = -1;
  active_ = crash_speaker.compare_exchange_strong(nobody, pe, std::memory_order_relaxed);
  for (const int number : kCrashes) {
    struct sigaction now;
    if (!active_ || ::sigaction(number, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 ||
        now.sa_handler != SIG_DFL)
      continue;
    struct sigaction action = {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
    ::sigaction(number, &action, nullptr);
  }
}

CrashLine::~CrashLine() {
  if (!active_) return;
  for (const int number : kCrashes) {
    struct sigaction now, action = {};
    action.sa_handler = SIG_DFL;
    if (::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_crash)
      ::sigaction(number, &action, nullptr);
  }
  crash_speaker.store(-1, std::memory_order_relaxed);
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "observe/crash_line.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/alternate_stack.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "observe/caller.hpp"
#include "observe/own_code.hpp"
#include "observe/safe_text.hpp"

namespace shoal {
namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr std::uint64_t kPatienceNs = 5'000'000'000;  // longer than addr2line is waited for
constexpr std::uintptr_t kNear = 64 * 1024;           // to the stack pointer, for what a function has on the stack
constexpr pid_t kNobody = 0, kDone = -1;

constinit std::atomic<int> crash_speaker{-1};         // the PE; -1: nobody listens
constinit std::atomic<pid_t> crash_process{kNobody};  // the PE's: a child has the handler, too, and is no PE
constinit std::atomic<pid_t> crash_teller{kNobody};   // the thread that tells of its crash; one of a process does

/// What the kernel says of one.
struct Crash {
  int number;
  bool knows_address = false;    ///< which it could not touch
  bool no_code = false;          ///< there was nothing to execute
  bool overflow = false;         ///< of the stack, it seems
  std::uintptr_t address = 0;    ///< which it could not touch
  std::uintptr_t at = 0;         ///< the instruction
  std::uintptr_t return_to = 0;  ///< where no_code: behind the call that led there, as far as it can be told

  Crash(int number_, const siginfo_t& info, const void* context) noexcept : number(number_) {
    const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    at = static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
    const auto stack = static_cast<std::uintptr_t>(registers.gregs[REG_RSP]);
#elif defined(__aarch64__)
    at = registers.pc;
    const std::uintptr_t stack = registers.sp;
#else
    static_cast<void>(registers);
    const std::uintptr_t stack = 0;
#endif
    knows_address = (number == SIGSEGV || number == SIGBUS) && info.si_code > 0 && info.si_code != SI_KERNEL;
    if (!knows_address) return;
    address = reinterpret_cast<std::uintptr_t>(info.si_addr);
    no_code = address == at;
    overflow = !no_code && stack != 0 && address + kNear >= stack && address < stack + kNear;
#if defined(__x86_64__)
    if (no_code) return_to = word_at(stack);
#elif defined(__aarch64__)
    if (no_code) return_to = registers.regs[30];
#endif
  }

  /// At once, by what any handler may use: malloc's memory may be damaged, or whoever holds its lock be interrupted.
  void write_line(int pe) const noexcept {
    SafeText text;
    text.add("shoal: PE ").add_decimal(static_cast<std::uintptr_t>(pe)).add(": crashed by signal ");
    text.add_decimal(static_cast<std::uintptr_t>(number)).add(" (").add(::sigdescr_np(number)).add(")");
    if (knows_address) text.add(" at address ").add_hex(address);
    if (overflow) text.add(", a stack overflow, it seems");
    text.add("; at ").add_code(return_to != 0 ? return_to - 1 : at).write_line();
  }

  /// The line of the program. In a child, which may use whatever it likes.
  void write_place(int pe) const {
    const std::shared_ptr<const OwnCode> own = OwnCode::now();
    // What is looked up is the byte before.
    std::uintptr_t behind = return_to != 0 ? return_to : at + 1;
    if (own->in_library(behind) || own->in_runtime(behind) || own->in_header(behind - 1)) behind = caller_address();
    if (behind > 1) print_line(pe, "crashed at " + describe_code(behind));
  }
};

void set_default(int number) noexcept {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(number, &action, nullptr);
}

/// A child does the work, and is not waited for if it hangs; whatever happens to it happens to nobody else. No fork
/// handler runs for it, and nobody is told of its end.
void write_place_apart(const Crash& crash, int pe) noexcept {
  const auto child = static_cast<pid_t>(::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    for (const int number : kCrashes) set_default(number);
    const rlimit no_core{1, 1};  // 0 would still run a program that takes core dumps
    ::setrlimit(RLIMIT_CORE, &no_core);
    crash.write_place(pe);
    ::_exit(0);
  }
  const std::uint64_t until = now_ns() + kPatienceNs;
  while (child > 0 && ::waitpid(child, nullptr, __WALL | WNOHANG) == 0) {
    ::poll(nullptr, 0, 2);
    if (now_ns() >= until) ::kill(child, SIGKILL);
  }
}

/// Tells of the first crash of the process.
void tell(int number, const siginfo_t& info, const void* context) noexcept {
  const int pe = crash_speaker.load(std::memory_order_relaxed);
  const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
  pid_t teller = kNobody;
  if (pe >= 0 && crash_teller.compare_exchange_strong(teller, self, std::memory_order_relaxed)) {
    const Crash crash(number, info, context);
    crash.write_line(pe);
    write_place_apart(crash, pe);
    crash_teller.store(kDone, std::memory_order_relaxed);
  } else if (teller != self) {  // of two threads that crash, the first ends the process
    const std::uint64_t until = now_ns() + 2 * kPatienceNs;
    while (crash_teller.load(std::memory_order_relaxed) == teller && teller > 0 && now_ns() < until)
      ::poll(nullptr, 0, 2);
  }
}

/// Takes care that the signal has its default action then: a handler that has been put in this one's place may call
/// this one, and would be called again for ever.
void on_crash(int number, siginfo_t* info, void* context) {
  if (crash_process.load(std::memory_order_relaxed) == ::getpid()) tell(number, *info, context);
  set_default(number);
  // An instruction that faults does so again; what another process sent does not come again.
  if (info->si_code <= 0) ::raise(number);
}

}  // namespace

CrashLine::CrashLine(int pe) noexcept {
  int nobody = -1;
  active_ = crash_speaker.compare_exchange_strong(nobody, pe, std::memory_order_relaxed);
  if (active_) {
    crash_process.store(::getpid(), std::memory_order_relaxed);
    crash_teller.store(kNobody, std::memory_order_relaxed);
  }
  prepare_thread();
  for (const int number : kCrashes) {
    struct sigaction now;
    if (!active_ || ::sigaction(number, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 ||
        now.sa_handler != SIG_DFL)
      continue;
    struct sigaction action = {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(number, &action, nullptr);
  }
}

CrashLine::~CrashLine() {
  if (!active_) return;
  for (const int number : kCrashes) {
    struct sigaction now;
    if (::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_crash)
      set_default(number);
  }
  crash_speaker.store(-1, std::memory_order_relaxed);
}

void CrashLine::prepare_thread() noexcept { AlternateStack::provide(); }

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "observe/crash_line.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
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
#include "base/call_on_stack.hpp"
#include "base/clock.hpp"
#include "base/guarded_memory.hpp"
#include "base/log.hpp"
#include "observe/caller.hpp"
#include "observe/own_code.hpp"
#include "observe/safe_text.hpp"

namespace shoal {
namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr std::uint64_t kPatienceNs = 5'000'000'000;  // longer than addr2line is waited for
constexpr std::uintptr_t kNear = 64 * 1024;           // to the stack pointer, for what a function has on the stack
constexpr std::size_t kStackBytes = 256 * 1024;
constexpr pid_t kNobody = 0;

constinit std::atomic<int> crash_speaker{-1};         // the PE; -1: nobody listens
constinit std::atomic<pid_t> crash_process{kNobody};  // the PE's: a child has the handler, too, and is no PE
constinit std::atomic<pid_t> crash_teller{kNobody};   // the thread that tells of its crash, which the process ends by

/// The top of the stack to tell on, which a process keeps. The handler may have a small one, or one in symmetric
/// memory, which a child would share.
constinit std::atomic<void*> crash_stack{nullptr};

/// What the kernel says of one.
struct Crash {
  int number;
  bool knows_address = false;    ///< the kernel tells it
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
/// handler runs for it, and nobody is told of its end. It does nothing for the program: signals are blocked, files and
/// locks are let go, and it ends with the PE.
void write_place_apart(const Crash& crash, int pe) noexcept {
  const pid_t self = ::getpid();
  const auto child = static_cast<pid_t>(::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != self) ::_exit(0);
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    set_default(SIGABRT);        // which malloc unblocks where its memory is damaged
    const rlimit no_core{1, 1};  // 0 would still run a program that takes core dumps
    ::setrlimit(RLIMIT_CORE, &no_core);
    try {
      crash.write_place(pe);
    } catch (...) {  // there is no memory
    }
    ::_exit(0);
  }
  const std::uint64_t until = now_ns() + kPatienceNs;
  while (child > 0 && ::waitpid(child, nullptr, __WALL | WNOHANG) == 0) {
    ::poll(nullptr, 0, 2);
    if (now_ns() >= until) ::kill(child, SIGKILL);
  }
}

/// What its handler is told.
struct Signal {
  int number;
  const siginfo_t* info;
  const void* context;
  int pe;
};

void tell_of(void* argument) noexcept {
  const Signal& signal = *static_cast<const Signal*>(argument);
  const Crash crash(signal.number, *signal.info, signal.context);
  crash.write_line(signal.pe);
  write_place_apart(crash, signal.pe);
}

/// Tells of the first crash of the process, which ends by it.
void tell(Signal signal) noexcept {
  void* const stack = crash_stack.load(std::memory_order_acquire);  // partner: the constructor
  pid_t teller = kNobody;
  if (signal.pe >= 0 && stack != nullptr &&
      crash_teller.compare_exchange_strong(teller, static_cast<pid_t>(::syscall(SYS_gettid)),
                                           std::memory_order_relaxed))
    call_on_stack(stack, tell_of, &signal);
  else
    CrashLine::await_end();
}

/// The signal has its default action then, and ends the process: a handler that has been put in this one's place may
/// call this one, and would be called again for ever.
void on_crash(int number, siginfo_t* info, void* context) {
  // To the kernel, the handlers' stack is free while this is on another: no other handler may come there.
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  if (crash_process.load(std::memory_order_relaxed) == ::getpid())
    tell({number, info, context, crash_speaker.load(std::memory_order_relaxed)});
  set_default(number);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  // It comes again, when the handler is left: what a process sent would not, and the instruction may no longer fault.
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::syscall(SYS_gettid), number, info) != 0) ::raise(number);
}

}  // namespace

CrashLine::CrashLine(int pe) noexcept {
  int nobody = -1;
  active_ = crash_speaker.compare_exchange_strong(nobody, pe, std::memory_order_relaxed);
  if (active_) {
    // A process may leave a job and join another while it crashes.
    if (const pid_t self = ::getpid(); crash_process.exchange(self, std::memory_order_relaxed) != self)
      crash_teller.store(kNobody, std::memory_order_relaxed);
    if (crash_stack.load(std::memory_order_relaxed) == nullptr) {
      GuardedMemory memory(kStackBytes);
      if (memory.data() != nullptr)
        crash_stack.store(static_cast<char*>(memory.release()) + kStackBytes, std::memory_order_release);
    }
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

void CrashLine::await_end() noexcept {
  const pid_t teller = crash_teller.load(std::memory_order_relaxed);
  if (teller == kNobody || crash_process.load(std::memory_order_relaxed) != ::getpid() ||
      teller == static_cast<pid_t>(::syscall(SYS_gettid)))
    return;
  const std::uint64_t until = now_ns() + 2 * kPatienceNs;
  while (now_ns() < until) ::poll(nullptr, 0, 2);
}

void CrashLine::prepare_thread() noexcept { AlternateStack::provide(); }

}  // namespace shoal

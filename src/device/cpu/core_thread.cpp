// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/core_thread.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/alternate_stack.hpp"
#include "base/error.hpp"
#include "base/fence.hpp"
#include "base/futex.hpp"
#include "base/library_thread.hpp"
#include "base/quiet_signals.hpp"
#include "device/cpu/kernel_name.hpp"

namespace shoal {
namespace {

constexpr int kIdleSpins =
    20'000;  // some 200 microseconds: a program that launches kernel after kernel finds its cores awake
constexpr int kBusyIdleSpins = 50;  // where cores outnumber processors
constexpr int kYields = 32;
constexpr std::uint64_t kSleepNs = 1'000'000'000;

/// The core that this thread runs: what the handler of a crash looks at.
thread_local device::CoreState* running_core_ = nullptr;

struct sigaction default_action() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  return action;
}

void on_crash(int number, siginfo_t* info, void*) {
  if (const device::CoreState* core = running_core_) {
    char name[128], line[512];
    if (core->launch->kernel != nullptr)
      std::snprintf(name, sizeof name, "%s", core->launch->kernel);
    else
      kernel_name(core->launch->entry, name, sizeof name);
    const int length =
        std::snprintf(line, sizeof line, "shoal: PE %d: kernel %s, core %d: crashed: signal %d (%s) at address %p\n",
                      core->me, name, core->index, number, sigdescr_np(number), info->si_addr);
    if (length > 0 && ::write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0) return;
  }
  const struct sigaction action = default_action();
  ::sigaction(number, &action, nullptr);
  ::raise(number);
}

}  // namespace

device::CoreState* running_core() noexcept { return running_core_; }

void report_crashes() noexcept {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction now;
    if (::sigaction(number, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL)
      continue;  // the user's
    struct sigaction action = {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(number, &action, nullptr);
  }
}

CpuCore::~CpuCore() {
  if (mapped_ != 0) ::munmap(state_.scratch, mapped_);
}

void CpuCore::provide_scratch(std::size_t bytes) noexcept {
  if (bytes <= state_.scratch_bytes) return;
  if (mapped_ != 0) ::munmap(state_.scratch, mapped_);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    runtime_.kernel_failed(state_, "launch",
                           strf("no memory for %zu bytes of scratch: %s", bytes, std::strerror(errno)));
  state_.scratch = static_cast<char*>(memory);
  state_.scratch_bytes = mapped_ = bytes;
}

void CpuCore::run(RunningLaunch& running, int index) noexcept {
  AlternateStack::provide();  // any thread of the program's may be one that runs a kernel
  state_.launch = &running.shared;
  state_.index = index;
  state_.cores = running.launch->cores;
  state_.spins = running.spins;
  state_.scratch_used = 0;
  state_.last = state_.local = {};  // heaps and teams may have come and gone
  state_.team = nullptr;
  provide_scratch(running.launch->scratch);
  device::DeviceView view;
  view.me = state_.me;
  view.n_pes = state_.n_pes;
  view.core = index;
  view.cores = state_.cores;
  view.heap = state_.heap;
  view.sync = state_.sync;
  view.state = &state_;
  device::CoreState* const outer = running_core_;
  running_core_ = &state_;
  try {
    running.launch->run(running.launch->self, view);
  } catch (const std::exception& error) {
    runtime_.kernel_failed(state_, "exception", strf("the kernel threw: %s", error.what()));
  } catch (...) {
    runtime_.kernel_failed(state_, "exception", "the kernel threw something that is no std::exception");
  }
  running.shared.ended.fetch_or(std::uint64_t{1} << index, std::memory_order_release);  // partner: end_hopeless()
  if (state_.completed.load(std::memory_order_acquire) != state_.submitted)
    state_.runtime->wait(
        state_, {"end of kernel", &state_.completed, static_cast<std::int64_t>(state_.submitted)},
        [](void* core) {
          const auto& state = *static_cast<device::CoreState*>(core);
          return state.completed.load(std::memory_order_acquire) == state.submitted;
        },
        &state_);
  running_core_ = outer;
}

CoreThread::CoreThread(const CpuRuntime& runtime, int index) : core_(runtime), index_(index) {
  const QuietSignals quiet;
  thread_ = std::thread([this] { work(); });
}

CoreThread::~CoreThread() {
  ends_.store(true, std::memory_order_relaxed);
  calls_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(calls_);
  thread_.join();
}

void CoreThread::start(RunningLaunch& running) noexcept {
  next_.store(&running, std::memory_order_release);  // partner: the exchange in work()
  calls_.fetch_add(1, std::memory_order_seq_cst);    // before the look at who sleeps; partner: the sleeper's full fence
  if (sleeps_.load(std::memory_order_seq_cst)) futex_wake_all(calls_);
}

void CoreThread::work() noexcept {
  in_library_thread = true;
  int spins = kIdleSpins, idle = 0;
  while (!ends_.load(std::memory_order_relaxed)) {
    RunningLaunch* running =
        next_.load(std::memory_order_relaxed) == nullptr ? nullptr : next_.exchange(nullptr, std::memory_order_acquire);
    if (running != nullptr) {
      spins = running->spins < Waiter::kYieldingSpins ? kBusyIdleSpins : kIdleSpins;
      core_.run(*running, index_);
      // Sequentially consistent: before the look at who sleeps; partner: the sleeper's in CpuStream::run_kernel.
      if (running->remaining.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
          running->awaited.load(std::memory_order_seq_cst))
        futex_wake_all(running->remaining);
      idle = 0;
    } else if (++idle < spins) {
      cpu_relax();
    } else if (idle < spins + kYields) {
      ::sched_yield();
    } else {
      const std::uint32_t seen = calls_.load(std::memory_order_acquire);
      sleeps_.store(true, std::memory_order_seq_cst);
      full_fence();
      if (next_.load(std::memory_order_seq_cst) == nullptr && !ends_.load(std::memory_order_relaxed))
        futex_wait(calls_, seen, kSleepNs);
      sleeps_.store(false, std::memory_order_relaxed);
      idle = spins;  // once more around before sleeping again
    }
  }
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/stream.hpp"

#include <sched.h>

#include "base/copy.hpp"
#include "base/futex.hpp"
#include "base/library_thread.hpp"
#include "base/quiet_signals.hpp"

namespace shoal {
namespace {

constexpr int kSpins = 4000;      // of a kernel's wait where each core has a processor
constexpr int kFewSpins = 20;     // where the one waited for may need this very processor
constexpr int kIdleYields = 256;  // of the stream's thread before it sleeps
constexpr int kYields = 64;
constexpr std::uint64_t kSleepNs = 1'000'000'000;
constexpr std::uint64_t kLookNs = 1'000'000;  // how often a sleeper looks whether it can help

/// The streams whose work this thread carries out: who waits for a stream inside of another one's work does its work.
struct Carried {
  const CpuStream* stream;
  const Carried* outer;
};
thread_local const Carried* carried = nullptr;

}  // namespace

CpuStream::~CpuStream() {
  synchronize();
  if (!thread_.joinable()) return;
  ends_.store(true, std::memory_order_relaxed);
  calls_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(calls_);
  thread_.join();
}

void CpuStream::launch(const device::Launch& launch) {
  Operation operation{Operation::Kind::kernel, launch};
  give(std::move(operation));
}
void CpuStream::copy(void* to, const void* from, std::size_t bytes) {
  Operation operation{Operation::Kind::copy, {}};
  operation.to = to;
  operation.from = from;
  operation.bytes = bytes;
  give(std::move(operation));
}
void CpuStream::call(void (*function)(void*), void* argument) {
  Operation operation{Operation::Kind::call, {}};
  operation.function = function;
  operation.to = argument;
  give(std::move(operation));
}
void CpuStream::record(device::Marker& marker) {
  Operation operation{Operation::Kind::record, {}};
  operation.point = marker.renew();
  give(std::move(operation));
}
void CpuStream::wait(device::Marker& marker) {
  Operation operation{Operation::Kind::wait, {}};
  operation.point = marker.last();
  give(std::move(operation));
}

void CpuStream::give(Operation operation) {
  {
    const std::lock_guard guard(mutex_);
    queue_.push_back(std::move(operation));
    given_.fetch_add(1, std::memory_order_release);
    if (!thread_.joinable()) {
      const QuietSignals quiet;
      thread_ = std::thread([this] { work(); });
    }
  }
  calls_.fetch_add(1, std::memory_order_seq_cst);  // before the look at who sleeps; partner: the sleeper's full fence
  if (sleeps_.load(std::memory_order_seq_cst)) futex_wake_all(calls_);
}

bool CpuStream::run_one() noexcept {
  std::unique_lock lock(mutex_);
  if (running_ || queue_.empty()) return false;
  running_ = true;
  Operation operation = std::move(queue_.front());
  queue_.pop_front();
  lock.unlock();
  run(operation);
  lock.lock();
  running_ = false;
  lock.unlock();
  finished_.fetch_add(1, std::memory_order_release);
  ended_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake_all(ended_);
  return true;
}

void CpuStream::run(Operation& operation) noexcept {
  const Carried here{this, carried};
  carried = &here;
  switch (operation.kind) {
    case Operation::Kind::kernel: run_kernel(operation.launch); break;
    case Operation::Kind::copy: copy_shared(operation.to, operation.from, operation.bytes); break;
    case Operation::Kind::call: call_host(operation); break;
    case Operation::Kind::record: operation.point->store(true, std::memory_order_release); break;
    case Operation::Kind::wait: await([&] { return device::Marker::passed(operation.point); }); break;
  }
  carried = here.outer;
}

void CpuStream::call_host(const Operation& operation) noexcept {
  try {
    operation.function(operation.to);
  } catch (const std::exception& error) {
    runtime_.setup().world->fatal("Stream::call", std::string("the function threw: ") + error.what());
  } catch (...) {
    runtime_.setup().world->fatal("Stream::call", "the function threw something that is no std::exception");
  }
}

bool CpuStream::runs_here() const noexcept {
  const device::CoreState* core = running_core();
  if (core != nullptr && core->launch == &current_.shared) return true;  // another core than the first
  for (const Carried* at = carried; at != nullptr; at = at->outer)
    if (at->stream == this) return true;
  return false;
}

void CpuStream::run_kernel(const device::Launch& launch) noexcept {
  const auto others = static_cast<std::size_t>(launch.cores - 1);
  current_.launch = &launch;
  current_.shared.kernel = launch.name;
  current_.shared.entry = launch.entry;
  current_.shared.number = runtime_.next_launch();
  current_.shared.ended.store(0, std::memory_order_relaxed);
  current_.spins = launch.cores * runtime_.setup().world->n_pes() <= runtime_.setup().processors ? kSpins : kFewSpins;
  current_.remaining.store(static_cast<std::uint32_t>(others), std::memory_order_relaxed);
  try {
    while (cores_.size() < others)
      cores_.push_back(std::make_unique<CoreThread>(runtime_, static_cast<int>(cores_.size()) + 1));
  } catch (const std::exception& error) {
    runtime_.setup().world->fatal("launch", std::string("no thread for another core: ") + error.what());
  }
  for (std::size_t i = 0; i < others; ++i) cores_[i]->start(current_);
  first_core_.run(current_, 0);
  const auto over = [&] { return current_.remaining.load(std::memory_order_acquire) == 0; };
  for (int i = 0; i < current_.spins && !over(); ++i) cpu_relax();
  for (int i = 0; i < kYields && !over(); ++i) ::sched_yield();
  while (!over()) {
    current_.awaited.store(true, std::memory_order_seq_cst);
    const std::uint32_t left = current_.remaining.load(std::memory_order_seq_cst);
    if (left != 0) futex_wait(current_.remaining, left, kLookNs);
    current_.awaited.store(false, std::memory_order_relaxed);
  }
  launch.destroy(launch.self);
}

template <class Done>
void CpuStream::await(Done&& done) noexcept {
  for (int i = 0; i < kFewSpins; ++i) {
    if (done()) return;
    cpu_relax();
  }
  for (int i = 0; i < kYields; ++i) {
    if (done()) return;
    ::sched_yield();
  }
  while (!done()) {
    const std::uint32_t seen = ended_.load(std::memory_order_acquire);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (!done()) futex_wait(ended_, seen, kLookNs);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void CpuStream::synchronize() noexcept {
  if (runs_here()) {
    constexpr const char* what =
        "called inside of this stream's own work: it would wait for itself; wait outside of it";
    if (const device::CoreState* core = running_core()) runtime_.kernel_failed(*core, "Stream::synchronize", what);
    runtime_.setup().world->fatal("Stream::synchronize", what);
  }
  const std::uint64_t target = given_.load(std::memory_order_acquire);
  await([&] {
    while (finished_.load(std::memory_order_acquire) < target)
      if (!run_one()) return false;
    return true;
  });
}

void CpuStream::work() noexcept {
  in_library_thread = true;
  int idle = 0;
  while (!ends_.load(std::memory_order_relaxed)) {
    if (run_one()) {
      idle = 0;
    } else if (++idle < kIdleYields) {
      ::sched_yield();
    } else {
      const std::uint32_t seen = calls_.load(std::memory_order_acquire);
      sleeps_.store(true, std::memory_order_seq_cst);
      full_fence();
      // What another thread is carrying out right now may be the last: its end wakes nobody here, the next one given
      // does.
      bool work_left;
      {
        const std::lock_guard guard(mutex_);
        work_left = !queue_.empty();
      }
      if (!ends_.load(std::memory_order_relaxed)) futex_wait(calls_, seen, work_left ? kLookNs : kSleepNs);
      sleeps_.store(false, std::memory_order_relaxed);
      idle = kIdleYields;
    }
  }
}

}  // namespace shoal

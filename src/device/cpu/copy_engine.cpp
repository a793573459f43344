// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/copy_engine.hpp"

#include <shmem/constants.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/fence.hpp"
#include "base/library_thread.hpp"
#include "base/quiet_signals.hpp"

namespace shoal {

using device::Transfer;

CopyEngine::CopyEngine(const Context& world, EngineSetup setup, std::function<void()> done)
    : world_(world), setup_(setup), done_(std::move(done)), random_(setup.seed) {}

CopyEngine::~CopyEngine() {
  {
    const std::lock_guard guard(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

std::uint64_t CopyEngine::due(const device::CoreState& core, const Transfer& transfer) {
  const bool own_copy = transfer.engine == device::Engine::mte;
  if (setup_.most_delay_ns == 0 && (own_copy || (setup_.bytes_per_second == 0 && setup_.latency_ns == 0))) return 0;
  std::uint64_t when = now_ns();
  if (!own_copy && setup_.bytes_per_second != 0) {
    const double ns =
        static_cast<double>(transfer.bytes * transfer.blocks) * 1e9 / static_cast<double>(setup_.bytes_per_second);
    when = link_free_ = std::max(when, link_free_) + static_cast<std::uint64_t>(ns);
  }
  if (!own_copy) when += setup_.latency_ns;
  if (setup_.most_delay_ns != 0) when += random_() % setup_.most_delay_ns;
  if (own_copy) {
    std::uint64_t& last = last_due_[&core];
    when = last = std::max(when, last);
  }
  return when;
}

void CopyEngine::submit(device::CoreState& core, const Transfer& transfer) {
  Task task{&core, transfer, nullptr, {}};
  if (transfer.keeps_source) keep_source(task);
  {
    const std::lock_guard guard(mutex_);
    // In order means one at a time: with delays, which put the cores' own copies here as well, a single worker does
    // all.
    const int wanted = setup_.most_delay_ns != 0 ? 1 : setup_.workers;
    while (static_cast<int>(workers_.size()) < wanted) {
      const QuietSignals quiet;
      workers_.emplace_back([this] { work(); });
    }
    const auto at = tasks_.emplace(due(core, transfer), std::move(task));
    // What a link brings later than the last concerns no worker yet: to wake one would take a processor from the cores.
    if (setup_.bytes_per_second != 0 && at != tasks_.begin()) return;
  }
  changed_.notify_one();
}

void CopyEngine::keep_source(Task& task) {
  Transfer& transfer = task.transfer;
  const std::size_t bytes = transfer.bytes;
  if (transfer.batch != nullptr) {
    task.batch.assign(transfer.batch, transfer.batch + transfer.blocks);
    std::size_t all = 0;
    for (const device::Block& block : task.batch) all += block.bytes;
    task.kept = std::make_unique<char[]>(all);
    char* to = task.kept.get();
    for (device::Block& block : task.batch) {
      if (block.bytes != 0) std::memcpy(to, block.source, block.bytes);
      block.source = to;
      to += block.bytes;
    }
    transfer.batch = task.batch.data();
  } else if (bytes * transfer.blocks != 0) {
    task.kept = std::make_unique<char[]>(bytes * transfer.blocks);
    copy_strided(task.kept.get(), static_cast<const char*>(transfer.from), static_cast<std::ptrdiff_t>(bytes),
                 transfer.from_stride, bytes, transfer.blocks);
    transfer.from = task.kept.get();
    transfer.from_stride = static_cast<std::ptrdiff_t>(bytes);
  }
}

void CopyEngine::work() {
  in_library_thread = true;
  // An emulated link is as fast as it is told: by default, Linux wakes a sleeper up to 50 microseconds late.
  if (setup_.bytes_per_second != 0 || setup_.latency_ns != 0) ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  std::unique_lock lock(mutex_);
  for (;;) {
    if (tasks_.empty()) {
      if (ends_) return;
      changed_.wait(lock);
      continue;
    }
    const auto first = tasks_.begin();
    const std::uint64_t now = first->first == 0 ? 0 : now_ns();
    if (first->first > now) {
      // By the system clock: ThreadSanitizer of clang 14 does not know the wait by the other.
      changed_.wait_until(lock, std::chrono::system_clock::now() + std::chrono::nanoseconds(first->first - now));
      continue;
    }
    Task task = std::move(first->second);
    tasks_.erase(first);
    if (!tasks_.empty()) changed_.notify_one();  // submit() wakes nobody for what comes later than another
    lock.unlock();
    perform(world_, task.transfer);
    if (task.transfer.event != nullptr) task.transfer.event->complete();
    task.core->completed.fetch_add(1, std::memory_order_seq_cst);  // partner: the acquire in prim::drain
    full_fence();  // before the look at who sleeps: a read-modify-write alone orders nothing behind it on aarch64
    done_();
    lock.lock();
  }
}

void CopyEngine::perform(const Context& world, const Transfer& t) noexcept {
  const auto* from = static_cast<const char*>(t.from);
  auto* to = static_cast<char*>(t.to);
  if (t.mapped != nullptr && t.is_put) to = t.mapped;
  if (t.mapped != nullptr && !t.is_put) from = t.mapped;
  // Many blocks are waited for together, by the quiet at the end.
  const auto move = [&](void* dest, const void* source, std::size_t bytes) {
    t.is_put ? world.put(dest, source, bytes, t.pe, t.call) : world.get_nbi(dest, source, bytes, t.pe, t.call);
  };
  if (t.batch != nullptr) {
    for (std::size_t i = 0; i < t.blocks; ++i) move(t.batch[i].dest, t.batch[i].source, t.batch[i].bytes);
  } else if (t.bytes == 0) {
    // a signal alone
  } else if (t.mapped == nullptr) {
    for (std::size_t i = 0; i < t.blocks; ++i, to += t.to_stride, from += t.from_stride) move(to, from, t.bytes);
  } else if (t.blocks == 1) {
    copy_shared(to, from, t.bytes);
  } else {
    copy_strided(to, from, t.to_stride, t.from_stride, t.bytes, t.blocks);
  }
  if (t.signal != nullptr)
    world.signal(t.signal, t.signal_value, t.signal_op == device::SignalOp::set ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD,
                 t.pe, t.call);
  world.quiet();
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// The engines that work beside the cores: threads that carry out transfers in the order in which they fall due. A
// transfer is due at once, unless a link of a given rate and latency is emulated, or tests want everything to be late.
//
// Thread safety: all functions, from any thread.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "comm/context.hpp"
#include "shoal/device/runtime.hpp"

namespace shoal {

struct EngineSetup {
  int workers = 1;
  std::uint64_t bytes_per_second = 0;  ///< of the emulated link; 0: none
  std::uint64_t latency_ns = 0;        ///< of the emulated link
  std::uint64_t most_delay_ns = 0;     ///< tests: each transfer is late by up to this, at random
  std::uint64_t seed = 0;
};

class CopyEngine final {
 public:
  /// @param done  called after each transfer, on the worker's thread
  CopyEngine(const Context& world, EngineSetup setup, std::function<void()> done);
  /// Carries out what is queued, then ends the workers.
  ~CopyEngine();

  /// Workers start with the first transfer. In order among those of one core with Engine::mte, in any order else.
  void submit(device::CoreState& core, const device::Transfer& transfer);

  /// Carries out a transfer on this thread.
  static void perform(const Context& world, const device::Transfer& transfer) noexcept;

 private:
  struct Task {
    device::CoreState* core;
    device::Transfer transfer;
    std::unique_ptr<char[]> kept;      // a copy of the source
    std::vector<device::Block> batch;  // whose sources lie there
  };
  /// Takes a copy of the source, so that the caller may reuse it.
  static void keep_source(Task& task);
  void work();
  /// When a transfer that is submitted now is to be carried out.
  std::uint64_t due(const device::CoreState& core, const device::Transfer& transfer);

  const Context& world_;
  const EngineSetup setup_;
  const std::function<void()> done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<std::uint64_t, Task> tasks_;  // by when they are due; equal ones in order of submission
  std::map<const device::CoreState*, std::uint64_t> last_due_;  // of the core's own copies
  std::uint64_t link_free_ = 0;
  std::mt19937_64 random_;
  bool ends_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace shoal

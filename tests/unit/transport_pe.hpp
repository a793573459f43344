// SPDX-License-Identifier: Apache-2.0
// The PEs that tests of the transports are made of.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "transport/transport.hpp"

namespace shoal::test {

inline constexpr std::uint64_t kDeadlineNs = 30'000'000'000;
inline constexpr std::uint32_t kMemory = 7, kOthers = 8;  // keys: everyone's, and one that nobody may use

/// A PE of the test: a block of memory that others may use.
class Pe final : public Target {
 public:
  explicit Pe(std::size_t bytes) : memory(bytes / 8) {}
  char* admit(int from, std::uint32_t key, std::uint64_t offset, std::uint64_t bytes, Access access) noexcept override {
    const std::size_t size = memory.size() * 8;
    const bool fine = key == kMemory && offset <= size && bytes <= size - offset && (access != Access::atomic || offset % bytes == 0);
    if (!fine) refused("PE " + std::to_string(from), "out of its bounds");
    return fine ? reinterpret_cast<char*>(memory.data()) + offset : nullptr;
  }
  std::span<char> region(int, std::uint32_t key) noexcept override {
    if (key != kMemory) return {};
    return {reinterpret_cast<char*>(memory.data()), memory.size() * 8};
  }
  void refused(const std::string& who, const std::string&) noexcept override {
    const std::lock_guard guard(mutex);
    refusals.push_back(who);
  }
  void wake() noexcept override {}
  [[noreturn]] void fail(const std::string& what) noexcept override {
    std::fprintf(stderr, "transport failed: %s\n", what.c_str());
    std::abort();
  }
  std::size_t count_refusals() {
    const std::lock_guard guard(mutex);
    return refusals.size();
  }
  std::uint64_t load(std::size_t word) { return std::atomic_ref<std::uint64_t>(memory[word]).load(std::memory_order_acquire); }

  std::vector<std::uint64_t> memory;
  std::mutex mutex;
  std::vector<std::string> refusals;
  std::unique_ptr<Transport> transport;
};

}  // namespace shoal::test

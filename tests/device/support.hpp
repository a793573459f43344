// SPDX-License-Identifier: Apache-2.0
// What the device tests share: checks that say where they failed, and launches that are waited for.
#pragma once
#include <shoal/device/device.hpp>
#include <shoal/shoal.hpp>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace device_test {

namespace device = shoal::device;
using shoal::Device;
using shoal::Event;
using shoal::Job;
using shoal::launch;
using shoal::LaunchOptions;
using shoal::Stream;

/// Ends the job with a line when `condition` is false. For hosts and kernels.
inline void check(bool condition, const char* text, int line, const std::string& detail = "") {
  if (condition) return;
  std::fprintf(stderr, "PE %d, line %d: failed: %s %s\n", shmem_my_pe(), line, text, detail.c_str());
  shmem_global_exit(1);
}
#define CHECK(condition) device_test::check(condition, #condition, __LINE__)
template <class A, class B>
void check_equal(const A& a, const B& b, const char* text, int line) {
  if (!(a == b)) check(false, text, line, std::to_string(a) + " vs " + std::to_string(b));
}
#define CHECK_EQ(a, b) device_test::check_equal(a, b, #a " == " #b, __LINE__)

/// The numbers of cores that a test goes through.
inline constexpr int kCores[] = {1, 2, 3, 8};

/// Launches, waits, and meets the other PEs.
template <class Kernel, class... Arguments>
void run_kernel(const Stream& stream, Kernel kernel, int cores, Arguments... arguments) {
  launch(kernel, cores, stream, arguments...);
  stream.synchronize();
  shmem_barrier_all();
}

/// The seed of a random test, printed by PE 0; the same on all PEs.
inline unsigned seed() {
  const char* given = std::getenv("SHOAL_TEST_SEED");
  static long agreed = 0;
  static long mine;
  mine = given != nullptr ? std::atol(given) : static_cast<long>(std::random_device{}() & 0xffffff);
  shmem_broadcastmem(SHMEM_TEAM_WORLD, &agreed, &mine, sizeof agreed, 0);
  if (shmem_my_pe() == 0) std::printf("seed %ld\n", agreed);
  return static_cast<unsigned>(agreed);
}

/// Symmetric device memory for the length of a scope, with zeros in it.
template <class T>
class Memory {
 public:
  Memory(const Device& on, std::size_t n) : device_(on), data_(on.allocate<T>(n)) {
    CHECK(data_ != nullptr);
    for (std::size_t i = 0; i < n; ++i) data_[i] = T{};
    shmem_barrier_all();
  }
  ~Memory() { device_.free(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  T* get() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  Device device_;
  T* data_;
};

}  // namespace device_test

// SPDX-License-Identifier: Apache-2.0
// A whole job whose PEs are threads of the test: everything below the C interface, in one address space, where the
// sanitizers see across PEs.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "bootstrap/local.hpp"
#include "job/job.hpp"

namespace shoal::test {

/// The value of a test's own options: `set("SHOAL_BARRIER=central", ...)`.
inline Options options_with(const std::vector<std::string>& settings) {
  return Options::from([&](const char* name) -> const char* {
    for (const std::string& setting : settings)
      if (setting.compare(0, std::string(name).size() + 1, std::string(name) + "=") == 0)
        return setting.c_str() + std::string(name).size() + 1;
    return nullptr;
  });
}

/// Runs `body(job)` as each of `n` PEs, each on a thread of its own, and returns when all have left the job. The heap is
/// small unless `settings` say otherwise.
inline void run_job(int n, std::vector<std::string> settings, const std::function<void(Job&)>& body) {
  settings.push_back("SHMEM_SYMMETRIC_SIZE=8m");
  const Options options = options_with(settings);
  LocalWorld world(n);
  std::vector<std::thread> pes;
  for (int pe = 0; pe < n; ++pe)
    pes.emplace_back([&, pe] {
      try {
        const auto bootstrap = world.join(pe);
        JobSetup setup;
        setup.bootstrap = bootstrap.get();
        setup.options = options;
        auto job = Job::start(std::move(setup));
        body(*job);
        job->stop();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "PE " << pe << ": " << error.what();
        std::abort();  // the others wait for this one
      }
    });
  for (std::thread& pe : pes) pe.join();
}

/// A symmetric array, allocated together.
template <class T>
T* allocate(Job& job, std::size_t count) {
  return static_cast<T*>(job.heap().allocate(job.world_team(), count * sizeof(T), 0, "test"));
}

inline void barrier(Job& job) { job.world_team().sync("test"); }

}  // namespace shoal::test

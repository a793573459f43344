// SPDX-License-Identifier: Apache-2.0
/// \file
/// The job: start, end and who is in it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "detail/owner.hpp"
#include "detail/scratch.hpp"
#include "rma.hpp"
#include "team.hpp"

namespace shoal::inline v1 {

/// This PE's number in the world, and how many PEs there are. Safe from any thread while a Job lives.
[[nodiscard]] inline int my_pe() { return shmem_my_pe(); }
[[nodiscard]] inline int n_pes() { return shmem_n_pes(); }
/// Completes this PE's operations on the default context, then waits for all PEs.
inline void barrier() { shmem_barrier_all(); }
/// Waits for all PEs; completes no puts.
inline void sync() { shmem_sync_all(); }
/// Waits until PE `pe` has made the matching call with this PE's number.
inline void sync_with(int pe) { shmemx_sync_pe(pe); }
/// Ends the whole job at once with `status`, without the others' help.
[[noreturn]] inline void global_exit(int status) { shmem_global_exit(status); }

/// Keeps the library started: construct one first in main. Construction and destruction are collective over all PEs.
/// Jobs nest: a library may make its own inside the application's.
///
/// An exception that leaves a Job's scope ends the whole job with status 1: the other PEs can't know of it and would
/// wait for ever. Catch inside, or use run(), which prints what the exception says.
class Job : private detail::CollectiveOwner {
 public:
  /// Throws Error if the library can't start, or can't give `level`.
  explicit Job(ThreadLevel level = ThreadLevel::single) {
    int provided = SHMEM_THREAD_SINGLE;
    detail::check(shmem_init_thread(static_cast<int>(level), &provided), "shmem_init_thread", "see the line on stderr");
    level_ = static_cast<ThreadLevel>(provided);
    if (provided < static_cast<int>(level)) {
      shmem_finalize();
      throw Error(
          "shoal: the library runs with a lower thread level than this Job asks for; ask for it in the first Job",
          provided);
    }
    if (detail::job_state.depth++ == 0)
      detail::job_state.scratch = static_cast<std::byte*>(shmem_malloc(2 * detail::kScratchBytes));
  }
  ~Job() {
    if (!detail::library_runs()) return;
    if (!may_release()) {
      std::fprintf(stderr, "shoal: PE %d: an exception leaves the scope of a shoal::Job; ending the job\n",
                   shmem_my_pe());
      shmem_global_exit(1);
    }
    if (--detail::job_state.depth == 0) shmem_free(std::exchange(detail::job_state.scratch, nullptr));
    shmem_finalize();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] int my_pe() const { return shmem_my_pe(); }
  [[nodiscard]] int n_pes() const { return shmem_n_pes(); }
  /// The level that the library gives; at least the one asked for.
  [[nodiscard]] ThreadLevel thread_level() const noexcept { return level_; }
  [[nodiscard]] TeamRef world() const noexcept { return TeamRef::world(); }
  /// The PEs whose memory this one can map.
  [[nodiscard]] TeamRef shared() const noexcept { return TeamRef::shared(); }
  void barrier() const { shmem_barrier_all(); }
  void sync() const { shmem_sync_all(); }

 private:
  ThreadLevel level_;
};

/// Runs `body(job)` inside a Job and returns its value (0 for void), for main to return. An exception ends the whole
/// job with status 1 and a line that says what it was.
template <std::invocable<Job&> F>
[[nodiscard]] int run(F&& body, ThreadLevel level = ThreadLevel::single) {
  try {
    Job job(level);
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<F, Job&>>) {
        std::forward<F>(body)(job);
        return 0;
      } else {
        return std::forward<F>(body)(job);
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "shoal: PE %d: uncaught exception: %s\n", shmem_my_pe(), error.what());
    } catch (...) {
      std::fprintf(stderr, "shoal: PE %d: uncaught exception of an unknown type\n", shmem_my_pe());
    }
    shmem_global_exit(1);
  } catch (const Error& error) {  // there is no job
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace shoal::inline v1

// SPDX-License-Identifier: Apache-2.0
// The life of the job in this process: init and finalize, counted, again and again; and what happens at exit and after
// fork.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/current.hpp"
#include "base/error.hpp"
#include "bootstrap/find.hpp"
#include "bootstrap/status_mapping.hpp"
#include "bootstrap/together.hpp"

namespace shoal {

/// Prints why a call is refused that can say so to its caller. @return `code`
int refused(const char* call, const std::string& what, Code code = Code::invalid_argument) noexcept;

/// Init and finalize may come from any thread, one at a time.
class Life final {
 public:
  static Life& instance();

  using Settings = std::map<std::string, std::string>;
  /// For the form that reports failure to its caller: prints why, and gives back a Code, or 0. Counts calls; the first
  /// starts the job. Where it fails on one PE, it fails on all that call this form; then all may try again.
  /// @param start     as the program says; need not outlive the call
  /// @param settings  what options are in this job where the environment says nothing, before the defaults
  int init(const char* call, int requested, int* provided, StartInfo start = {}, Settings settings = {});
  /// The same for arguments that make no sense: it fails, though not where the job runs already.
  int refuse_init(const char* call, const std::string& what);
  /// A unique id, whose meeting this process holds from now on until its next init. @throws Error
  UniqueId make_id();
  /// For the forms that cannot: ends the program with status 1, and the job with one line for all.
  void init_or_exit(const char* call);
  /// The last of as many calls as there were of init ends the job. One too many does nothing.
  void finalize();

  /// Before init: what an option is where the environment says nothing.
  void set_default(const std::string& name, const std::string& value);

  int initialized() const noexcept { return inits_.load(std::memory_order_acquire) > 0 ? 1 : 0; }
  int thread_level() const noexcept { return thread_level_; }

 private:
  struct Failure {
    Code code;
    std::string text;
  };
  // All that follow are to be called by who has his turn.
  /// @return what went wrong, or nothing
  std::unique_ptr<Failure> try_init(const char* call, int requested);
  /// The process's environment, before it the defaults that were set.
  Options::Environment environment() const;
  void start();
  void join();
  int refuse(const char* call, const std::string& what);
  /// A start that failed: lets it fail everywhere, and prints why. @return its code
  int fail(const Failure& failure) noexcept;
  /// Joins them, if it has not come so far. @return whether they know
  bool tell_others(const Failure& failure) noexcept;
  void stop(bool program_ends);
  void leave(bool program_ends);
  /// A program that ends by returning 0 from main or by exit(0) leaves in order; with any other status it says so.
  void end_of_program(int status);
  /// When another PE died, its death is the news, not that this one misses it: the launcher says so and ends this
  /// process.
  void wait_to_be_ended(Code code) const;
  /// A forked child is no PE: every call that it makes says so, instead of taking part in its parent's place.
  static void after_fork_in_child();

  std::mutex mutex_;
  std::atomic<int> inits_{0};
  std::atomic<pid_t> pid_{0};  // a forked child is no PE: it must leave the job alone
  int thread_level_ = SHMEM_THREAD_SINGLE;
  Settings defaults_, for_init_;
  StartInfo start_;
  int jobs_ = 0;  // that have started
  MadeId made_id_;
  bool watches_exit_ = false;
  int end_status_ = 0;  // in place of 0, when a check that only reports has found something
  std::unique_ptr<Together> bootstrap_;
  std::unique_ptr<Job> job_;
  std::unique_ptr<StatusMapping> status_;
};

}  // namespace shoal

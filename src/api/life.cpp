// SPDX-License-Identifier: Apache-2.0
#include "api/life.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "bootstrap/find.hpp"

namespace shoal {
namespace {

constexpr unsigned kWaitToBeEndedUs = 500'000;  // a launcher takes a few milliseconds

/// What stands in for a job where there is none: `why` is what every call then says.
class NoJob final : public Fatal {
 public:
  explicit constexpr NoJob(const char* why) : why_(why) {}
  [[noreturn]] void fatal(const char* call, const std::string&) const noexcept override {
    std::fflush(nullptr);
    print_line(launched_as(process_environment), std::string(call) + ": " + why_);
    std::_Exit(1);
  }

 private:
  const char* why_;
};

constinit const NoJob kNoJob("called before shmem_init or after shmem_finalize: call shmem_init first");
const Domain kNoDomain{0, 0, nullptr, nullptr, {}, &kNoJob};
constinit const Context kNoContext(kNoDomain);
constinit const NoJob kChild("called in a forked child, which is no PE: only the process that called shmem_init is");
const Domain kChildDomain{0, 0, nullptr, nullptr, {}, &kChild};
constinit const Context kChildContext(kChildDomain);

void print_options(const Job& job) {
  std::string table = strf("Shoal %s, OpenSHMEM %d.%d", SHOAL_VERSION, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
  if (job.options().print_info)
    for (const OptionRow& row : describe_options(process_environment))
      table += strf("\n  %-22s %-12s (%s) %s", row.name.c_str(), row.value.c_str(), row.source.c_str(), row.help.c_str());
  print_line(-1, table);
}

}  // namespace

constinit Current current{&kNoContext, nullptr};

Life& Life::instance() {
  static Life* const life = new Life;  // never destroyed: exit handlers of the program may still call the library
  return *life;
}

void Life::start() {
  JobSetup setup;
  setup.options = Options::from(process_environment);
  Job::check(setup.options);
  bootstrap_ = find_bootstrap(process_environment);
  setup.bootstrap = bootstrap_.get();
  const int me = bootstrap_->rank();
  status_ = std::make_unique<StatusMapping>(StatusMapping::open(process_environment, bootstrap_->size()));
  StatusWriter(status_->record(me)).set(Phase::starting, "shmem_init", "");
  setup.status = status_.get();
  setup.static_data = true;
  job_ = Job::start(std::move(setup));
  pid_ = ::getpid();
  StatusWriter(status_->record(me)).set(Phase::running, "", "");
  current = {&job_->world(), job_.get()};
  if (me == 0 && (job_->options().print_version || job_->options().print_info)) print_options(*job_);
  if (!watches_exit_) {
    // on_exit, not atexit: a program that fails must not wait here for PEs that wait for it.
    watches_exit_ = ::on_exit([](int status, void*) { instance().end_of_program(status); }, nullptr) == 0;
    ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
  }
}

std::unique_ptr<Life::Failure> Life::try_init(const char* call, int requested) {
  const std::lock_guard guard(mutex_);
  if (inits_ > 0 && pid_ == ::getpid()) {
    ++inits_;
    return nullptr;
  }
  try {
    start();
  } catch (const std::bad_alloc&) {
    return std::make_unique<Failure>(Failure{
        Code::out_of_memory, std::string(call) + ": out of memory: raise the limits of this process (ulimit -d, -v) or lower SHMEM_SYMMETRIC_SIZE"});
  } catch (const Error& error) {
    return std::make_unique<Failure>(Failure{error.code(), std::string(call) + ": " + error.what()});
  } catch (const std::exception& error) {
    return std::make_unique<Failure>(Failure{Code::system, std::string(call) + ": " + error.what()});
  }
  inits_ = 1;
  thread_level_ = requested;
  return nullptr;
}

int Life::init(const char* call, int requested, int* provided) {
  if (const auto failure = try_init(call, requested)) {
    wait_to_be_ended(failure->code);
    bootstrap_.reset();
    print_line(launched_as(process_environment), failure->text);
    return static_cast<int>(failure->code);
  }
  if (provided != nullptr) *provided = thread_level_;
  return 0;
}

void Life::init_or_exit(const char* call) {
  const auto failure = try_init(call, SHMEM_THREAD_SINGLE);
  if (failure == nullptr) return;
  wait_to_be_ended(failure->code);
  const int pe = launched_as(process_environment);
  // Often the same mistake on all PEs: the launcher prints the first line only, and ends the others.
  try {
    if (bootstrap_ == nullptr && pe >= 0) bootstrap_ = find_bootstrap(process_environment);
    if (bootstrap_ != nullptr) bootstrap_->abort(1, (pe < 0 ? "shoal: " : strf("shoal: PE %d: ", pe)) + failure->text);
  } catch (const Error&) {
  }
  std::fflush(nullptr);
  print_line(pe, failure->text);
  std::_Exit(1);
}

void Life::wait_to_be_ended(Code code) const {
  if (bootstrap_ != nullptr && bootstrap_->size() > 1 && code != Code::invalid_option) ::usleep(kWaitToBeEndedUs);
}

void Life::after_fork_in_child() {
  if (instance().inits_ > 0) current = {&kChildContext, nullptr};
}

void Life::stop(bool program_ends) {
  StatusWriter status(status_->record(job_->me()));
  status.set(Phase::leaving, "shmem_finalize", program_ends ? "at exit" : "");
  job_->stop();
  status.set(Phase::left, "", "");
  if (program_ends) {
    // The memory goes with the process; other exit handlers may still read symmetric variables and blocks.
    static_cast<void>(job_.release());
    return;
  }
  current = {&kNoContext, nullptr};
  job_.reset();
  status_.reset();
  bootstrap_.reset();
}

void Life::leave(bool program_ends) {
  inits_ = 0;
  try {
    stop(program_ends);
  } catch (const std::exception& error) {
    wait_to_be_ended(Code::peer);
    print_line(launched_as(process_environment), std::string("shmem_finalize: ") + error.what());
    std::_Exit(1);
  }
}

void Life::finalize() {
  if (pid_ != ::getpid()) return;  // before the lock: in a child, a thread that is no more may hold it
  const std::lock_guard guard(mutex_);
  if (inits_ == 1)
    leave(false);
  else if (inits_ > 1)
    --inits_;
}

void Life::end_of_program(int status) {
  if (status != 0 || pid_ != ::getpid()) return;
  const std::lock_guard guard(mutex_);
  if (inits_ > 0) leave(true);
}

}  // namespace shoal

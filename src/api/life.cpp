// SPDX-License-Identifier: Apache-2.0
#include "api/life.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "bootstrap/find.hpp"

namespace shoal {
namespace {

constexpr unsigned kWaitToBeEndedUs = 500'000;  // a launcher takes a few milliseconds

/// What stands in for a job before init and after finalize.
class NoJob final : public Fatal {
 public:
  constexpr NoJob() = default;
  [[noreturn]] void fatal(const char* call, const std::string& what) const noexcept override {
    std::fflush(nullptr);
    print_line(launched_as(process_environment), std::string(call) + ": " + what);
    std::_Exit(1);
  }
};

constinit const NoJob no_job;
const Domain kNoDomain{0, 0, nullptr, nullptr, {}, &no_job};
constinit const Context kNoContext(kNoDomain);

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
  setup.bootstrap = find_bootstrap(process_environment);
  const int me = setup.bootstrap->rank();
  in_job_ = setup.bootstrap->size() > 1;
  status_ = std::make_unique<StatusMapping>(StatusMapping::open(process_environment, setup.bootstrap->size()));
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
  std::fflush(nullptr);
  const int pe = launched_as(process_environment);
  if (failure->code == Code::invalid_option && pe >= 0) try {
      // The same mistake on all PEs: the launcher prints the first line only.
      find_bootstrap(process_environment)->abort(1, strf("shoal: PE %d: %s", pe, failure->text.c_str()));
    } catch (const Error&) {
    }
  print_line(pe, failure->text);
  std::_Exit(1);
}

void Life::wait_to_be_ended(Code code) const {
  if (in_job_ && code != Code::invalid_option) ::usleep(kWaitToBeEndedUs);
}

void Life::stop(bool program_ends) {
  StatusWriter status(status_->record(job_->me()));
  status.set(Phase::leaving, "shmem_finalize", "");
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

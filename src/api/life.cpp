// SPDX-License-Identifier: Apache-2.0
#include "api/life.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>
#include <utility>

#include "base/brief_lock.hpp"
#include "base/other_copy.hpp"
#include "bootstrap/find.hpp"
#include "observe/crash_line.hpp"

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
  [[noreturn]] void fatal_at(const char* call, const std::string& what) const noexcept override { fatal(call, what); }

 private:
  const char* why_;
};

/// A turn at the life of the job, which threads take one by one. What interrupts this thread meanwhile can ask for it.
class Turn final {
 public:
  explicit Turn(std::mutex& mutex) : lock_(mutex, std::defer_lock) {
    here_ = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    lock_.lock();
  }
  ~Turn() {
    lock_.unlock();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    here_ = false;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  /// Whether this thread has one, or waits for it.
  static bool here() noexcept { return here_; }

 private:
  // Mutable, as an exception to the rule: only the thread itself can know it without a moment's gap.
  static inline constinit thread_local bool here_ = false;
  std::unique_lock<std::mutex> lock_;
};

constinit const NoJob kNoJob("called before shmem_init or after shmem_finalize: call shmem_init first");
const Domain kNoDomain{0, 0, nullptr, nullptr, {}, &kNoJob};
constinit const Context kNoContext(kNoDomain);
constinit const NoJob kChild("called in a forked child, which is no PE: only the process that called shmem_init is");
const Domain kChildDomain{0, 0, nullptr, nullptr, {}, &kChild};
constinit const Context kChildContext(kChildDomain);

/// A misspelt variable has no effect, and nobody would notice.
void warn_of_misspelt(const Log& log) {
  for (const UnknownVariable& unknown : find_unknown(process_variables()))
    if (!unknown.nearest.empty())
      log.warning("%s is set but is no option: did you mean %s?", unknown.name.c_str(), unknown.nearest.c_str());
}

void print_options(const Job& job) {
  std::string table = strf("Shoal %s, OpenSHMEM %d.%d", SHOAL_VERSION, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
  if (job.options().print_info)
    for (const OptionRow& row : describe_options(process_environment))
      table +=
          strf("\n  %-22s %-12s (%s) %s", row.name.c_str(), row.value.c_str(), row.source.c_str(), row.help.c_str());
  print_line(-1, table);
}

}  // namespace

constinit Current current{&kNoContext, nullptr};

Life& Life::instance() {
  static Life* const life = new Life;  // never destroyed: exit handlers of the program may still call the library
  return *life;
}

void Life::set_default(const std::string& name, const std::string& value) {
  const Turn turn(mutex_);
  defaults_[name] = value;
}

Options::Environment Life::environment() const {
  return [this](const char* name) -> const char* {
    if (const char* set = process_environment(name)) return set;
    for (const auto* values : {&for_init_, &defaults_})
      if (const auto found = values->find(name); found != values->end()) return found->second.c_str();
    return nullptr;
  };
}

void Life::start() {
  if (const std::string other = other_copy(); !other.empty())
    throw Error(Code::invalid_option,
                strf("this process has two copies of libshoal, %s and %s: let the program, its libraries "
                     "and its Python use one installation (LD_LIBRARY_PATH, rpath)",
                     this_copy().c_str(), other.c_str()));
  JobSetup setup;
  setup.options = Options::from(environment());
  Job::check(setup.options);
  join();
  setup.bootstrap = bootstrap_.get();
  const int me = bootstrap_->rank();
  status_ = std::make_unique<StatusMapping>(StatusMapping::open(environment(), bootstrap_->size()));
  StatusWriter(status_->record(me)).set(Phase::starting, "shmem_init", "");
  setup.status = status_.get();
  setup.static_data = true;
  setup.thread_level = thread_level_;
  setup.session = jobs_ + 1;
  job_ = Job::start(std::move(setup));
  bootstrap_->started();
  pid_ = ::getpid();
  status_->record(me)->tell_others(thread_level_ == SHMEM_THREAD_MULTIPLE ? Others::act
                                   : thread_level_ == SHMEM_THREAD_SINGLE ? Others::none
                                                                          : Others::store);
  StatusWriter(status_->record(me)).set(Phase::running, "", "");
  current = {&job_->world(), job_.get()};
  if (me == 0) warn_of_misspelt(job_->log());
  if (me == 0 && (job_->options().print_version || job_->options().print_info)) print_options(*job_);
  if (!watches_exit_) {
    // on_exit, not atexit: a program that fails must not wait here for PEs that wait for it.
    watches_exit_ = ::on_exit([](int status, void*) { instance().end_of_program(status); }, nullptr) == 0;
    ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
  }
}

void Life::join() {
  bootstrap_ = std::make_unique<Together>(find_bootstrap(environment(), start_));
  ++start_.session;
}

int refused(const char* call, const std::string& what, Code code) noexcept {
  print_line(Life::instance().initialized() ? world().domain().me : launched_as(process_environment),
             std::string(call) + ": " + what);
  return static_cast<int>(code);
}

std::unique_ptr<Life::Failure> Life::try_init(const char* call, int requested) {
  if (inits_ > 0 && pid_ == ::getpid()) {
    ++inits_;
    return nullptr;
  }
  thread_level_ = requested;
  try {
    start();
  } catch (const std::bad_alloc&) {
    return std::make_unique<Failure>(
        Failure{Code::out_of_memory,
                std::string(call) +
                    ": out of memory: raise the limits of this process (ulimit -d, -v) or lower SHMEM_SYMMETRIC_SIZE"});
  } catch (const Error& error) {
    return std::make_unique<Failure>(Failure{error.code(), std::string(call) + ": " + error.what()});
  } catch (const std::system_error& error) {  // std::thread's: it knows no remedy
    try {
      errno = error.code().value();
      throw_errno(std::string(call) + ": cannot start a thread");
    } catch (const Error& told) {
      return std::make_unique<Failure>(Failure{told.code(), told.what()});
    }
  } catch (const std::exception& error) {
    return std::make_unique<Failure>(Failure{Code::system, std::string(call) + ": " + error.what()});
  }
  inits_ = 1;
  ++jobs_;
  return nullptr;
}

int Life::init(const char* call, int requested, int* provided, StartInfo start, Settings settings) {
  const Turn turn(mutex_);
  start.session = start_.session;
  start.made = &made_id_;
  start_ = std::move(start);
  for_init_ = std::move(settings);
  int code = 0;
  if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE)
    code =
        refuse(call, strf("thread level %d is none of SHMEM_THREAD_SINGLE, FUNNELED, SERIALIZED, MULTIPLE", requested));
  else if (const auto failure = try_init(call, requested))
    code = fail(*failure);
  start_ = {.session = start_.session};
  for_init_ = {};
  if (code == 0 && provided != nullptr) *provided = thread_level_;
  return code;
}

int Life::refuse_init(const char* call, const std::string& what) {
  const Turn turn(mutex_);
  return refuse(call, what);
}

int Life::refuse(const char* call, const std::string& what) {
  if (inits_ > 0) return refused(call, what);
  return fail({Code::invalid_argument, std::string(call) + ": " + what});
}

UniqueId Life::make_id() {
  const Turn turn(mutex_);
  made_id_ = make_unique_id(Options::from(environment()).interface);
  return made_id_.id;
}

void Life::init_or_exit(const char* call) {
  const Turn turn(mutex_);
  const auto failure = try_init(call, SHMEM_THREAD_SINGLE);
  if (failure == nullptr) return;
  wait_to_be_ended(failure->code);
  const int pe = launched_as(process_environment);
  // Often the same mistake on all PEs: the launcher prints the first line only, and ends the others.
  try {
    const bool launched = pe >= 0 && process_environment("SHOAL_STORE_FD") != nullptr;
    if (bootstrap_ == nullptr && launched) join();
    if (bootstrap_ != nullptr) bootstrap_->abort(1, spoken_by(pe, failure->text));
  } catch (const Error&) {
  }
  std::fflush(nullptr);
  print_line(pe, failure->text);
  std::_Exit(1);
}

int Life::fail(const Failure& failure) noexcept {
  // By hand, the others may come late.
  const bool alone = bootstrap_ == nullptr;
  if (alone) print_line(launched_as(process_environment), failure.text);
  if (!tell_others(failure)) wait_to_be_ended(failure.code);
  bootstrap_.reset();
  status_.reset();
  if (!alone) print_line(launched_as(process_environment), failure.text);
  return static_cast<int>(failure.code);
}

bool Life::tell_others(const Failure& failure) noexcept {
  try {
    if (bootstrap_ == nullptr && failure.code != Code::launcher) join();
    if (bootstrap_ == nullptr || !bootstrap_->fail(failure.text)) return false;
    if (status_ != nullptr) StatusWriter(status_->record(bootstrap_->rank())).set(Phase::starting, "", "");
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void Life::wait_to_be_ended(Code code) const {
  if (bootstrap_ != nullptr && bootstrap_->size() > 1 && code != Code::invalid_option) ::usleep(kWaitToBeEndedUs);
}

void Life::after_fork_in_child() {
  if (instance().inits_ > 0) current = {&kChildContext, nullptr};
}

void Life::stop(bool program_ends) {
  StatusWriter status(status_->record(job_->me()));
  const char* call = program_ends ? "shmem_finalize at exit" : "shmem_finalize";
  status.set(Phase::leaving, call, "");
  job_->stop(call);
  if (job_->end_status() != 0) end_status_ = job_->end_status();
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
  CrashLine::await_end();
  const Turn turn(mutex_);
  if (inits_ == 1)
    leave(false);
  else if (inits_ > 1)
    --inits_;
}

void Life::end_of_program(int status) {
  if (pid_ != ::getpid()) return;
  CrashLine::await_end();
  if (Turn::here()) return;  // a signal handler's, in the middle of init or finalize: it would wait for the call below
  if (status == 0) {
    {
      const Turn turn(mutex_);
      if (inits_ > 0) leave(true);
    }
    // The C library goes on with the handlers that are left, and ends with this status.
    if (end_status_ != 0) std::exit(end_status_);
    return;
  }
  // A thread that is in init or finalize may wait there for ever: then nobody is told.
  const std::unique_lock lock = lock_briefly(mutex_);
  if (!lock || inits_ == 0) return;
  job_->ends_early(status);
  bootstrap_->exiting(status);
}

}  // namespace shoal

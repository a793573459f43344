// SPDX-License-Identifier: Apache-2.0
// Set-up, exit, queries: OpenSHMEM 1.6, "Library Setup, Exit, and Query Routines" and "Thread Support".
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "api/define.hpp"
#include "base/error.hpp"
#include "bootstrap/find.hpp"

namespace shoal {
namespace {

constexpr unsigned kWaitToBeEndedUs = 500'000;

/// What stands in for a job before init and after finalize.
class NoJob final : public Fatal {
 public:
  constexpr NoJob() = default;
  [[noreturn]] void fatal(const char* call, const std::string& what) const noexcept override {
    print_line(-1, std::string(call) + ": " + what);
    std::_Exit(1);
  }
};

constinit const NoJob no_job;
const Domain kNoDomain{0, 0, nullptr, nullptr, {}, &no_job};
constinit const Context kNoContext(kNoDomain);

/// The life of the job in this process. Guarded by its mutex: init and finalize may come from any thread, one at a time.
class Life final {
 public:
  /// @return 0, or a Code. Counts calls; the first starts the job.
  int init(const char* call, int requested, int* provided);
  void finalize();
  /// Like finalize, for a program that ends by returning from main or by exit(0) without it.
  void end_of_program(int status);
  int initialized() const noexcept { return inits_ > 0 ? 1 : 0; }
  int thread_level() const noexcept { return thread_level_; }

 private:
  void start();
  int report(const char* call, Code code, const char* what);
  void leave(bool program_ends);
  void stop(bool program_ends);

  std::mutex mutex_;
  int inits_ = 0;
  int thread_level_ = SHMEM_THREAD_SINGLE;
  bool watches_exit_ = false;
  bool in_job_ = false;  // of several PEs, joined or joining
  pid_t pid_ = 0;  // a forked child is no PE: it must leave the job alone
  std::unique_ptr<Job> job_;
  std::unique_ptr<StatusMapping> status_;
};

Life& life() {
  static Life* const instance = new Life;  // never destroyed: exit handlers of the program may still call the library
  return *instance;
}

void print_options(const Job& job) {
  std::string table = strf("Shoal %s, OpenSHMEM %d.%d", SHOAL_VERSION, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
  if (job.options().print_info)
    for (const OptionRow& row : describe_options([](const char* name) { return static_cast<const char*>(std::getenv(name)); }))
      table += strf("\n  %-22s %-12s (%s) %s", row.name.c_str(), row.value.c_str(), row.source.c_str(), row.help.c_str());
  print_line(-1, table);
}

void Life::start() {
  const auto environment = [](const char* name) { return static_cast<const char*>(std::getenv(name)); };
  JobSetup setup;
  setup.options = Options::from(environment);
  setup.bootstrap = find_bootstrap(environment);
  const int me = setup.bootstrap->rank();
  in_job_ = setup.bootstrap->size() > 1;
  status_ = std::make_unique<StatusMapping>(StatusMapping::open(environment, setup.bootstrap->size()));
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
    watches_exit_ = ::on_exit([](int status, void*) { life().end_of_program(status); }, nullptr) == 0;
  }
}

/// @return the code
int Life::report(const char* call, Code code, const char* what) {
  // When another PE died, its death is the news, not that this one misses it: the launcher says so and ends this process,
  // which takes it a few milliseconds.
  if (in_job_ && code != Code::invalid_option) ::usleep(kWaitToBeEndedUs);
  print_line(-1, strf("%s: %s", call, what));
  return static_cast<int>(code);
}

int Life::init(const char* call, int requested, int* provided) {
  const std::lock_guard guard(mutex_);
  if (inits_ > 0 && pid_ == ::getpid()) {
    ++inits_;
  } else {
    try {
      start();
    } catch (const Error& error) {
      return report(call, error.code(), error.what());
    } catch (const std::exception& error) {
      return report(call, Code::system, error.what());
    }
    inits_ = 1;
    thread_level_ = requested;
  }
  if (provided != nullptr) *provided = thread_level_;
  return 0;
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
    report("shmem_finalize", Code::peer, error.what());
    std::_Exit(1);
  }
}

void Life::finalize() {
  const std::lock_guard guard(mutex_);
  if (inits_ == 0 || pid_ != ::getpid()) return;
  if (inits_ == 1)
    leave(false);
  else
    --inits_;
}

void Life::end_of_program(int status) {
  const std::lock_guard guard(mutex_);
  if (status == 0 && inits_ != 0 && pid_ == ::getpid()) leave(true);
}

/// For the forms that cannot report a failure.
void init_or_exit(const char* call) {
  if (life().init(call, SHMEM_THREAD_SINGLE, nullptr) != 0) {
    std::fflush(nullptr);
    std::_Exit(1);
  }
}

}  // namespace

constinit Current current{&kNoContext, nullptr};

}  // namespace shoal

using namespace shoal;

SHOAL_API(void, init, (void)) { init_or_exit("shmem_init"); }
SHOAL_API(void, finalize, (void)) { life().finalize(); }
SHOAL_API_LEGACY(void, start_pes, (int)) {
  if (!life().initialized()) init_or_exit("start_pes");
}

SHOAL_API(int, init_thread, (int requested, int* provided)) {
  if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE) {
    print_line(-1, strf("shmem_init_thread: thread level %d is none of SHMEM_THREAD_SINGLE, FUNNELED, SERIALIZED, MULTIPLE", requested));
    return static_cast<int>(Code::invalid_argument);
  }
  return life().init("shmem_init_thread", requested, provided);
}

SHOAL_API(void, query_thread, (int* provided)) {
  world().require("shmem_query_thread");
  *provided = life().thread_level();
}

SHOAL_API(void, query_initialized, (int* initialized)) { *initialized = life().initialized(); }

SHOAL_API(void, global_exit, (int status)) { job("shmem_global_exit").global_exit(status); }

SHOAL_API(int, my_pe, (void)) {
  world().require("shmem_my_pe");
  return world().domain().me;
}

SHOAL_API(int, n_pes, (void)) {
  world().require("shmem_n_pes");
  return world().n_pes();
}

SHOAL_API(int, pe_accessible, (int pe)) {
  world().require("shmem_pe_accessible");
  return pe >= 0 && pe < world().n_pes() ? 1 : 0;
}

namespace {

/// Where `address` of a world PE is mapped here, or null when it isn't symmetric or not reachable.
void* peer_address(const void* address, int pe, const char* call) noexcept {
  const Job& here = job(call);
  if (pe < 0 || pe >= here.n_pes()) return nullptr;
  const Segment* segment = here.segments().find(reinterpret_cast<std::uintptr_t>(address), 1);
  if (segment == nullptr) return nullptr;
  char* peer = segment->peers[static_cast<std::size_t>(pe)];
  return peer == nullptr ? nullptr : peer + (reinterpret_cast<std::uintptr_t>(address) - segment->base);
}

}  // namespace

SHOAL_API(int, addr_accessible, (const void* addr, int pe)) {
  return peer_address(addr, pe, "shmem_addr_accessible") != nullptr ? 1 : 0;
}

SHOAL_API(void*, ptr, (const void* dest, int pe)) { return peer_address(dest, pe, "shmem_ptr"); }

SHOAL_API(void*, team_ptr, (shmem_team_t team, const void* dest, int pe)) {
  const Team* members = team_of(team, "shmem_team_ptr");
  if (members == nullptr || pe < 0 || pe >= members->size()) return nullptr;
  return peer_address(dest, members->world_pe(pe), "shmem_team_ptr");
}

SHOAL_API(void, info_get_version, (int* major, int* minor)) {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}

SHOAL_API(void, info_get_name, (char* name)) {
  static_assert(sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN);
  std::strcpy(name, SHMEM_VENDOR_STRING);
}

SHOAL_API(void, pcontrol, (int, ...)) {}

SHOAL_API_LEGACY(int, _my_pe, (void)) { return pshmem_my_pe(); }
SHOAL_API_LEGACY(int, _num_pes, (void)) { return pshmem_n_pes(); }

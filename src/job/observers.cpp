// SPDX-License-Identifier: Apache-2.0
#include "job/observers.hpp"

#include <fcntl.h>
#include <shmem/constants.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/error.hpp"
#include "base/file_size_signal.hpp"
#include "base/log.hpp"
#include "base/trace_file.hpp"
#include "base/unique_fd.hpp"
#include "observe/checker.hpp"
#include "topology/topology.hpp"

namespace shoal {
namespace {

/// What SHOAL_PROFILE asks for: "" for nothing, "1" for text, else the name of a page to write besides.
std::string profile_wanted(const std::string& option, int session) {
  if (option.empty() || option == "0") return "";
  if (option == "1") return "1";
  if (option.size() > 5 && option.ends_with(".html"))
    return session_file(std::filesystem::absolute(option).string(), session);
  throw Error(Code::invalid_option,
              strf("SHOAL_PROFILE=\"%s\" is not valid: expected 0, 1 or the name of a page that ends with .html",
                   option.c_str()));
}

std::string trace_name(const std::string& option, int session) {
  const std::string wanted = trace_wanted(option);
  return wanted.empty() ? "" : session_file(std::filesystem::absolute(wanted).string(), session);
}

/// Found out at init, not after the whole run: only the attempt tells. What is not there yet is not made, since another
/// job may be writing it just now: a file beside it, or where a link leads, tells as much.
void check_page(const std::string& page) {
  UniqueFd fd(::open(page.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) {
    std::filesystem::path at(page);
    while (std::filesystem::is_symlink(at)) at = at.parent_path() / std::filesystem::read_symlink(at);
    std::string beside = at.parent_path() / ".shoal-XXXXXX";
    fd.reset(::mkostemp(beside.data(), O_CLOEXEC));
    if (fd) ::unlink(beside.c_str());
  }
  if (!fd)
    throw Error(Code::invalid_option,
                strf("SHOAL_PROFILE=\"%s\" is not valid: expected a page that can be written, but %s: %s", page.c_str(),
                     page.c_str(), std::strerror(errno)));
}

void write_file(const std::string& name, const std::string& text) {
  const NoFileSizeSignal quiet;
  std::FILE* file = std::fopen(name.c_str(), "we");
  const bool failed = file == nullptr || std::fputs(text.c_str(), file) < 0;
  if ((file != nullptr && std::fclose(file) != 0) || failed) throw_errno("cannot write " + name);
}

}  // namespace

void JobObservers::check(const Options& options) {
  profile_wanted(options.profile, 1);
  trace_wanted(options.trace);
  check_range("SHOAL_RACE_STATUS", options.race_status, 0, 255);
  check_range("SHOAL_RACE_PROGRESS", options.race_progress, 0, 1'000'000);
}

JobObservers::JobObservers(const Options& options, const Domain& domain, StatusMapping* status, int thread_level,
                           int session, Bootstrap& bootstrap)
    : me_(domain.me),
      n_pes_(domain.n_pes),
      session_(static_cast<std::uint64_t>(session)),
      counters_(status == nullptr ? nullptr : &status->record(me_)->counters),
      segments_(*domain.segments),
      race_{static_cast<int>(options.race_status), static_cast<std::uint64_t>(options.race_progress) * 1'000'000'000},
      profile_(profile_wanted(options.profile, session)),
      trace_(trace_name(options.trace, session)) {
  // The search for races wants every call; so does the check that one thread at a time calls.
  const bool all_calls = options.race || (options.check && thread_level == SHMEM_THREAD_SERIALIZED);
  if (!all_calls && (options.check || !profile_.empty() || !trace_.empty()))
    shortcuts_ = std::make_unique<Shortcuts>(segments_, me_, Watching{options.check, !trace_.empty()});
  // First, so that the meetings of the check are in the time of the calls that it checks: there, too, they wait.
  if (!profile_.empty() || !trace_.empty()) add_recorder(domain, bootstrap);
  if (options.check)
    chain_.add(std::make_unique<Checker>(domain, status == nullptr ? nullptr : status->record(0), thread_level,
                                         shortcuts_.get()));
  if (options.race) {
    auto races = std::make_unique<RaceRecorder>(domain);
    races_ = races.get();
    chain_.add(std::move(races));
  }
}

/// PE 0's first: where another job writes that trace, nobody else has begun.
std::unique_ptr<TraceWriter> JobObservers::make_trace(Bootstrap& bootstrap) const {
  if (trace_.empty()) return nullptr;
  const auto make = [&] {
    auto writer = std::make_unique<TraceWriter>(trace_, me_, n_pes_, read_topology().boot_id);
    if (counters_ != nullptr) counters_->traces.store(session_, std::memory_order_relaxed);
    return writer;
  };
  auto writer = me_ == 0 ? make() : nullptr;
  bootstrap.barrier();
  return me_ == 0 ? std::move(writer) : make();
}

void JobObservers::add_recorder(const Domain& domain, Bootstrap& bootstrap) {
  if (me_ == 0 && profile_.ends_with(".html")) check_page(profile_);
  auto recorder = std::make_unique<Recorder>(domain, counters_, make_trace(bootstrap), shortcuts_.get());
  recorder_ = recorder.get();
  chain_.add(std::move(recorder));
}

void JobObservers::met() noexcept {
  if (recorder_ != nullptr && recorder_->trace() != nullptr) recorder_->trace()->met();
}

void JobObservers::stop() noexcept {
  if (races_ != nullptr) races_->finish();
  if (recorder_ != nullptr && recorder_->trace() != nullptr) recorder_->trace()->finish();
}

void JobObservers::ends_early(int status) const noexcept {
  if (races_ == nullptr && profile_.empty()) return;
  print_line(
      me_, strf("%s%s%s: no report, since this PE ends the job, with status %d, before all have called shmem_finalize",
                races_ != nullptr ? "SHOAL_RACE" : "", races_ != nullptr && !profile_.empty() ? " and " : "",
                !profile_.empty() ? "SHOAL_PROFILE" : "", status));
}

void JobObservers::report(Bootstrap& bootstrap, const Callback<const char*>& doing) {
  if (races_ != nullptr) found_races_ = report_races(bootstrap, races_->log(), segments_, race_, doing) != 0;
  if (recorder_ == nullptr) return;
  if (!profile_.empty()) report_profile(bootstrap);
  if (me_ == 0 && !trace_.empty()) report_trace(bootstrap);
}

void JobObservers::report_trace(Bootstrap& bootstrap) {
  int joined = 0;
  try {
    joined = merge_trace(trace_, n_pes_, TraceWriters::done);
  } catch (const Error&) {
    if (!bootstrap.launched()) throw;
    return;  // the launcher tries again, and says so
  }
  if (joined == 0)  // not even this PE's
    throw Error(Code::system, strf("the trace %s is lost: its pieces %s.pe-* were removed while the job ran",
                                   trace_.c_str(), trace_.c_str()));
  if (counters_ != nullptr && counters_->joined.load(std::memory_order_relaxed) + 1 == session_)
    counters_->joined.store(session_, std::memory_order_relaxed);
  print_line(-1, trace_told(trace_, joined));
}

void JobObservers::report_profile(Bootstrap& bootstrap) {
  const std::string mine = recorder_->profile().pack();
  const Gathered packed = bootstrap.allgather(std::as_bytes(std::span(mine)));
  if (me_ != 0) return;
  Profile all(n_pes_);
  for (std::size_t pe = 0; pe < packed.size(); ++pe) all.add(std::string(packed.text(pe)));
  print_line(-1, all.as_text());
  if (profile_ == "1") return;
  write_file(profile_, all.as_html("Shoal profile"));
  print_line(-1, "profile written to " + profile_);
}

}  // namespace shoal

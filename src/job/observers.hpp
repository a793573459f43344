// SPDX-License-Identifier: Apache-2.0
// Who watches the calls of a job, by its options: SHOAL_CHECK, SHOAL_RACE, SHOAL_PROFILE, SHOAL_TRACE.
#pragma once
#include <string>

#include "base/callback.hpp"
#include "base/options.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/status_mapping.hpp"
#include "job/race_report.hpp"
#include "observe/chain.hpp"
#include "observe/race_log.hpp"
#include "observe/recorder.hpp"

namespace shoal {

class JobObservers final {
 public:
  /// Options that this class reads. @throws Error{invalid_option}
  static void check(const Options& options);

  /// @param domain, status  outlive this; status may be null
  /// @param session  as Greetings has it: each has files of its own
  /// Collective where there is a trace. @throws Error
  JobObservers(const Options& options, const Domain& domain, StatusMapping* status, int thread_level, int session,
               Bootstrap& bootstrap);
  /// Null: nobody watches, and nothing is paid.
  Observer* front() noexcept { return chain_.front(); }
  /// What calls of which there is nothing to tell may take; null: every call is to be told.
  Shortcuts* shortcuts() noexcept { return shortcuts_.get(); }
  /// All PEs meet about now.
  void met() noexcept;
  /// A load or store of the program's own, for the search for races. @param site  where in the program
  void access(const void* address, std::size_t bytes, bool writes, std::uintptr_t site) noexcept {
    if (races_ != nullptr) races_->access(address, bytes, writes, site);
  }
  /// After this PE's last call.
  void stop() noexcept;
  /// After everyone's: prints and writes what was recorded. Collective. @throws Error
  /// @param doing  told what it does where that may take long
  void report(Bootstrap& bootstrap, const Callback<const char*>& doing);
  /// The program ends with `status` instead of all that: says what is lost.
  void ends_early(int status) const noexcept;
  /// After report: with which status the program is to end where it would with 0.
  int end_status() const noexcept { return found_races_ ? race_.status : 0; }

 private:
  void add_recorder(const Domain& domain, Bootstrap& bootstrap);
  std::unique_ptr<TraceWriter> make_trace(Bootstrap& bootstrap) const;
  void report_trace(Bootstrap& bootstrap);
  void report_profile(Bootstrap& bootstrap);
  const int me_, n_pes_;
  const std::uint64_t session_;
  Counters* const counters_;  // this PE's, for the launcher; may be null
  const SegmentTable& segments_;
  const RaceOptions race_;
  bool found_races_ = false;              // on PE 0
  const std::string profile_, trace_;     // files by their whole names: the program may change its folder
  std::unique_ptr<Shortcuts> shortcuts_;  // outlives the observers
  ObserverChain chain_;
  Recorder* recorder_ = nullptr;   // one of the chain's
  RaceRecorder* races_ = nullptr;  // another
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// What a job over several nodes needs besides: what the other launchers say, and when there is nothing more to say to
// them.
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/state_report.hpp"
#include "job.hpp"

namespace shoal::run {

using store::Type;

void Job::read_others() {
  others_->progress();
  while (const auto frame = others_->next()) {
    try {
      on_frame(*frame);
    } catch (const Error& error) {
      tell(std::string("node 0 broke the rules of the meeting: ") + error.what());
      end_here(1);
    }
  }
  const std::string failure = others_->failure();
  if (failure.empty() || others_->uplink_fd() < 0) return;
  others_->part();
  if (ending() || finished_) return;
  tell(failure + "; the PEs of this node have been ended");
  interrupted_by_ = 0;
  end_here(1);
}

void Job::on_frame(const store::Frame& frame) {
  std::string text;
  switch (frame.type) {
    case Type::gathered:
    case Type::released:
    case Type::goodbye:
      server_.answer(asked_, frame.payload);
      while (const auto event = server_.next_event()) on_event(*event);
      for (int pe = 0; pe < settings_.npes; ++pe) write_channel(pe);
      return;
    case Type::end: {
      const auto fixed =
          store::take_fixed<std::array<std::int32_t, 2>>(frame, text);  // the status, and whether to print
      others_->part();
      if (ending()) return;
      if (timed_out_) {
        conclude();  // the table is for the same reason
      } else if (text.starts_with("shoal: ")) {
        print(text);  // a PE's own words
      } else if (!text.empty()) {
        tell(text);
      }
      interrupted_by_ = 0;
      return end_here(fixed[0]);
    }
    case Type::finished:
      status_ = store::take_fixed<std::int32_t>(frame, text);
      finished_ = true;
      return others_->part();
    case Type::inquired: {
      const auto asker = store::take_fixed<std::uint32_t>(frame, text);
      std::vector<PeState> here;
      for (int pe = 0; pe < settings_.npes; ++pe) here.push_back(state_of(pe));
      return others_->report(asker, pack_states(first_, here, now_ns()));
    }
    case Type::reported: {
      const auto node = store::take_fixed<std::uint32_t>(frame, text);
      try {
        on_report(node, text);
      } catch (const Error&) {
        // Then that node has not said what its PEs do.
      }
      return;
    }
    default: throw Error(Code::launcher, strf("malformed frame: type %u", static_cast<unsigned>(frame.type)));
  }
}

/// Nothing of the job is left here, and nobody elsewhere waits for a word from here.
bool Job::over() {
  if (running_ > 0 || children_left_ || (!ending() && any_session())) return false;
  return others_ == nullptr || others_over();
}

bool Job::others_over() {
  if (!ending() && !told_done_) {
    told_done_ = true;
    if (interrupted_by_ != 0 && status_ != 0)
      begin_end(status_, interrupted_text());
    else
      others_->done(status_);
  }
  return (ending() || finished_) && others_->parted();
}

/// Asks all nodes what their PEs do: for a table with this title, or, "", to look for a standstill.
void Job::inquire(const std::string& title) {
  if (inquiry_.asked_ns != 0 && (title.empty() || !inquiry_.title.empty())) return;  // it is on its way
  inquiry_ = {};
  inquiry_.asked_ns = now_ns();
  inquiry_.title = title;
  inquiry_.told.resize(static_cast<std::size_t>(total_), PeState{.status = {}, .known = false});
  inquiry_.answered.resize(static_cast<std::size_t>(settings_.nnodes));
  inquiry_.answered[static_cast<std::size_t>(settings_.node_rank)] = true;
  unanswered_.resize(static_cast<std::size_t>(settings_.nnodes));
  for (int& count : unanswered_) ++count;
  others_->inquire();
}

void Job::on_report(std::uint32_t node, const std::string& bytes) {
  if (node >= unanswered_.size() || unanswered_[node] == 0 || --unanswered_[node] != 0)
    return;  // to an earlier question
  StateReport report = unpack_states(bytes, total_);
  const Meeting::Member& member = others_->meeting().members[node];
  if (inquiry_.asked_ns == 0 || report.first != member.first ||
      report.pes.size() != static_cast<std::size_t>(member.pes))
    return;
  // Always by the first difference of the clocks, so that what is the same remains so.
  ahead_ns_.resize(static_cast<std::size_t>(settings_.nnodes));
  auto& ahead = ahead_ns_[node];
  if (!ahead) ahead = static_cast<std::int64_t>(now_ns() - report.now_ns);
  for (std::size_t i = 0; i < report.pes.size(); ++i) {
    report.pes[i].status.since_ns += static_cast<std::uint64_t>(*ahead);
    inquiry_.told[static_cast<std::size_t>(report.first) + i] = std::move(report.pes[i]);
  }
  inquiry_.answered[node] = true;
}

void Job::judge_inquiry() {
  if (inquiry_.asked_ns == 0) return;
  const bool all = std::find(inquiry_.answered.begin(), inquiry_.answered.end(), false) == inquiry_.answered.end();
  if (all || now_ns() >= inquiry_.asked_ns + kReportNs) conclude();
}

/// With what has been told.
void Job::conclude() {
  if (inquiry_.asked_ns == 0) return;
  const std::vector<PeState> all = states();
  const Inquiry inquiry = std::exchange(inquiry_, {});
  if (inquiry.title.empty()) {
    if (!ending()) tell_standstill(all);
    return;
  }
  tell(inquiry.title);
  tell_lines(table(all));
  for (std::size_t node = 0; node < inquiry.answered.size(); ++node)
    if (!inquiry.answered[node])
      tell(strf("node %zu (%s) did not say what its PEs do", node, others_->meeting().members[node].host.c_str()));
}

/// Whether every PE here waits in a call, or has finished, and has for a while.
bool Job::all_wait() const {
  const std::uint64_t now = now_ns();
  for (int pe = 0; pe < settings_.npes; ++pe) {
    const PeState state = state_of(pe);
    const bool done = !state.ended.empty() || state.status.phase == Phase::left;
    const Phase phase = state.status.phase;
    const bool waits = phase == Phase::waiting || phase == Phase::leaving || phase == Phase::closing;
    if (!done && !(waits && now >= state.status.since_ns + kStandstillNs)) return false;
  }
  return true;
}

/// When the time is up, a table says what all PEs are doing; those of other nodes have a moment to answer.
void Job::judge_timeout() {
  const std::uint64_t now = now_ns();
  if (settings_.timeout_s <= 0 || finished_ ||
      now < started_ns_ + static_cast<std::uint64_t>(settings_.timeout_s * 1e9))
    return;
  const std::string text = strf("the job did not end within %g s; its PEs have been ended.", settings_.timeout_s);
  if (!std::exchange(timed_out_, true)) {
    if (!inquiry_.title.empty()) tell(text);  // a table is on its way
    print_table(text + " They were:");
  }
  if (inquiry_.asked_ns != 0) return;
  interrupted_by_ = 0;
  begin_end(kTimedOut, text);
}

}  // namespace shoal::run

// SPDX-License-Identifier: Apache-2.0
// What a job over several nodes needs besides: what the other launchers say, and when there is nothing more to say to
// them.
#include <sys/socket.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
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
      if (inquired_ns_ != 0) {
        // The table was for the same reason.
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
    case Type::inquired: return others_->report(store::take_fixed<std::uint32_t>(frame, text), table());
    case Type::reported:
      store::take_fixed<std::uint32_t>(frame, text);
      ++reports_;
      return tell_lines(text);
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

/// When the time is up, a table says what all PEs are doing; those of other nodes have a moment to answer.
void Job::judge_timeout() {
  const std::uint64_t now = now_ns();
  if (settings_.timeout_s <= 0 || finished_ ||
      now < started_ns_ + static_cast<std::uint64_t>(settings_.timeout_s * 1e9))
    return;
  const std::string text = strf("the job did not end within %g s; its PEs have been ended.", settings_.timeout_s);
  if (inquired_ns_ == 0) {
    inquired_ns_ = now;
    reports_ = 0;
    print_table(text + " They were:");
  }
  if (others_ != nullptr && reports_ + 1 < settings_.nnodes && now < inquired_ns_ + kReportNs) return;
  interrupted_by_ = 0;
  begin_end(kTimedOut, text);
}

}  // namespace shoal::run

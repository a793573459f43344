// SPDX-License-Identifier: Apache-2.0
#include "base/verdict.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"

namespace shoal {
namespace {

constexpr std::uint64_t kValueAgeNs = 1'000'000'000;  // what is under way between two machines, or in chaos, arrives

bool in_finalize(const Status& status) {
  return status.phase == Phase::leaving || status.phase == Phase::closing || status.phase == Phase::left ||
         (status.phase == Phase::waiting && status.call.starts_with("shmem_finalize"));
}
/// Calls nothing any more, but for what ends the job.
bool has_left(const PeState& pe) { return !pe.ended.empty() || in_finalize(pe.status); }

/// "lock heap + 0x40", of a PE that waits for one.
std::string lock_name(const Status& status) { return status.detail.substr(0, status.detail.rfind(", behind PE ")); }

/// What is known of the whole job at one moment, and what follows from it.
class Inquiry final {
 public:
  Inquiry(const std::vector<PeState>& pes, std::uint64_t now, std::uint64_t least_age_ns)
      : pes_(pes), now_(now), least_age_(least_age_ns), value_age_(least_age_ns) {
    for (int pe = 0; pe < count(); ++pe) find_blockers(pe, blockers_.emplace_back());
  }

  std::vector<std::string> all() {
    stopped();
    missing_in_init();
    different_collectives();
    missing_members(false);
    locks(false);
    circles();
    dead_values();
    if (verdicts_.size() > kMostVerdicts) verdicts_.resize(kMostVerdicts);
    return verdicts_;
  }
  std::vector<std::string> deadlock() {
    // What a thread waits for, another of the same PE may do: of such PEs only the end is certain.
    for (int pe = 0; pe < count(); ++pe)
      if (others_act(pe)) blockers_[static_cast<std::size_t>(pe)].clear();
    different_collectives();
    circles();
    for (int pe = 0; pe < count(); ++pe)
      if (others_act(pe)) find_blockers(pe, blockers_[static_cast<std::size_t>(pe)]);
    missing_members(true);
    locks(true);
    return verdicts_;
  }
  std::vector<std::string> standstill() {
    tells_age_ = false;  // else the same would be another text each time
    value_age_ = std::max(value_age_, kValueAgeNs);
    deadlock();
    if (verdicts_.empty()) dead_values();
    if (verdicts_.size() > kMostVerdicts) verdicts_.resize(kMostVerdicts);
    return verdicts_;
  }

 private:
  int count() const { return static_cast<int>(pes_.size()); }
  const PeState& at(int pe) const { return pes_[static_cast<std::size_t>(pe)]; }
  const Wait& wait(int pe) const { return at(pe).status.wait; }
  bool exists(int pe) const { return pe >= 0 && pe < count(); }  // a record may hold anything
  bool lasts(int pe) const { return lasts(pe, least_age_); }
  bool lasts(int pe, std::uint64_t age) const { return now_ - std::min(now_, at(pe).status.since_ns) >= age; }
  bool in_call(int pe) const {
    const Status& status = at(pe).status;
    return at(pe).known && at(pe).ended.empty() && status.phase == Phase::waiting && status.wait.kind != WaitKind::none;
  }
  /// Not of a PE that is stopped: what it waited for may be there, and it has had no time to see it.
  bool waits(int pe) const { return exists(pe) && in_call(pe) && at(pe).stopped.empty() && lasts(pe); }
  bool waits_as(int pe, WaitKind kind) const { return waits(pe) && wait(pe).kind == kind; }
  bool in_finalize(int pe) const { return shoal::in_finalize(at(pe).status); }
  /// Whether another thread of it may do by a call what this one waits for.
  bool others_act(int pe) const { return at(pe).status.others == Others::act; }
  bool gone(int pe) const { return has_left(at(pe)); }

  bool same_group(int a, int b) const {
    return in_call(a) && in_call(b) && wait(a).kind == WaitKind::meeting && wait(b).kind == WaitKind::meeting &&
           wait(a).group == wait(b).group && at(a).status.members == at(b).status.members;
  }
  bool same_meeting(int a, int b) const {
    return same_group(a, b) && wait(a).meeting == wait(b).meeting && wait(a).offset == wait(b).offset;
  }
  /// Whether somebody in the meeting of `pe` may only not have seen yet that it is over: others have gone on then. Of
  /// those who have gone on from finalize it is known.
  bool may_be_over(int pe) const {
    if (in_finalize(pe)) return false;
    for (int other = 0; other < count(); ++other)
      if (same_meeting(pe, other) && !waits(other)) return true;
    return false;
  }
  /// Whether `other` has been in the meeting of `pe`, and has gone on.
  bool passed(int pe, int other) const {
    if (in_finalize(pe) && (at(other).status.phase == Phase::closing || at(other).status.phase == Phase::left))
      return true;
    return same_group(pe, other) && wait(other).meeting > wait(pe).meeting;
  }

  /// The end of a lock's queue seen from `pe`: who holds it.
  int holder(int pe) const {
    int last = wait(pe).peer;
    for (int steps = 0; steps < count() && waits_as(last, WaitKind::lock) && wait(last).offset == wait(pe).offset;
         ++steps)
      last = wait(last).peer;
    return last;
  }

  /// For whom `pe` waits, as far as that can be told: all of them must act before it goes on.
  void find_blockers(int pe, std::vector<int>& found) const {
    if (!waits(pe)) return;
    const Wait& what = wait(pe);
    if (what.kind == WaitKind::lock && exists(holder(pe))) found.push_back(holder(pe));
    if (what.kind == WaitKind::pair && exists(what.peer) &&
        !(waits_as(what.peer, WaitKind::pair) && wait(what.peer).peer == pe))
      found.push_back(what.peer);
    if (what.kind != WaitKind::meeting || may_be_over(pe)) return;
    for (int other = 0; other < count(); ++other)
      if (at(pe).status.members.has(other) && other != pe && at(other).known && !same_meeting(pe, other) &&
          !passed(pe, other))
        found.push_back(other);
  }

  /// What a PE does that others wait for.
  std::string doing(int pe) const {
    if (!at(pe).known) return "is on another machine";
    if (!at(pe).ended.empty()) return at(pe).ended;
    const Status& status = at(pe).status;
    if (status.phase == Phase::left) return "has finished (shmem_finalize)";
    if (!at(pe).stopped.empty()) return "is " + at(pe).stopped + ", " + describe(status);
    if (status.call == "shmem_finalize at exit")
      return "has left by exit or a return from main, and waits for the others in shmem_finalize";
    if (waits_as(pe, WaitKind::lock)) return strf("is in %s, held by PE %d", status.call.c_str(), holder(pe));
    const std::string text = tells_age_ ? describe(status, now_) : describe(status);
    return text == "computing" ? "is computing, in no call that waits" : "is " + text;
  }
  /// Who is in the meeting that `pe` waits in.
  std::vector<int> present(int pe) const {
    std::vector<int> found;
    for (int other = 0; other < count(); ++other)
      if (other == pe || same_meeting(pe, other)) found.push_back(other);
    return found;
  }
  /// Calls `see` once a meeting, with the first PE in it.
  template <class See>
  void each_meeting(See&& see) const {
    std::set<int> seen;
    for (int pe = 0; pe < count(); ++pe) {
      if (!waits_as(pe, WaitKind::meeting) || seen.contains(pe)) continue;
      for (const int other : present(pe)) seen.insert(other);
      if (!may_be_over(pe)) see(pe);
    }
  }

  /// What only needs to be continued.
  void stopped() {
    bool any_waits = false;
    for (int pe = 0; pe < count(); ++pe) any_waits |= waits(pe) || (at(pe).status.phase == Phase::closing && lasts(pe));
    for (int pe = 0; pe < count() && any_waits; ++pe)
      if (!at(pe).stopped.empty())
        verdicts_.push_back(strf("PE %d is %s: what waits for it goes on once process %d is continued", pe,
                                 at(pe).stopped.c_str(), at(pe).status.pid));
  }

  /// Members of the job who let the others wait in shmem_init.
  void missing_in_init() {
    const auto starts = [&](int pe) {
      return at(pe).known && at(pe).ended.empty() && at(pe).status.phase == Phase::starting &&
             !at(pe).status.call.empty();
    };
    std::vector<int> here;
    for (int pe = 0; pe < count(); ++pe)
      if (starts(pe)) here.push_back(pe);
    if (here.empty() || !lasts(here[0])) return;
    for (int pe = 0; pe < count(); ++pe) {
      if (!at(pe).known || starts(pe) || in_call(pe) || at(pe).status.phase == Phase::running) continue;
      const bool first = at(pe).ended.empty() && at(pe).status.phase == Phase::starting;
      verdicts_.push_back(strf("PE %d never entered the %s that %s %s in: it %s", pe, at(here[0]).status.call.c_str(),
                               list_pes(here).c_str(), here.size() == 1 ? "waits" : "wait",
                               first ? "runs, and has not called it yet" : doing(pe).c_str()));
    }
  }

  void different_collectives() {
    each_meeting([&](int first) {
      std::map<std::string, std::vector<int>> calls;
      for (const int pe : present(first)) calls[in_finalize(pe) ? "shmem_finalize" : at(pe).status.call].push_back(pe);
      if (calls.size() < 2) return;
      std::string text;
      for (const auto& [call, pes] : calls)
        text += strf("%s%s %s in %s", text.empty() ? "" : "; ", list_pes(pes).c_str(), pes.size() == 1 ? "is" : "are",
                     call.c_str());
      verdicts_.push_back("different collectives meet: " + text +
                          "; all members of a team must call the same ones in the same order");
    });
  }

  /// Who lets others wait in a meeting. @param only_gone  only those that never can enter it any more
  void missing_members(bool only_gone) {
    const auto tell = [&](int first, const std::vector<int>& here) {
      const std::string call = in_finalize(first) ? "shmem_finalize" : at(first).status.call;
      for (const int absent : blockers_[static_cast<std::size_t>(first)]) {
        if (only_gone && (!gone(absent) || (in_finalize(first) && in_finalize(absent)))) continue;
        if (in_finalize(first) && waits_for(absent, here)) continue;  // that is told the other way round
        verdicts_.push_back(strf("PE %d %s the %s that %s %s in: it %s", absent,
                                 only_gone ? "can no longer enter" : "never entered", call.c_str(),
                                 list_pes(here).c_str(), here.size() == 1 ? "waits" : "wait", doing(absent).c_str()));
      }
    };
    each_meeting([&](int first) { tell(first, present(first)); });
    for (int pe = 0; pe < count(); ++pe)
      if (waits_as(pe, WaitKind::pair)) tell(pe, {pe});
  }
  bool waits_for(int pe, const std::vector<int>& others) const {
    const auto& blockers = blockers_[static_cast<std::size_t>(pe)];
    return std::any_of(others.begin(), others.end(),
                       [&](int other) { return std::find(blockers.begin(), blockers.end(), other) != blockers.end(); });
  }

  /// Whether it has called finalize, or ended, and what it sent before has arrived: that it has cleared a lock, too.
  bool calls_no_more(int pe) const {
    return !others_act(pe) && gone(pe) && (!at(pe).ended.empty() || waits_as(pe, WaitKind::meeting));
  }
  /// Who holds what others wait for. @param only_gone  only those that never can clear it any more
  void locks(bool only_gone) {
    for (int pe = 0; pe < count(); ++pe) {
      if (!waits_as(pe, WaitKind::lock)) continue;
      const int by = holder(pe);
      if (by != wait(pe).peer || !exists(by)) continue;  // once a lock: for the first in its queue
      const bool never = calls_no_more(by);
      if (never || !only_gone)
        verdicts_.push_back(strf("the %s that PE %d waits for is held by PE %d, which %s%s",
                                 lock_name(at(pe).status).c_str(), pe, by, never ? "can no longer clear it: it " : "",
                                 doing(by).c_str()));
    }
  }

  /// PEs that wait for each other; what waits for one that has left is told as that.
  void circles() {
    std::set<int> told;
    for (int start = 0; start < count(); ++start) {
      std::vector<int> path;
      if (told.contains(start) || !leads_back(start, start, path)) continue;
      std::string text;
      for (std::size_t i = 0; i < path.size(); ++i) {
        const int pe = path[i], next = path[(i + 1) % path.size()];
        told.insert(pe);
        text += strf("%sPE %d is in %s(%s) and waits for PE %d", text.empty() ? "" : "; ", pe,
                     at(pe).status.call.c_str(), at(pe).status.detail.c_str(), next);
      }
      verdicts_.push_back(list_pes(path) + " wait for each other: " + text);
    }
  }
  /// The shortest way from `pe` along blockers to `target`, breadth first.
  bool leads_back(int pe, int target, std::vector<int>& path) const {
    std::map<int, int> from;
    std::vector<int> queue{pe};
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (const int next : blockers_[static_cast<std::size_t>(queue[i])]) {
        if (gone(next)) continue;
        if (next == target) {
          for (int step = queue[i]; step != pe; step = from[step]) path.push_back(step);
          path.push_back(pe);
          std::reverse(path.begin(), path.end());
          return true;
        }
        if (from.emplace(next, queue[i]).second) queue.push_back(next);
      }
    return false;
  }

  /// Values that nobody is left to write: no thread of any PE's, by a call or by itself.
  void dead_values() {
    std::vector<int> waiting;
    for (int pe = 0; pe < count(); ++pe) {
      if (!at(pe).known || !at(pe).stopped.empty() || at(pe).status.others != Others::none || (!waits(pe) && !gone(pe)))
        return;
      // What it has sent before may still be under way.
      if (at(pe).ended.empty() && (at(pe).status.phase == Phase::leaving || !lasts(pe, value_age_))) return;
      if (waits_as(pe, WaitKind::value) || waits_as(pe, WaitKind::semaphore)) waiting.push_back(pe);
    }
    for (const int pe : waiting)
      verdicts_.push_back(
          strf("nobody is left to end PE %d's wait: it is in %s, and all other PEs wait themselves or have finished",
               pe, describe_call(at(pe).status).c_str()));
  }

  const std::vector<PeState>& pes_;
  const std::uint64_t now_, least_age_;
  std::uint64_t value_age_;  // of all waits, before a value counts as one that nobody writes
  bool tells_age_ = true;
  std::vector<std::vector<int>> blockers_;  // by PE
  std::vector<std::string> verdicts_;
};

}  // namespace

std::vector<std::string> explain(const std::vector<PeState>& pes, std::uint64_t now, std::uint64_t least_age_ns) {
  return Inquiry(pes, now, least_age_ns).all();
}

std::vector<std::string> find_deadlock(const std::vector<PeState>& pes, std::uint64_t now, std::uint64_t least_age_ns) {
  return Inquiry(pes, now, least_age_ns).deadlock();
}

std::vector<std::string> find_standstill(const std::vector<PeState>& pes, std::uint64_t now,
                                         std::uint64_t least_age_ns) {
  return Inquiry(pes, now, least_age_ns).standstill();
}

std::vector<std::string> StandstillWatch::look(std::vector<PeState> pes, std::uint64_t now, std::uint64_t least_age_ns,
                                               bool values) {
  constexpr std::uint64_t kLooks = 2;  // the first may have begun before the look before
  seen_.resize(pes.size());
  for (std::size_t pe = 0; pe < pes.size(); ++pe) {
    Status& status = pes[pe].status;
    const bool ended = !pes[pe].ended.empty();
    const Seen before = std::exchange(seen_[pe], {status.since_ns, status.polls, ended});
    const bool as_before = status.since_ns == before.since_ns && ended == before.ended;
    if (status.phase == Phase::waiting && (!as_before || status.polls < before.polls + kLooks))
      pes[pe].stopped = "not judged";
    if (!as_before && has_left(pes[pe])) {  // others may not have seen yet what it did last
      pes[pe].ended.clear();
      status.phase = Phase::running;
    }
  }
  return values ? find_standstill(pes, now, least_age_ns) : find_deadlock(pes, now, least_age_ns);
}

std::string list_pes(const std::vector<int>& pes) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < pes.size();) {
    std::size_t end = i + 1;
    while (end < pes.size() && pes[end] == pes[end - 1] + 1) ++end;
    if (end - i > 2)
      parts.push_back(strf("%d to %d", pes[i], pes[end - 1]));
    else
      for (std::size_t k = i; k < end; ++k) parts.push_back(std::to_string(pes[k]));
    i = end;
  }
  std::string text = pes.size() == 1 ? "PE " : "PEs ";
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

}  // namespace shoal

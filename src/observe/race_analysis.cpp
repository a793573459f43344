// SPDX-License-Identifier: Apache-2.0
#include "observe/race_analysis.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "observe/race_memory.hpp"
#include "observe/waited_bytes.hpp"

namespace shoal {
namespace {

/// Grows as components come up.
class Clock final {
 public:
  std::uint32_t operator[](std::size_t component) const { return component < epochs_.size() ? epochs_[component] : 0; }
  void raise(std::size_t component, std::uint32_t epoch) {
    if (component >= epochs_.size()) epochs_.resize(component + 1);
    epochs_[component] = std::max(epochs_[component], epoch);
  }
  std::size_t size() const noexcept { return epochs_.size(); }

 private:
  std::vector<std::uint32_t> epochs_;
};
/// What is kept of clocks, of which there may be millions: the components that are not 0, in order.
using Kept = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

void join(Clock& to, const Kept& from) {
  for (const auto& [component, epoch] : from) to.raise(component, epoch);
}
void join(Kept& to, const Kept& from) {
  Kept joined;
  auto old = to.begin();
  for (const auto& [component, epoch] : from) {
    while (old != to.end() && old->first < component) joined.push_back(*old++);
    const bool both = old != to.end() && old->first == component;
    joined.emplace_back(component, both ? std::max(epoch, (old++)->second) : epoch);
  }
  joined.insert(joined.end(), old, to.end());
  to = std::move(joined);
}
Kept keep(const Clock& clock) {
  Kept kept;
  for (std::uint32_t component = 0; component < clock.size(); ++component)
    if (clock[component] != 0) kept.emplace_back(component, clock[component]);
  return kept;
}

using Waited = WaitedBytes<Kept>;  // with what is known to whoever sees them

constexpr std::uint64_t kProgress = 64;  // moments

/// What a PE has under way to another one on a context: a component of clocks for each sort. Gets without blocking,
/// and what atomics without blocking bring, no fence orders: they are to nobody.
enum class Sort : std::uint8_t { puts, puts_with_signal, gets };
struct UnderWay {
  std::uint32_t context;
  int target;
  std::uint32_t given = 0;   // the epoch of the last of them
  std::uint32_t fenced = 0;  // and of the last before a fence, or that brings its own signal
  bool looked_at = true;     // since: then the next one has an epoch of its own
};

class Analysis final {
 public:
  explicit Analysis(const std::vector<RaceLog>& logs) : logs_(logs), n_(logs.size()) {
    // A component for each PE's own steps; others come behind them as they are needed.
    for (std::size_t pe = 0; pe < n_; ++pe) {
      clocks_.emplace_back().raise(pe, 1);
      own_ways_.emplace_back();
    }
    stored_.resize(n_);
    find_waited();
  }

  std::vector<Race> run(const Callback<std::uint64_t, std::uint64_t>& progress) {
    // Each call twice: what it releases counts from its begin, what it acquires from its end. Of two at one moment
    // calls end last; loads and stores end before the next call begins.
    std::vector<std::tuple<std::uint64_t, bool, int, std::uint32_t, bool>> moments;
    for (std::size_t pe = 0; pe < n_; ++pe)
      for (std::uint32_t i = 0; i < logs_[pe].events.size(); ++i) {
        const RaceEvent& one = logs_[pe].events[i];
        moments.emplace_back(one.begin_ns, false, static_cast<int>(pe), i, false);
        moments.emplace_back(one.end_ns, kind(one) != CallKind::access, static_cast<int>(pe), i, true);
      }
    std::sort(moments.begin(), moments.end());
    // What a PE with too much to note did after the last of its notes may be what orders the others' later accesses.
    std::uint64_t known_until = UINT64_MAX;
    for (const RaceLog& log : logs_) known_until = std::min(known_until, log.complete_until_ns);
    std::uint64_t done = 0;
    for (const auto& [ns, last, pe, i, is_end] : moments) {
      if (ns >= known_until) break;
      if (done++ % kProgress == 0) progress(done, moments.size());
      is_end ? end(pe, i) : begin(pe, i);
    }
    return races_;
  }

 private:
  const RaceEvent& event(int pe, std::uint32_t i) const { return logs_[static_cast<std::size_t>(pe)].events[i]; }
  static CallKind kind(const RaceEvent& event) { return static_cast<CallKind>(event.kind); }
  Clock& clock(int pe) { return clocks_[static_cast<std::size_t>(pe)]; }
  void step(int pe) { clock(pe).raise(static_cast<std::size_t>(pe), clock(pe)[static_cast<std::size_t>(pe)] + 1); }

  std::size_t component_of(int pe, std::uint32_t context, int target, Sort sort) {
    const auto [found, is_new] = way_of_.emplace(std::tuple(pe, context, target, sort), n_ + ways_.size());
    if (is_new) {
      ways_.push_back({context, target});
      own_ways_[static_cast<std::size_t>(pe)].push_back(found->second);
    }
    return found->second;
  }
  UnderWay& way(std::size_t component) { return ways_[component - n_]; }
  /// Those of a PE and one of its contexts, or every one.
  template <class See>
  void each_way(int pe, std::uint32_t context, See&& see) {
    for (const std::size_t component : own_ways_[static_cast<std::size_t>(pe)])
      if (way(component).context == context || context == RaceEvent::kEveryContext) see(component, way(component));
  }
  /// For one more operation.
  std::uint32_t next_epoch(UnderWay& way) const {
    if (std::exchange(way.looked_at, false)) ++way.given;
    return way.given;
  }
  bool valid(int pe) const { return pe >= 0 && static_cast<std::size_t>(pe) < n_; }

  /// The bytes from each start to each end.
  template <class See>
  static void each_block(const RaceRange& range, See&& see) {
    const std::uint64_t block = range.block == 0 ? range.bytes : range.block;
    std::uint32_t left = kMostRaceBlocks;
    for (std::uint64_t done = 0, at = range.offset; done < range.bytes && left > 0;
         done += block, at += static_cast<std::uint64_t>(range.stride), --left)
      see(at, at + block);
  }
  /// Those that somebody waits on, or changes by atomics: exactly these, for what lies beside a flag is data.
  void find_waited() {
    const auto add = [&](int pe, const RaceRange& range) {
      waited_.add(pe, range.segment, range.offset, range.offset + range.bytes);
    };
    for (std::size_t pe = 0; pe < n_; ++pe)
      for (const RaceEvent& one : logs_[pe].events) {
        if (kind(one) == CallKind::wait || kind(one) == CallKind::test) add(static_cast<int>(pe), one.local);
        if (kind(one) == CallKind::signal || kind(one) == CallKind::atomic) add(one.pe, one.remote);
      }
  }

  void release(int pe, Kept& to) {
    join(to, keep(clock(pe)));
    step(pe);
  }

  void complete(int pe, std::uint32_t context) {
    each_way(pe, context, [&](std::size_t component, UnderWay& way) {
      clock(pe).raise(component, way.given);
      way.looked_at = true;
    });
  }
  void fence(int pe, std::uint32_t context) {
    each_way(pe, context, [](std::size_t, UnderWay& way) {
      if (way.target < 0) return;
      way.fenced = way.given;
      way.looked_at = true;
    });
  }

  /// What somebody may rely on who sees a word that `pe` changes at `target` on that context.
  Kept visible_at(int pe, std::uint32_t context, int target) {
    Clock what = clock(pe);
    each_way(pe, context, [&](std::size_t component, const UnderWay& way) {
      if (way.target == target) what.raise(component, way.fenced);
    });
    return keep(what);
  }

  void access(int pe, std::uint32_t i, int target, const RaceRange& range, bool writes, std::size_t component,
              std::uint32_t epoch, bool unfinished = false) {
    const Clock& seen = clock(pe);
    const RaceMemory::Access one{{pe, i, writes}, place_of(pe, event(pe, i)), component, epoch, unfinished};
    const auto ordered = [&](const RaceMemory::Access& other) { return seen[other.component] >= other.epoch; };
    const auto meets = [&](const RaceMemory::Access& other, std::uint64_t at) {
      if (other.who.pe != pe || (other.unfinished && other.who.event != i))
        report(other, one, target, range.segment, at);
    };
    each_block(range, [&](std::uint64_t begin, std::uint64_t end) {
      waited_.look(target, range.segment, begin, end, [&](std::uint64_t from, std::uint64_t to, const Kept&) {
        memory_.add(target, range.segment, begin, from, one, ordered, meets);
        begin = to;
      });
      memory_.add(target, range.segment, begin, end, one, ordered, meets);
    });
  }
  /// Of what is not done before a quiet: this PE's own later accesses may race with it.
  void unfinished_access(int pe, std::uint32_t i, int target, const RaceRange& range, bool writes) {
    const std::size_t component = component_of(pe, event(pe, i).context, -1, Sort::gets);
    access(pe, i, target, range, writes, component, next_epoch(way(component)), true);
  }
  void own_access(int pe, std::uint32_t i, int target, const RaceRange& range, bool writes) {
    const auto self = static_cast<std::size_t>(pe);
    access(pe, i, target, range, writes, self, clock(pe)[self]);
  }

  /// A number for the place in the program, and the call there.
  std::uint32_t place_of(int pe, const RaceEvent& one) {
    const auto [found, is_new] = place_of_site_.emplace(std::tuple(pe, one.site, one.name), 0);
    if (!is_new) return found->second;
    const RaceLog& log = logs_[static_cast<std::size_t>(pe)];
    found->second = places_.emplace(std::pair(log.places[one.site], log.names[one.name]), places_.size()).first->second;
    return found->second;
  }

  void report(const RaceMemory::Access& first, const RaceMemory::Access& second, int target, std::uint32_t segment,
              std::uint64_t at) {
    if (!told_.insert(std::minmax(first.place, second.place)).second) return;
    races_.push_back({first.who, second.who, target, segment, at});
  }

  void begin(int pe, std::uint32_t i) {
    const RaceEvent& one = event(pe, i);
    if (kind(one) != CallKind::access && std::exchange(stored_[static_cast<std::size_t>(pe)], 0) != 0) step(pe);
    if (one.completes != 0) complete(pe, one.context);
    switch (kind(one)) {
      case CallKind::put: return begin_put(pe, i, one);
      case CallKind::get:
        if (!valid(one.pe)) return;
        if (one.unfinished != 0) {
          unfinished_access(pe, i, one.pe, one.remote, false);
          return unfinished_access(pe, i, pe, one.local, true);
        }
        own_access(pe, i, one.pe, one.remote, false);
        return own_access(pe, i, pe, one.local, true);
      case CallKind::access:
        // A peer may wait for what is stored by an address from shmem_ptr. Which of the accesses that count as one it
        // came behind isn't known: it releases all of them.
        if (valid(one.pe) && one.pe != pe && one.writes != 0 && release_waited(pe, one))
          stored_[static_cast<std::size_t>(pe)] = 1;
        return;
      case CallKind::atomic:
        if (one.unfinished != 0) {
          unfinished_access(pe, i, pe, one.local, true);
          unfinished_[{pe, one.context}].push_back(i);
        }
        [[fallthrough]];
      case CallKind::signal:
        if (valid(one.pe) && one.writes != 0 && release_waited(pe, one)) step(pe);
        return;
      case CallKind::fence: return fence(pe, one.context);
      case CallKind::local:
      case CallKind::quiet:
      case CallKind::wait:
      case CallKind::test:
      case CallKind::lock: return;
      case CallKind::unlock: return release(pe, locks_[{one.local.segment, one.local.offset}]);
      case CallKind::collective:
        // Others may leave before this PE has done with its source and dest.
        enter_meeting(pe, one);
        own_access(pe, i, pe, one.local, false);
        return own_access(pe, i, pe, one.remote, true);
      case CallKind::meeting:
      case CallKind::memory: return enter_meeting(pe, one);
    }
  }

  void begin_put(int pe, std::uint32_t i, const RaceEvent& one) {
    if (!valid(one.pe)) return;
    const bool with_signal = logs_[static_cast<std::size_t>(pe)].names[one.name].find("signal") != std::string::npos;
    const std::size_t component =
        component_of(pe, one.context, one.pe, with_signal ? Sort::puts_with_signal : Sort::puts);
    const std::uint32_t epoch = next_epoch(way(component));
    if (one.unfinished != 0)  // who knows that the data are there, knows that they have been read
      access(pe, i, pe, one.local, false, component, epoch, true);
    else
      own_access(pe, i, pe, one.local, false);
    access(pe, i, one.pe, one.remote, true, component, epoch);
    if (with_signal) {  // its own signal, and those after it, bring it along
      way(component).fenced = way(component).given;
      way(component).looked_at = true;
    }
    if (release_waited(pe, one)) step(pe);
  }

  /// @return whether there was anything to release to: this PE takes a step then
  bool release_waited(int pe, const RaceEvent& one) {
    bool any = false;
    Kept what;
    each_block(one.remote, [&](std::uint64_t begin, std::uint64_t end) {
      waited_.change(one.pe, one.remote.segment, begin, end, [&](Kept& known) {
        if (!std::exchange(any, true)) what = visible_at(pe, one.context, one.pe);
        join(known, what);
      });
    });
    return any;
  }
  void acquire_waited(int pe, int target, const RaceRange& range) {
    each_block(range, [&](std::uint64_t begin, std::uint64_t end) {
      waited_.look(target, range.segment, begin, end,
                   [&](std::uint64_t, std::uint64_t, const Kept& known) { join(clock(pe), known); });
    });
  }

  void end(int pe, std::uint32_t i) {
    const RaceEvent& one = event(pe, i);
    if (one.completes != 0) {
      for (const std::uint32_t atomic : std::exchange(unfinished_[{pe, one.context}], {}))
        if (valid(event(pe, atomic).pe)) acquire_waited(pe, event(pe, atomic).pe, event(pe, atomic).remote);
    }
    switch (kind(one)) {
      case CallKind::access:
        if (valid(one.pe)) own_access(pe, i, one.pe, one.remote, one.writes != 0);
        return;
      case CallKind::wait:
      case CallKind::test:
        if (one.sees_none == 0) acquire_waited(pe, pe, one.local);
        return;
      case CallKind::atomic:
        if (valid(one.pe) && one.starts_late == 0) acquire_waited(pe, one.pe, one.remote);
        return;
      case CallKind::lock: return join(clock(pe), locks_[{one.local.segment, one.local.offset}]);
      case CallKind::collective:
      case CallKind::meeting:
      case CallKind::memory: return leave_meeting(pe, one);
      default: return;
    }
  }

  /// The group, and how often it has met before.
  using MeetingId = std::pair<RaceGroup, std::uint32_t>;
  struct Meeting {
    std::map<std::size_t, Kept> from;  // by member; 0: all, where each member gets something from all
    std::size_t left = 0;              // members that have gone on
  };
  MeetingId meeting_of(int pe, const RaceEvent& one) const {
    return {logs_[static_cast<std::size_t>(pe)].groups[one.group], one.meeting};
  }
  std::size_t member_of(int pe, const RaceEvent& one) const {
    const std::vector<std::int32_t>& members = logs_[static_cast<std::size_t>(pe)].groups[one.group].members;
    return static_cast<std::size_t>(std::find(members.begin(), members.end(), pe) - members.begin());
  }
  void enter_meeting(int pe, const RaceEvent& one) {
    if (one.group == UINT32_MAX) return;
    const std::size_t member = one.flow == RaceFlow::from_all ? 0 : member_of(pe, one);
    if (one.flow == RaceFlow::from_root && static_cast<std::int64_t>(member) != one.root) return;
    release(pe, meetings_[meeting_of(pe, one)].from[member]);
  }
  void leave_meeting(int pe, const RaceEvent& one) {
    if (one.group == UINT32_MAX) return;
    const auto found = meetings_.try_emplace(meeting_of(pe, one)).first;
    const std::size_t me = one.flow == RaceFlow::from_those_before ? member_of(pe, one) : SIZE_MAX;
    for (const auto& [member, clock_there] : found->second.from)
      if (member < me) join(clock(pe), clock_there);
    if (++found->second.left == found->first.first.members.size()) meetings_.erase(found);
  }

  const std::vector<RaceLog>& logs_;
  const std::size_t n_;
  std::vector<Clock> clocks_;
  std::vector<UnderWay> ways_;  // by component, behind those of the PEs
  std::map<std::tuple<int, std::uint32_t, int, Sort>, std::size_t> way_of_;
  std::vector<std::vector<std::size_t>> own_ways_;                                  // by PE: components
  std::map<std::pair<int, std::uint32_t>, std::vector<std::uint32_t>> unfinished_;  // atomics, by PE and context
  std::vector<char> stored_;  // by PE: its last stores have released something, and its next call takes a step
  Waited waited_;
  RaceMemory memory_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Kept> locks_;
  std::map<MeetingId, Meeting> meetings_;
  std::map<std::pair<std::uint64_t, std::string>, std::uint32_t> places_;
  std::map<std::tuple<int, std::uint32_t, std::uint32_t>, std::uint32_t> place_of_site_;  // by PE, site and name
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;
  std::vector<Race> races_;
};

}  // namespace

std::vector<Race> find_races(const std::vector<RaceLog>& logs, const Callback<std::uint64_t, std::uint64_t>& progress) {
  return Analysis(logs).run(progress);
}

}  // namespace shoal

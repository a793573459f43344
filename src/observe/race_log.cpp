// SPDX-License-Identifier: Apache-2.0
#include "observe/race_log.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "observe/caller.hpp"
#include "team/group.hpp"

namespace shoal {
namespace {

constexpr int kDeepest = 8;
thread_local constinit std::uint64_t began[kDeepest] = {};  // of the calls that this thread is in
struct Depth {
  int calls = 0, collectives = 0;  // these among them
};
thread_local constinit Depth depth;

/// Holds the notes. A signal handler of the program that comes in between has accesses, too: they are let go.
thread_local constinit bool holding = false;
class Hold final {
 public:
  explicit Hold(std::mutex& mutex) : before_(std::exchange(holding, true)), lock_(mutex) {}
  ~Hold() {
    lock_.unlock();
    holding = before_;
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  const bool before_;
  std::unique_lock<std::mutex> lock_;
};

bool names(const char* call, const char* part) noexcept { return std::strstr(call, part) != nullptr; }

/// Whether the effect may come later than the call returns.
bool may_be_late(const Call& call) noexcept {
  if (call.kind == CallKind::put) return true;
  if (call.kind != CallKind::atomic) return false;
  return names(call.name, "_nbi") ||
         (call.writes && names(call.name, "_atomic_") && !names(call.name, "fetch") && !names(call.name, "swap"));
}

/// Whether everything that this PE has put before on the call's context is complete after it.
bool is_quiet(const Call& call) noexcept {
  return call.kind == CallKind::quiet || call.kind == CallKind::unlock || call.kind == CallKind::memory ||
         names(call.name, "barrier") || names(call.name, "aclshmemx_team_") || names(call.name, "sem_post") ||
         names(call.name, "sync_pe");
}

/// Whether the members of a collective wait for each other at all: not where there is nothing to do.
bool has_effect(const Call& call) noexcept {
  const Collective& what = *call.collective;
  if (call.kind == CallKind::memory) return what.dest != nullptr || what.count != 0 || names(call.name, "destroy");
  return what.count != 0 || *what.unit == '\0' || !what.counts_agree || call.kind == CallKind::meeting;
}

/// A wait for a word of another PE is noted by the atomics that it is made of, a batch by its blocks.
bool tells_nothing(const Call& call) noexcept {
  if (call.kind == CallKind::wait || call.kind == CallKind::test) return call.local == nullptr;
  return call.kind == CallKind::local || call.parts;
}

class Writer {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void list(const std::vector<T>& values) {
    add(static_cast<std::uint64_t>(values.size()));
    text_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  std::string text_;
};

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}
  template <class T>
  T take() {
    T value;
    need(sizeof value);
    std::memcpy(&value, text_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  template <class T>
  std::vector<T> list() {
    const auto count = take<std::uint64_t>();
    if (count > text_.size()) need(text_.size() + 1);
    need(count * sizeof(T));
    std::vector<T> values(count);
    if (count != 0) std::memcpy(values.data(), text_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
    return values;
  }

 private:
  void need(std::size_t bytes) const {
    if (bytes > text_.size() - at_) throw Error(Code::peer, "a PE's notes on races are cut short");
  }
  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string RaceLog::pack() const {
  Writer out;
  out.list(events);
  out.add(static_cast<std::uint64_t>(names.size()));
  for (const std::string& name : names) out.list(std::vector<char>(name.begin(), name.end()));
  out.list(sites);
  out.list(places);
  out.add(static_cast<std::uint64_t>(groups.size()));
  for (const RaceGroup& group : groups) {
    out.add(group.kind);
    out.add(group.where);
    out.list(group.members);
  }
  out.add(dropped);
  out.add(complete_until_ns);
  return std::move(out.text_);
}

RaceLog RaceLog::unpack(const std::string& bytes) {
  Reader in(bytes);
  RaceLog log;
  log.events = in.list<RaceEvent>();
  for (auto left = in.take<std::uint64_t>(); left > 0; --left) {
    const auto name = in.list<char>();
    log.names.emplace_back(name.begin(), name.end());
  }
  log.sites = in.list<std::uint64_t>();
  log.places = in.list<std::uint64_t>();
  for (auto left = in.take<std::uint64_t>(); left > 0; --left) {
    RaceGroup& group = log.groups.emplace_back();
    group.kind = in.take<std::uint64_t>();
    group.where = in.take<std::uint64_t>();
    group.members = in.list<std::int32_t>();
  }
  log.dropped = in.take<std::uint64_t>();
  log.complete_until_ns = in.take<std::uint64_t>();
  const auto bad = [&](const RaceEvent& event) {
    return event.name >= log.names.size() || event.site >= log.sites.size() ||
           event.flow > RaceFlow::from_those_before || (event.group != UINT32_MAX && event.group >= log.groups.size());
  };
  if (log.places.size() != log.sites.size() || std::any_of(log.events.begin(), log.events.end(), bad))
    throw Error(Code::peer, "a PE's notes on races make no sense");
  return log;
}

template <class Key>
std::uint32_t RaceRecorder::number_of(std::map<Key, std::uint32_t>& numbers, std::vector<Key>& list, const Key& key) {
  const auto [found, is_new] = numbers.emplace(key, static_cast<std::uint32_t>(list.size()));
  if (is_new) list.push_back(key);
  return found->second;
}

RaceRange RaceRecorder::range_of(const void* address, std::size_t bytes, std::size_t block,
                                 std::ptrdiff_t stride) const noexcept {
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  const Segment* segment = address == nullptr || bytes == 0 ? nullptr : domain_.segments->find(where, 1);
  if (segment == nullptr) return {};
  return {segment->key, stride, where - segment->base, bytes, block};
}

RaceGroup RaceRecorder::group_of(const Group& group) const {
  RaceGroup found{RaceGroup::kTeam, static_cast<std::uint64_t>(group.slot()), {}};
  if (group.psync() != nullptr) {
    const RaceRange psync = range_of(group.psync(), sizeof(long), 0, 0);
    found = {RaceGroup::kActiveSet + psync.segment, psync.offset, {}};
  }
  for (int member = 0; member < group.size(); ++member) found.members.push_back(group.world_pe(member));
  return found;
}

RaceRecorder::RaceRecorder(const Domain& domain) : domain_(domain), accesses_(domain) {
  caller_address();  // loads what it needs before a thread can wait for another that loads something
}

void RaceRecorder::begin(const Call& call) noexcept {
  if (call.collective != nullptr) ++depth.collectives;
  {
    const Hold hold(mutex_);
    take_accesses();
  }
  if (depth.calls < kDeepest) began[depth.calls] = now_ns();
  ++depth.calls;
}

void RaceRecorder::access(const void* address, std::size_t bytes, bool writes, std::uintptr_t site) noexcept {
  if (holding) return;
  const Hold hold(mutex_);
  const bool first = accesses_.empty();
  accesses_.note(reinterpret_cast<std::uintptr_t>(address), bytes, writes, site);
  if (first && !accesses_.empty()) accesses_since_ = now_ns();
}

void RaceRecorder::finish() noexcept {
  {
    const Hold hold(mutex_);
    take_accesses();
  }
  number_places();
}

/// Of all sites that have none yet. It asks the loader, so nothing is held meanwhile, and another thread may do the
/// same.
void RaceRecorder::number_places() {
  std::size_t first;
  std::vector<std::uint64_t> sites;
  {
    const Hold hold(mutex_);
    first = log_.places.size();
    sites.assign(log_.sites.begin() + static_cast<std::ptrdiff_t>(first), log_.sites.end());
  }
  for (std::uint64_t& site : sites) site = number_of_code(site);
  const Hold hold(mutex_);
  for (std::size_t i = 0; i < sites.size(); ++i)
    if (log_.places.size() == first + i) log_.places.push_back(sites[i]);
}

/// They were made after the last call and before the next, and nothing else matters: so they may all count as made now.
/// What waits for one, though, may have gone on before now.
void RaceRecorder::take_accesses() {
  if (accesses_.empty()) return;
  const std::uint64_t now = now_ns();
  for (const PlainAccesses::Range& range : accesses_.take()) {
    RaceEvent event{};
    event.begin_ns = accesses_since_;
    event.end_ns = now;
    event.kind = static_cast<std::uint8_t>(CallKind::access);
    event.writes = range.writes;
    event.pe = range.pe;
    event.remote = {range.segment, 0, range.offset, range.bytes, 0};
    event.group = UINT32_MAX;
    event.context = RaceEvent::kEveryContext;
    add(event, range.writes ? "a store" : "a load", range.site);
  }
}

/// Whether it is one more look at what the last call looked at: then one of them, that lasts until now, tells as much.
bool RaceRecorder::looks_again(const RaceEvent& event) const noexcept {
  if (log_.events.empty()) return false;
  const RaceEvent& last = log_.events.back();
  const auto kind = static_cast<CallKind>(event.kind);
  const bool looks = kind == CallKind::test || (kind == CallKind::atomic && event.writes == 0);
  return looks && last.kind == event.kind && last.writes == event.writes && last.name == event.name &&
         last.site == event.site && last.pe == event.pe && last.remote == event.remote && last.local == event.local &&
         last.context == event.context && last.unfinished == event.unfinished && last.sees_none == event.sees_none;
}

void RaceRecorder::add(RaceEvent& event, const std::string& name, std::uint64_t site) {
  event.name = number_of(name_numbers_, log_.names, name);
  event.site = number_of(site_numbers_, log_.sites, site);
  if (looks_again(event)) {
    log_.events.back().end_ns = event.end_ns;
  } else if (log_.events.size() < kMostEvents) {
    log_.events.push_back(event);
  } else {
    ++log_.dropped;
    log_.complete_until_ns = std::min(log_.complete_until_ns, event.begin_ns);
  }
}

void RaceRecorder::end(const Call& call) noexcept {
  --depth.calls;
  if (call.collective != nullptr) --depth.collectives;
  if (depth.calls < 0 || depth.calls >= kDeepest) return;
  if (depth.collectives > 0 || tells_nothing(call)) return;  // a collective is noted as a whole
  const std::uint64_t site = caller_address();
  bool new_site;
  {
    const Hold hold(mutex_);
    note(call, site);
    new_site = log_.places.size() < log_.sites.size();
  }
  if (new_site) number_places();
}

void RaceRecorder::note(const Call& call, std::uint64_t site) {
  RaceEvent event{};
  event.begin_ns = began[depth.calls];
  event.end_ns = now_ns();
  event.kind = static_cast<std::uint8_t>(call.kind);
  event.writes = call.writes;
  event.completes = is_quiet(call);
  event.starts_late = may_be_late(call);
  event.unfinished = names(call.name, "_nbi");
  event.sees_none = call.parts;
  event.pe = call.pe;
  event.remote = range_of(call.remote, call.bytes, call.block, call.remote_stride);
  event.local = range_of(call.local, call.bytes, call.block, call.local_stride);
  event.context = context_numbers_.emplace(call.context, context_numbers_.size()).first->second;
  event.group = UINT32_MAX;
  const auto meets = [&](const RaceGroup& group) {
    event.group = number_of(group_numbers_, log_.groups, group);
    met_.resize(log_.groups.size());
    event.meeting = met_[event.group]++;
  };
  if (call.kind == CallKind::meeting && call.collective == nullptr)
    meets({RaceGroup::kPair, 0, {std::min(call.pe, domain_.me), std::max(call.pe, domain_.me)}});
  if (call.collective != nullptr) {
    const Collective& what = *call.collective;
    event.pe = domain_.me;
    event.root = what.root;
    if (what.root >= 0) event.flow = RaceFlow::from_root;
    if (what.upwards) event.flow = RaceFlow::from_those_before;
    if (!has_effect(call))
      event.completes = 0;
    else
      meets(group_of(*what.group));
    if (call.kind == CallKind::collective) {  // as far as this PE is concerned, it reads its source and writes its dest
      event.local = range_of(what.source, what.gaps ? 0 : what.source_bytes, 0, 0);
      event.remote = range_of(what.dest, what.gaps ? 0 : what.dest_bytes, 0, 0);
    }
  }
  add(event, call.name, site);
}

}  // namespace shoal

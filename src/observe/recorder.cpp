// SPDX-License-Identifier: Apache-2.0
#include "observe/recorder.hpp"

#include <atomic>
#include <cstring>

#include "base/clock.hpp"
#include "base/ticks.hpp"

namespace shoal {
namespace {

bool moves(CallKind kind) noexcept {
  return kind == CallKind::put || kind == CallKind::get || kind == CallKind::atomic || kind == CallKind::signal;
}
/// Whether calls that it is made of may follow.
bool has_parts(const Call& call) noexcept { return !moves(call.kind) || call.parts; }
bool waits(CallKind kind) noexcept {
  return kind == CallKind::wait || kind == CallKind::lock || kind == CallKind::meeting;
}

/// The counts of this thread, and whose they are.
struct Mine {
  std::uint64_t recorder = 0;
  void* thread = nullptr;
};
thread_local constinit Mine mine __attribute__((tls_model("initial-exec")));

}  // namespace

/// What one thread has counted, and the call that it is in. Written by that thread only.
struct Recorder::Thread {
  Thread(int n_pes, std::size_t number, Shortcut* shortcut_)
      : counts(n_pes, static_cast<std::uint16_t>(number)), shortcut(shortcut_) {
    if (shortcut != nullptr) shortcut->count_in(&counts);
  }

  CallCounts counts;
  Shortcut* const shortcut;        // this thread's; null: there is none
  std::vector<CallCount*> moving;  // rows of routines that move bytes
  int depth = 0;                   // above 1: in what a call is made of
  CallCount* row = nullptr;        // null: a part of another call
  CallCount::Timing timing = CallCount::Timing::none;
  std::uint64_t began = 0;
  TraceEvent* event = nullptr;
};

Recorder::Recorder(const Domain& domain, Counters* counters, std::unique_ptr<TraceWriter> trace, Shortcuts* shortcuts)
    : domain_(domain),
      counters_(counters),
      trace_(std::move(trace)),
      shortcuts_(shortcuts),
      id_(now_ns() ^ reinterpret_cast<std::uintptr_t>(this)) {
  ns_per_tick();  // its first moment
  if (counters_ != nullptr) counters_->watched.store(1, std::memory_order_relaxed);
}

Recorder::~Recorder() {
  if (counters_ != nullptr) counters_->watched.store(0, std::memory_order_relaxed);
}

Recorder::Thread& Recorder::here() noexcept {
  if (mine.recorder != id_) [[unlikely]] {
    const std::lock_guard guard(mutex_);
    Shortcut* const shortcut = shortcuts_ == nullptr ? nullptr : &shortcuts_->here();
    threads_.push_back(std::make_unique<Thread>(domain_.n_pes, threads_.size(), shortcut));
    mine = {id_, threads_.back().get()};
  }
  return *static_cast<Thread*>(mine.thread);
}

void Recorder::begin(const Call& call) noexcept {
  Thread& thread = here();
  if (++thread.depth > 1) return;
  const bool move = moves(call.kind);
  if (thread.shortcut != nullptr) has_parts(call) ? thread.shortcut->close() : thread.shortcut->remember(call);
  thread.row = nullptr;
  thread.timing = CallCount::Timing::none;
  thread.event = nullptr;
  if (call.part) return;
  CallCount* row = &thread.counts.row(call.name);
  const bool first = row->name == nullptr || (move && call.pe >= 0 && thread.counts.link(call.pe).count == 0);
  if (row->name == nullptr) row = &note(thread, call);
  thread.row = row;
  if (!move || first || call.bytes >= CallCounts::kTimedBytes)
    thread.timing = CallCount::Timing::for_itself;
  else
    thread.timing = row->timing_of_small();
  if (thread.timing == CallCount::Timing::none) {
    if (trace_ == nullptr) return;
    thread.timing = CallCount::Timing::for_itself;
  }
  if (trace_ != nullptr) thread.event = next_event(thread);
  thread.began = ticks();
  if (thread.event != nullptr)
    *thread.event = {thread.began, 0, call.bytes, call.pe, row->trace_name, thread.counts.thread};
}

TraceEvent* Recorder::next_event(Thread& thread) noexcept {
  std::span<TraceEvent>& events = thread.counts.events;
  if (events.empty()) events = trace_->take();
  if (events.empty()) return nullptr;
  TraceEvent* const event = events.data();
  events = events.subspan(1);
  return event;
}

/// The first call of its routine.
CallCount& Recorder::note(Thread& thread, const Call& call) noexcept {
  CallCount& row = thread.counts.add_row(call.name);
  row.moves = moves(call.kind);
  row.waits = waits(call.kind);
  row.signals = call.kind == CallKind::put && std::strstr(call.name, "signal") != nullptr;
  if (trace_ != nullptr) row.trace_name = trace_->name(call.name);
  thread.moving.clear();  // the others may have moved
  for (CallCount& one : thread.counts.rows)
    if (one.moves) thread.moving.push_back(&one);
  return row;
}

void Recorder::end(const Call& call) noexcept {
  Thread& thread = here();
  if (thread.depth == 0) return;
  const bool inner = --thread.depth > 0, move = moves(call.kind);
  if (move && call.pe >= 0) {
    LinkCount& link = thread.counts.link(call.pe);
    link.count += inner || call.part ? 0 : 1;
    link.bytes += call.parts ? 0 : call.bytes;
  }
  if (inner) return;
  if (thread.shortcut != nullptr && has_parts(call)) thread.shortcut->open();
  const bool timed = thread.timing != CallCount::Timing::none;
  const std::uint64_t now = timed ? ticks() : 0;
  if (thread.event != nullptr) thread.event->end = now;
  if (thread.row != nullptr) thread.row->add(thread.timing, call.bytes, now - thread.began);
  if (waits(call.kind)) {
    for (CallCount* const row : thread.moving) show(*row);
  } else if (move && timed && thread.row != nullptr) {
    show(*thread.row);
  }
}

/// Of what waits only, all the time counts.
void Recorder::waited(std::uint64_t began) noexcept {
  if (mine.recorder != id_) return;
  const Thread& thread = here();
  if (thread.depth == 0 || thread.row == nullptr || thread.row->moves || thread.row->waits) return;
  thread.row->waiting_ticks += ticks() - began;
}

void Recorder::show(CallCount& row) noexcept {
  if (counters_ == nullptr || row.count() == row.shown_count) return;
  counters_->operations.fetch_add(row.count() - row.shown_count, std::memory_order_relaxed);
  counters_->bytes.fetch_add(row.bytes - row.shown_bytes, std::memory_order_relaxed);
  row.shown_count = row.count();
  row.shown_bytes = row.bytes;
}

Profile Recorder::profile() const {
  const std::lock_guard guard(mutex_);
  Profile profile(domain_.n_pes);
  const double ns = ns_per_tick();
  for (const auto& thread : threads_) {
    for (const CallCount& row : thread->counts.rows) {
      if (row.count() == 0) continue;
      Profile::Row& sum = profile.row(row.name);
      const double time = row.ticks() * ns;
      sum.count += row.count();
      sum.bytes += row.bytes;
      sum.ns += time;
      sum.waiting_ns += row.waits ? time : static_cast<double>(row.waiting_ticks) * ns;
    }
    for (int pe = 0; pe < domain_.n_pes; ++pe) {
      profile.link(domain_.me, pe).count += thread->counts.link(pe).count;
      profile.link(domain_.me, pe).bytes += thread->counts.link(pe).bytes;
    }
  }
  return profile;
}

}  // namespace shoal

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
bool waits(CallKind kind) noexcept { return kind == CallKind::wait || kind == CallKind::lock || kind == CallKind::meeting; }

/// The counts of this thread, and whose they are.
struct Mine {
  std::uint64_t recorder = 0;
  void* thread = nullptr;
};
thread_local constinit Mine mine __attribute__((tls_model("initial-exec")));

}  // namespace

/// What one thread has counted. Written by that thread only.
struct Recorder::Thread {
  static constexpr int kDeepest = 8;

  Thread(int n_pes, std::size_t number) : counts(n_pes, static_cast<std::uint16_t>(number)) {}

  CallCounts counts;
  std::vector<CallCount*> moving;           // rows of routines that move bytes
  int depth = 0;
  std::uint64_t began[kDeepest] = {};       // 0: this call is not timed
  TraceEvent* event[kDeepest] = {};
  CallCount* current[kDeepest] = {};        // null: a part of another call
};

Recorder::Recorder(const Domain& domain, Counters* counters, std::unique_ptr<TraceWriter> trace, Shortcuts* shortcuts)
    : domain_(domain), counters_(counters), trace_(std::move(trace)), shortcuts_(shortcuts), id_(now_ns() ^ reinterpret_cast<std::uintptr_t>(this)) {
  ns_per_tick();  // its first moment
  if (counters_ != nullptr) counters_->watched.store(1, std::memory_order_relaxed);
}

Recorder::~Recorder() {
  if (counters_ != nullptr) counters_->watched.store(0, std::memory_order_relaxed);
}

Recorder::Thread& Recorder::here() noexcept {
  if (mine.recorder != id_) [[unlikely]] {
    const std::lock_guard guard(mutex_);
    threads_.push_back(std::make_unique<Thread>(domain_.n_pes, threads_.size()));
    mine = {id_, threads_.back().get()};
    if (shortcuts_ != nullptr) shortcuts_->here().count_in(&threads_.back()->counts);
  }
  return *static_cast<Thread*>(mine.thread);
}

void Recorder::begin(const Call& call) noexcept {
  Thread& thread = here();
  const int depth = thread.depth++;
  if (depth >= Thread::kDeepest) return;
  thread.event[depth] = nullptr;
  thread.began[depth] = 0;
  thread.current[depth] = nullptr;
  if (shortcuts_ != nullptr && moves(call.kind)) shortcuts_->here().remember(call);
  if (call.part) return;
  CallCount& row = thread.counts.row(call.name);
  thread.current[depth] = &row;
  if (row.name == nullptr) note(thread, row, call);
  if (trace_ == nullptr && moves(call.kind) && call.bytes < CallCounts::kTimedBytes && row.count % CallCounts::kSampled != 0) return;
  if (trace_ != nullptr) thread.event[depth] = next_event(thread);
  const std::uint64_t now = thread.began[depth] = ticks();
  if (TraceEvent* const event = thread.event[depth])
    *event = {now, 0, call.bytes, call.pe, row.trace_name, thread.counts.thread};
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
void Recorder::note(Thread& thread, CallCount& row, const Call& call) noexcept {
  row.name = call.name;
  row.waits = waits(call.kind);
  row.signals = call.kind == CallKind::put && std::strstr(call.name, "signal") != nullptr;
  if (trace_ != nullptr) row.trace_name = trace_->name(call.name);
  if (moves(call.kind)) thread.moving.push_back(&row);
}

void Recorder::end(const Call& call) noexcept {
  Thread& thread = here();
  const int depth = --thread.depth;
  if (depth < 0 || depth >= Thread::kDeepest) return;
  const std::uint64_t began = thread.began[depth];
  const std::uint64_t now = began == 0 ? 0 : ticks();
  if (thread.event[depth] != nullptr) thread.event[depth]->end = now;
  CallCount* const row = thread.current[depth];
  if (row != nullptr) {
    ++row->count;
    row->bytes += call.bytes;
    if (began != 0) {
      ++row->timed;
      row->ticks += now - began;
    }
  }
  if (!moves(call.kind)) {
    if (waits(call.kind))
      for (CallCount* const other : thread.moving) show(*other);
    return;
  }
  if (call.pe >= 0) {
    LinkCount& link = thread.counts.links[static_cast<std::size_t>(call.pe)];
    link.count += call.part ? 0 : 1;
    link.bytes += call.bytes;
  }
  if (row != nullptr && began != 0) show(*row);
}

void Recorder::show(CallCount& row) noexcept {
  if (counters_ == nullptr || row.count == row.shown_count) return;
  counters_->operations.fetch_add(row.count - row.shown_count, std::memory_order_relaxed);
  counters_->bytes.fetch_add(row.bytes - row.shown_bytes, std::memory_order_relaxed);
  row.shown_count = row.count;
  row.shown_bytes = row.bytes;
}

Profile Recorder::profile() const {
  const std::lock_guard guard(mutex_);
  Profile profile(domain_.n_pes);
  const double ns = ns_per_tick();
  for (const auto& thread : threads_) {
    for (const CallCount& row : thread->counts.rows) {
      if (row.count == 0) continue;
      Profile::Row& sum = profile.row(row.name);
      const double scale = row.timed == 0 ? 0 : static_cast<double>(row.count) / static_cast<double>(row.timed);
      const double time = static_cast<double>(row.ticks) * ns * scale;
      sum.count += row.count;
      sum.bytes += row.bytes;
      sum.ns += time;
      if (row.waits) sum.waiting_ns += time;
    }
    for (int pe = 0; pe < domain_.n_pes; ++pe) {
      profile.link(domain_.me, pe).count += thread->counts.links[static_cast<std::size_t>(pe)].count;
      profile.link(domain_.me, pe).bytes += thread->counts.links[static_cast<std::size_t>(pe)].bytes;
    }
  }
  return profile;
}

}  // namespace shoal

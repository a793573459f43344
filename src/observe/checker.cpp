// SPDX-License-Identifier: Apache-2.0
#include "observe/checker.hpp"

#include <shmem/constants.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/library_thread.hpp"
#include "observe/caller.hpp"
#include "team/group.hpp"

namespace shoal {
namespace {

constexpr std::uint64_t kLeastAgeNs = 200'000'000;  // of waits that are taken for where a PE will stay

struct Hash {
  std::uint64_t value = 0xcbf29ce484222325u;
  void add(const void* bytes, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) value = (value ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3u;
  }
  void add(std::uint64_t number) noexcept { add(&number, sizeof number); }
};

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) noexcept {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes != 0 && b_bytes != 0 && x < y + b_bytes && y < x + a_bytes;
}

/// What tells threads apart, without a system call.
thread_local constinit char here __attribute__((tls_model("initial-exec"))) = 0;

/// From the first byte to the last.
std::size_t extent(const Call& call, std::ptrdiff_t stride) noexcept {
  return call.block == 0 ? call.bytes : (call.bytes / call.block - 1) * static_cast<std::size_t>(stride) + call.block;
}

}  // namespace

Checker::Checker(const Domain& domain, StatusRecord* records, int thread_level, Shortcuts* shortcuts)
    : domain_(domain), records_(records), thread_level_(thread_level), shortcuts_(shortcuts), first_thread_(&here) {
  caller_address();  // loads what it needs while there is nothing wrong yet
}

void Checker::fatal(const char* call, const std::string& what) const noexcept {
  domain_.fatal->fatal(call, what + "; at " + describe_code(caller_address()));
  __builtin_unreachable();
}

void Checker::begin(const Call& call) noexcept {
  enter_thread(call);
  if (call.kind == CallKind::memory && call.collective->dest != nullptr) check_guard(call);
  if (call.collective == nullptr) {
    check_operands(call);
    if (shortcuts_ != nullptr) shortcuts_->here().remember(call);
    return;
  }
  check_collective(call);
  if (call.collective->psync != nullptr) check_psync(call);
  agree(call);
  if (call.collective->psync != nullptr) forget_psyncs(call);
}

void Checker::end(const Call& call) noexcept {
  if (call.kind == CallKind::meeting || call.kind == CallKind::memory) {
    check_guards(call);
    if (call.collective != nullptr) {
      const std::lock_guard guard(psync_mutex_);
      psyncs_.clear();
    }
  }
  if (thread_level_ == SHMEM_THREAD_SERIALIZED && one_thread_calls(call)) inside_.fetch_sub(1, std::memory_order_release);
}

/// Whether this call is one of those that the program has promised to make by one thread, or one at a time.
bool Checker::one_thread_calls(const Call& call) const noexcept {
  return thread_level_ != SHMEM_THREAD_MULTIPLE && !call.part && !in_library_thread;
}

void Checker::enter_thread(const Call& call) noexcept {
  if (!one_thread_calls(call)) return;
  const void* const self = &here;
  if (thread_level_ == SHMEM_THREAD_SERIALIZED) {
    if (inside_.fetch_add(1, std::memory_order_acquire) > 0 && inside_thread_.load(std::memory_order_relaxed) != self)
      fatal(call.name, "called while another thread of this PE is in a call, though the thread level is SHMEM_THREAD_SERIALIZED: let one "
                       "thread at a time call, or ask shmem_init_thread for SHMEM_THREAD_MULTIPLE");
    inside_thread_.store(self, std::memory_order_relaxed);
  } else if (self != first_thread_) {
    fatal(call.name, strf("called by a thread that did not call init, though the thread level is SHMEM_THREAD_%s: ask shmem_init_thread for "
                          "SHMEM_THREAD_SERIALIZED or SHMEM_THREAD_MULTIPLE",
                          thread_level_ == SHMEM_THREAD_SINGLE ? "SINGLE" : "FUNNELED"));
  }
}

void Checker::check_guards(const Call& call) const noexcept {
  if (const auto damage = domain_.segments->damage()) fatal(call.name, *damage);
}

/// Of the block that is freed, before it is no more.
void Checker::check_guard(const Call& call) const noexcept {
  const void* const block = call.collective->dest;
  const Segment* const segment = domain_.segments->find(reinterpret_cast<std::uintptr_t>(block), 1);
  if (segment == nullptr || segment->blocks == nullptr) return;
  if (const auto damage = segment->blocks->damage(block)) fatal(call.name, *damage);
}

void Checker::check_range(const Call& call, const char* what, const void* address, std::size_t bytes) const noexcept {
  if (bytes == 0 || address == nullptr) return;
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  const SegmentTable::Range good = domain_.segments->around(where);
  if (good.segment == nullptr || good.segment->blocks == nullptr) return;
  if (where - good.begin < good.bytes && bytes <= good.bytes - (where - good.begin)) return;
  fatal(call.name, strf("%s: %s", what, good.segment->blocks->explain(where, bytes).c_str()));
}

void Checker::check_operands(const Call& call) const noexcept {
  if (call.bytes == 0) return;
  const bool put = call.kind == CallKind::put;
  check_range(call, put ? "dest" : call.kind == CallKind::get ? "source" : "the word", call.remote, extent(call, call.remote_stride));
  check_range(call, put ? "source" : "dest", call.local, extent(call, call.local_stride));
  if (call.remote == nullptr || call.local == nullptr || call.pe != domain_.me || call.block != 0 || call.remote == call.local) return;
  if (overlap(call.remote, call.bytes, call.local, call.bytes))
    fatal(call.name, strf("dest and source overlap: %zu bytes at %p and at %p of this PE", call.bytes, put ? call.remote : call.local,
                          put ? call.local : call.remote));
}

void Checker::check_collective(const Call& call) const noexcept {
  const Collective& what = *call.collective;
  check_range(call, "dest", what.dest, what.dest_bytes);
  check_range(call, "source", what.source, what.source_bytes);
  if (!overlap(what.dest, what.dest_bytes, what.source, what.source_bytes) || (what.dest == what.source && what.in_place)) return;
  fatal(call.name, strf("dest and source overlap: %zu bytes at %p and %zu bytes at %p%s", what.dest_bytes, what.dest, what.source_bytes,
                        what.source, what.in_place ? "; they may be the same, but not overlap otherwise" : ""));
}

void Checker::check_psync(const Call& call) noexcept {
  const long* psync = call.collective->psync;
  const auto* words = reinterpret_cast<const std::atomic<long>*>(psync);
  for (int i = 1; i < 3; ++i)  // the first may count arrivals already
    if (const long value = words[i].load(std::memory_order_relaxed); value != SHMEM_SYNC_VALUE)
      fatal(call.name, strf("pSync[%d] at %p is %ld and not SHMEM_SYNC_VALUE on entry: fill the array on all PEs, and let them meet before its "
                            "first use; a call that uses it may also still be under way", i, static_cast<const void*>(psync), value));
  if (call.kind == CallKind::meeting) return;  // the same set may meet on the same array again
  const std::lock_guard guard(psync_mutex_);
  if (!psyncs_.emplace(psync, active_set(*call.collective->group)).second)
    fatal(call.name, strf("the pSync array at %p is used again too early: this PE has met nobody since, so other members may still be in the "
                          "call that used it. Use another array, or call shmem_barrier_all or shmem_sync between", static_cast<const void*>(psync)));
}

Checker::ActiveSet Checker::active_set(const Group& group) {
  return {group.size(), group.world_pe(0), group.world_pe(group.size() - 1)};
}

/// All members of its set are in this call: so they have left those that they were in before.
void Checker::forget_psyncs(const Call& call) {
  const ActiveSet set = active_set(*call.collective->group);
  const std::lock_guard guard(psync_mutex_);
  std::erase_if(psyncs_, [&](const auto& used) { return used.first != call.collective->psync && used.second == set; });
}

std::string Checker::place(const void* address) const {
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  const Segment* segment = domain_.segments->find(where, 1);
  return segment == nullptr ? strf("%p", address) : strf("%s + %#zx", segment->name.c_str(), where - segment->base);
}

std::string Checker::describe(const Call& call) const {
  const Collective& what = *call.collective;
  std::string text = std::string(call.name) + "(" + what.group->kind();
  if (call.kind == CallKind::memory) text += strf(", %zu bytes", what.count);
  if (call.kind == CallKind::collective) text += strf(", %zu elements", what.count);
  if (what.root >= 0) text += strf(", root %d", what.root);
  if (what.dest != nullptr) text += ", dest at " + place(what.dest);
  if (what.source != nullptr) text += ", source at " + place(what.source);
  return text + ")";
}

void Checker::agree(const Call& call) noexcept {
  const Collective& what = *call.collective;
  Group& group = *what.group;
  if (group.size() == 1) return;
  Hash hash;
  hash.add(call.name, std::strlen(call.name));
  if (what.counts_agree) hash.add(what.count);
  hash.add(static_cast<std::uint64_t>(what.root));
  for (const void* address : {what.dest, what.source}) {
    const auto where = reinterpret_cast<std::uintptr_t>(address);
    const Segment* segment = address == nullptr ? nullptr : domain_.segments->find(where, 1);
    hash.add(segment == nullptr ? 0 : where - segment->base + 1);
  }
  const std::vector<std::uint64_t> signatures = group.gather_words(hash.value, call.name);
  if (std::any_of(signatures.begin(), signatures.end(), [&](std::uint64_t theirs) { return theirs != hash.value; })) disagree(call, signatures);
}

/// Every member comes here. They tell each other what they call, and the first that differs from member 0 speaks.
void Checker::disagree(const Call& call, const std::vector<std::uint64_t>& signatures) noexcept {
  Group& group = *call.collective->group;
  const std::string mine = describe(call) + " at " + describe_code(caller_address());
  if (records_ != nullptr) {
    auto& shown = records_[domain_.me].collective;
    shown[mine.copy(shown, sizeof shown - 1)] = '\0';
  }
  group.sync(call.name);
  const auto other = static_cast<int>(std::find_if(signatures.begin(), signatures.end(), [&](auto s) { return s != signatures[0]; }) - signatures.begin());
  const auto call_of = [&](int member) {
    const int pe = group.world_pe(member);
    const std::string text = pe == domain_.me ? mine : records_ == nullptr ? "" : records_[pe].collective;
    return strf("PE %d calls %s", pe, text.empty() ? "another one, or with other arguments" : text.c_str());
  };
  if (group.rank() == other)
    domain_.fatal->fatal(call.name, strf("the members of the %s do not call the same: %s; %s", group.kind(), call_of(0).c_str(), call_of(other).c_str()));
  group.sync(call.name);  // until the job ends
}

void Checker::waiting(const char* call) noexcept {
  if (records_ == nullptr || thread_level_ == SHMEM_THREAD_MULTIPLE) return;  // another thread may do what this one waits for
  std::vector<PeState> states;
  for (int pe = 0; pe < domain_.n_pes; ++pe) {
    PeState state{read_status(records_[pe])};
    state.known = state.status.pid != 0;  // else it is on another machine
    states.push_back(std::move(state));
  }
  std::string text;
  const std::lock_guard guard(stuck_mutex_);
  for (const std::string& verdict : standstill_.look(std::move(states), now_ns(), kLeastAgeNs, false))
    text += (text.empty() ? "" : ". ") + verdict;
  if (!text.empty()) fatal(call, "the job can never go on: " + text);
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "observe/checker.hpp"

#include <shmem/constants.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/library_thread.hpp"
#include "observe/caller.hpp"
#include "observe/crash_line.hpp"
#include "team/group.hpp"

namespace shoal {
namespace {

constexpr std::size_t kToldBytes = 512;             // of what a call that does not agree says of itself
constexpr std::uint64_t kLeastAgeNs = 200'000'000;  // of waits that are taken for where a PE will stay

constexpr std::uintptr_t kLastAddress = INTPTR_MAX;  // that a program may have: the kernel's are behind

struct Hash {
  std::uint64_t value = 0xcbf29ce484222325u;
  void add(const void* bytes, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i)
      value = (value ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3u;
  }
  void add(std::uint64_t number) noexcept { add(&number, sizeof number); }
};

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) noexcept {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes != 0 && b_bytes != 0 && x < y + b_bytes && y < x + a_bytes;
}

/// What tells threads apart, without a system call. 1: the thread is prepared for a crash.
thread_local constinit char here __attribute__((tls_model("initial-exec"))) = 0;

/// From the first byte to the last; SIZE_MAX where that is more than there are addresses.
std::size_t extent(const Call& call, std::ptrdiff_t stride) noexcept {
  if (call.block == 0) return call.bytes;
  std::size_t bytes;
  const bool too_many = __builtin_mul_overflow(call.bytes / call.block - 1, static_cast<std::size_t>(stride), &bytes) ||
                        __builtin_add_overflow(bytes, call.block, &bytes);
  return too_many ? SIZE_MAX : bytes;
}

/// What the specification calls the word of a call that has one.
const char* word_name(const Call& call) noexcept {
  const auto names = [&](const char* part) { return std::strstr(call.name, part) != nullptr; };
  if (names("sig")) return "sig_addr";
  if (call.kind == CallKind::lock || call.kind == CallKind::unlock) return "lock";
  if (call.kind == CallKind::atomic) return call.writes ? "dest" : "source";
  return names("_until_") || names("_test_") ? "ivars" : "ivar";
}

/// Every member comes here, and gives its text. @return those of members 0 and `other`
std::pair<std::string, std::string> exchange_texts(Group& group, const std::string& mine, int other, const char* call) {
  std::pair<std::string, std::string> texts;
  for (std::size_t at = 0; at < kToldBytes; at += sizeof(std::uint64_t)) {
    std::uint64_t piece = 0;
    if (at < mine.size()) std::memcpy(&piece, mine.data() + at, std::min(sizeof piece, mine.size() - at));
    const std::vector<std::uint64_t> pieces = group.gather_words(piece, call);
    for (const auto& [text, member] : {std::pair(&texts.first, 0), std::pair(&texts.second, other)})
      text->append(reinterpret_cast<const char*>(&pieces[static_cast<std::size_t>(member)]), sizeof piece);
  }
  for (std::string* text : {&texts.first, &texts.second}) text->resize(std::strlen(text->c_str()));
  return texts;
}

}  // namespace

Checker::Checker(const Domain& domain, StatusRecord* records, int thread_level, Shortcuts* shortcuts)
    : domain_(domain), records_(records), thread_level_(thread_level), shortcuts_(shortcuts), first_thread_(&here) {
  caller_address();  // loads what it needs while there is nothing wrong yet
}

void Checker::fatal(const char* call, const std::string& what) const noexcept {
  domain_.fatal->fatal(call, what);
  __builtin_unreachable();  // g++ forgets that the virtual function doesn't return
}

void Checker::begin(const Call& call) noexcept {
  if (here == 0) [[unlikely]] {
    here = 1;
    CrashLine::prepare_thread();
  }
  enter_thread(call);
  if (call.kind == CallKind::local) return;
  // Before a new block's own guard covers what was written over another's, and before one that is freed is no more.
  if (call.kind == CallKind::memory) check_guards(call, call.collective->dest);
  if (call.collective == nullptr) {
    // It may be, or lead to, what tells this PE that others have gone on.
    forget_psyncs();
    check_operands(call);
    if (shortcuts_ != nullptr) shortcuts_->here().remember(call);
    return;
  }
  check_collective(call);
  Group& group = *call.collective->group;
  if (group.size() == 1) return;
  if (group.psync() != nullptr) check_psync(call);
  agree(call);
  met(group);
  // The same set may meet on the same array again; and what one thread uses, another may learn to be free.
  if (group.psync() == nullptr || call.kind == CallKind::meeting || thread_level_ == SHMEM_THREAD_MULTIPLE) return;
  const std::lock_guard guard(psync_mutex_);
  psyncs_[group.psync()] = {members_of(group)};
  if (shortcuts_ != nullptr) shortcuts_->here().forget();  // the next call, whichever it is, is to be told
}

void Checker::end(const Call& call) noexcept {
  if (call.kind == CallKind::meeting) check_guards(call, nullptr);
  if (thread_level_ == SHMEM_THREAD_SERIALIZED && one_thread_calls(call))
    inside_.fetch_sub(1, std::memory_order_release);
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
      fatal(call.name,
            "called while another thread of this PE is in a call, though the thread level is SHMEM_THREAD_SERIALIZED: "
            "let one thread at a time call, or ask shmem_init_thread for SHMEM_THREAD_MULTIPLE");
    inside_thread_.store(self, std::memory_order_relaxed);
  } else if (self != first_thread_) {
    fatal(call.name, strf("called by a thread that did not call init, though the thread level is SHMEM_THREAD_%s: ask "
                          "shmem_init_thread for SHMEM_THREAD_SERIALIZED or SHMEM_THREAD_MULTIPLE",
                          thread_level_ == SHMEM_THREAD_SINGLE ? "SINGLE" : "FUNNELED"));
  }
}

void Checker::check_guards(const Call& call, const void* always) const noexcept {
  if (const auto damage = domain_.segments->damage(false, always)) fatal(call.name, *damage);
}

void Checker::check_range(const Call& call, const char* what, const void* address, std::size_t bytes) const noexcept {
  if (bytes == 0 || address == nullptr) return;
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  if (where > kLastAddress || bytes > kLastAddress - where)
    fatal(call.name, strf("%s: the bytes from %s on run past the end of all memory; check the count and the stride",
                          what, place(address).c_str()));
  const SegmentTable::Range good = domain_.segments->around(where);
  if (good.segment == nullptr || good.segment->blocks == nullptr) return;
  if (where - good.begin < good.bytes && bytes <= good.bytes - (where - good.begin)) return;
  fatal(call.name, strf("%s: %s", what, good.segment->blocks->explain(where, bytes).c_str()));
}

void Checker::check_operands(const Call& call) const noexcept {
  if (call.bytes == 0) return;
  const bool put = call.kind == CallKind::put, get = call.kind == CallKind::get;
  check_range(call, put ? "dest" : get ? "source" : word_name(call), call.remote, extent(call, call.remote_stride));
  const char* const local = put ? "source" : get ? "dest" : call.kind == CallKind::atomic ? "fetch" : word_name(call);
  check_range(call, local, call.local, extent(call, call.local_stride));
  if (call.remote == nullptr || call.local == nullptr || call.pe != domain_.me || call.block != 0 ||
      call.remote == call.local)
    return;
  if (overlap(call.remote, call.bytes, call.local, call.bytes))
    fatal(call.name,
          strf("dest and source overlap: %zu bytes at %s and at %s of this PE", call.bytes,
               place(put ? call.remote : call.local).c_str(), place(put ? call.local : call.remote).c_str()));
}

void Checker::check_collective(const Call& call) const noexcept {
  const Collective& what = *call.collective;
  check_range(call, "dest", what.dest, what.dest_bytes);
  check_range(call, "source", what.source, what.source_bytes);
  if (what.gaps || !overlap(what.dest, what.dest_bytes, what.source, what.source_bytes) ||
      (what.dest == what.source && what.in_place))
    return;
  fatal(call.name, strf("dest and source overlap: %zu bytes at %s and %zu bytes at %s%s", what.dest_bytes,
                        place(what.dest).c_str(), what.source_bytes, place(what.source).c_str(),
                        what.in_place ? "; they may be the same, but not overlap otherwise" : ""));
}

void Checker::misaligned(const char* call, const char* what, const void* address, std::size_t alignment) noexcept {
  fatal(call, strf("%s: %p is misaligned: data of this type begin at a multiple of %zu; shmem_putmem and its like take "
                   "any address",
                   what, address, alignment));
}

void Checker::check_psync(const Call& call) noexcept {
  const long* psync = call.collective->psync;
  const auto* words = reinterpret_cast<const std::atomic<long>*>(psync);
  for (int i = 1; i < 3; ++i)  // the first may count arrivals already
    if (const long value = words[i].load(std::memory_order_relaxed); value != SHMEM_SYNC_VALUE)
      fatal(call.name, strf("pSync[%d] at %s is %ld and not SHMEM_SYNC_VALUE on entry: fill the array on all PEs, and "
                            "let them meet before its "
                            "first use; a call that uses it may also still be under way",
                            i, place(psync).c_str(), value));
  const std::lock_guard guard(psync_mutex_);
  if (call.kind != CallKind::meeting && psyncs_.contains(psync))
    fatal(call.name,
          strf("the pSync array at %s is used again too early: other members may still be in the call that used it, "
               "since they have "
               "not all met this PE since. Use another array, or call shmem_barrier_all or shmem_sync between",
               place(psync).c_str()));
}

Checker::Members Checker::members_of(const Group& group) {
  return {group.size(), group.world_pe(0), group.world_pe(group.size() - 1)};
}

/// All members are in the same call: so they have left those that they were in before. What sets with further members
/// used is still in use, unless this PE has met several groups since: these may have told it more.
void Checker::met(const Group& group) noexcept {
  const std::lock_guard guard(psync_mutex_);
  if (psyncs_.empty()) return;
  std::vector<bool> met_here(static_cast<std::size_t>(domain_.n_pes));
  for (int member = 0; member < group.size(); ++member)
    met_here[static_cast<std::size_t>(group.world_pe(member))] = true;
  const Members now = members_of(group);
  for (auto entry = psyncs_.begin(); entry != psyncs_.end();) {
    auto& [psync, use] = *entry;
    const int stride = (use.set.last - use.set.first) / (use.set.size - 1);
    bool all = true;
    for (int pe = use.set.first; pe <= use.set.last && all; pe += stride) all = met_here[static_cast<std::size_t>(pe)];
    const bool gone = psync == group.psync() || all || use.met_since.value_or(now) != now;
    use.met_since = now;
    entry = gone ? psyncs_.erase(entry) : std::next(entry);
  }
}

void Checker::forget_psyncs() noexcept {
  const std::lock_guard guard(psync_mutex_);
  psyncs_.clear();
}

std::string Checker::place(const void* address) const { return domain_.segments->place(address); }

std::string Checker::describe(const Call& call) const {
  const Collective& what = *call.collective;
  const Group& group = *what.group;
  std::string text = std::string(call.name) + "(" + group.kind();
  if (group.psync() != nullptr)
    text += strf(" of %d PEs from PE %d to PE %d", group.size(), group.world_pe(0), group.world_pe(group.size() - 1));
  if (*what.unit != '\0' && call.kind != CallKind::meeting) text += strf(", %zu %s", what.count, what.unit);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  text += strf(what.also.format, what.also.a, what.also.b, what.also.c);
#pragma GCC diagnostic pop
  if (what.root >= 0) text += strf(", root %d", what.root);
  if (what.dest != nullptr) text += (call.kind == CallKind::memory ? ", ptr at " : ", dest at ") + place(what.dest);
  if (what.source != nullptr) text += ", source at " + place(what.source);
  return text + ")";
}

void Checker::agree(const Call& call) noexcept {
  const Collective& what = *call.collective;
  Group& group = *what.group;
  Hash hash;
  hash.add(call.name, std::strlen(call.name));
  if (what.counts_agree) hash.add(what.count);
  for (const long number : {static_cast<long>(what.root), what.also.a, what.also.b, what.also.c})
    hash.add(static_cast<std::uint64_t>(number));
  if (group.psync() != nullptr)
    for (const int member : {0, group.size() - 1}) hash.add(static_cast<std::uint64_t>(group.world_pe(member)));
  // Who gives nothing where each may give its own count need not have a source at all.
  for (const void* address : {what.dest, what.counts_agree ? what.source : nullptr}) {
    const auto where = reinterpret_cast<std::uintptr_t>(address);
    const Segment* segment = address == nullptr ? nullptr : domain_.segments->find(where, 1);
    hash.add(segment == nullptr ? 0 : where - segment->base + 1);
    hash.add(segment == nullptr ? 0 : segment->key);
  }
  const std::vector<std::uint64_t> signatures = group.gather_words(hash.value, call.name);
  if (std::any_of(signatures.begin(), signatures.end(), [&](std::uint64_t theirs) { return theirs != hash.value; }))
    disagree(call, signatures);
}

/// Every member comes here, and the first that differs from member 0 speaks.
void Checker::disagree(const Call& call, const std::vector<std::uint64_t>& signatures) noexcept {
  Group& group = *call.collective->group;
  const auto other =
      static_cast<int>(std::find_if(signatures.begin(), signatures.end(), [&](auto s) { return s != signatures[0]; }) -
                       signatures.begin());
  const std::string mine = describe(call) + " at " + describe_code(caller_address());
  const auto [first, second] = exchange_texts(group, mine, other, call.name);
  if (group.rank() == other)
    domain_.fatal->fatal_at(
        call.name, strf("the members of the %s do not call the same: PE %d calls %s; PE %d calls %s", group.kind(),
                        group.world_pe(0), first.c_str(), group.world_pe(other), second.c_str()));
  group.sync(call.name);  // until the job ends
}

void Checker::waiting(const char* call) noexcept {
  if (records_ == nullptr || thread_level_ == SHMEM_THREAD_MULTIPLE)
    return;  // another thread may do what this one waits for
  std::vector<PeState> states;
  for (int pe = 0; pe < domain_.n_pes; ++pe) {
    PeState state{read_status(records_[pe])};
    state.known = state.status.pid != 0;  // else it is on another machine
    states.push_back(std::move(state));
  }
  std::string text;
  const std::lock_guard guard(stuck_mutex_);
  const bool values = !domain_.spans_nodes();  // what is on its way is no PE's
  for (const std::string& verdict : standstill_.look(std::move(states), now_ns(), kLeastAgeNs, values))
    text += (text.empty() ? "" : ". ") + verdict;
  if (!text.empty()) fatal(call, "the job can never go on: " + text);
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "base/status_page.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/fence.hpp"

namespace shoal {
namespace {

template <size_t N>
void copy_text(char (&to)[N], const char* from) noexcept {
  std::strncpy(to, from, N - 1);
  to[N - 1] = '\0';
}

/// The fields are copied by atomic accesses: a reader may get some of two times, but that is no data race.
using Word [[gnu::may_alias]] = std::uint64_t;
constexpr int kAttempts = 1000, kSpins = 100;  // until another writer has finished
constexpr size_t kWords = sizeof(StatusFields) / sizeof(Word);
static_assert(sizeof(StatusFields) % sizeof(Word) == 0 && alignof(StatusFields) >= sizeof(Word));

void store_fields(StatusFields& to, const StatusFields& from) noexcept {
  for (size_t i = 0; i < kWords; ++i)
    __atomic_store_n(reinterpret_cast<Word*>(&to) + i, reinterpret_cast<const Word*>(&from)[i], __ATOMIC_RELAXED);
}

StatusFields load_fields(const StatusFields& from) noexcept {
  StatusFields to;
  for (size_t i = 0; i < kWords; ++i)
    reinterpret_cast<Word*>(&to)[i] = __atomic_load_n(reinterpret_cast<const Word*>(&from) + i, __ATOMIC_RELAXED);
  to.call[sizeof to.call - 1] = to.detail[sizeof to.detail - 1] = '\0';  // whatever the PE wrote
  return to;
}

}  // namespace

StatusFields status_fields(Phase phase, const char* call, const WaitText& text) noexcept {
  StatusFields fields{};
  fields.since_ns = now_ns();
  fields.phase = phase;
  fields.pid = ::getpid();
  copy_text(fields.call, call);
  std::memcpy(fields.detail, text.detail, sizeof fields.detail);
  fields.wait = text.wait;
  fields.members = text.members;
  return fields;
}

std::uint32_t StatusWriter::begin() noexcept {
  // One that stays odd is this thread's own: a signal handler has come in between.
  std::uint32_t sequence = record_->sequence.load(std::memory_order_relaxed) & ~1u;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (record_->sequence.compare_exchange_weak(sequence, sequence + 1, std::memory_order_acquire)) break;
    sequence &= ~1u;
    if (attempt >= kSpins) ::sched_yield();
  }
  return sequence;
}

void StatusWriter::end(std::uint32_t sequence, const StatusFields& fields) noexcept {
  release_fence();  // the odd value before the fields
  store_fields(record_->fields, fields);
  record_->sequence.store(sequence + 2, std::memory_order_release);
}

StatusFields StatusWriter::load() const noexcept { return load_fields(record_->fields); }

void StatusWriter::set(Phase phase, const char* call, const char* detail) noexcept {
  WaitText text;
  copy_text(text.detail, detail);
  end(begin(), status_fields(phase, call, text));
}

void expect_here(StatusRecord& record, int pid) noexcept {
  int none = 0;
  std::atomic_ref(record.fields.pid).compare_exchange_strong(none, pid, std::memory_order_relaxed);
}

Status read_status(const StatusRecord& record) {
  Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint32_t before = record.sequence.load(std::memory_order_acquire);
    const StatusFields fields = load_fields(record.fields);
    status = {fields.phase,
              fields.since_ns,
              fields.pid,
              fields.call,
              fields.detail,
              fields.wait,
              fields.members,
              record.counters.seen.load(std::memory_order_relaxed),
              static_cast<Others>(record.counters.others.load(std::memory_order_relaxed)),
              record.counters.polls.load(std::memory_order_relaxed)};
    acquire_fence();  // the fields before the second look
    if (before % 2 == 0 && before == record.sequence.load(std::memory_order_relaxed)) break;
    cpu_relax();
  }
  return status;
}

namespace {

/// ", now 3": the value of a single word that is waited for.
std::string value_now(const Status& status) {
  if (status.wait.kind != WaitKind::value || status.wait.width == 0) return "";
  return status.wait.is_signed != 0 ? strf(", now %lld", static_cast<long long>(status.seen))
                                    : strf(", now %llu", static_cast<unsigned long long>(status.seen));
}

}  // namespace

std::string describe_call(const Status& status) { return status.call + "(" + status.detail + ")" + value_now(status); }

std::string describe(const Status& status) {
  switch (status.phase) {
    case Phase::starting: return status.call.empty() ? "starting (shmem_init not called yet)" : "in " + status.call;
    case Phase::running: return "computing";
    case Phase::waiting: return "in " + describe_call(status);
    case Phase::leaving: return "in " + status.call;
    case Phase::left: return "finished (after shmem_finalize)";
    case Phase::closing:
      return "in " + status.call + ", which all PEs have called" + (status.detail.empty() ? "" : ": " + status.detail);
  }
  return "in an unknown state";
}

std::string describe(const Status& status, std::uint64_t now) {
  if (status.phase != Phase::waiting && status.phase != Phase::leaving && status.phase != Phase::closing)
    return describe(status);
  const double seconds = now > status.since_ns ? static_cast<double>(now - status.since_ns) * 1e-9 : 0.0;
  return strf("%s%s for %.1f s", describe(status).c_str(), status.phase == Phase::closing ? "," : "", seconds);
}

}  // namespace shoal

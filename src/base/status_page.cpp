// SPDX-License-Identifier: Apache-2.0
#include "base/status_page.hpp"

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

}  // namespace

void StatusWriter::set(Phase phase, const char* call, const char* detail) noexcept {
  WaitText text;
  copy_text(text.detail, detail);
  set(phase, call, text);
}

void StatusWriter::set(Phase phase, const char* call, const WaitText& text) noexcept {
  const std::uint32_t sequence = record_->sequence.load(std::memory_order_relaxed);
  record_->sequence.store(sequence + 1, std::memory_order_relaxed);
  release_fence();  // the odd value before the fields
  record_->phase = phase;
  record_->since_ns = now_ns();
  record_->pid = ::getpid();
  copy_text(record_->call, call);
  std::memcpy(record_->detail, text.detail, sizeof text.detail);
  record_->wait = text.wait;
  record_->members = text.members;
  record_->sequence.store(sequence + 2, std::memory_order_release);
}

void expect_here(StatusRecord& record, int pid) noexcept {
  int none = 0;
  std::atomic_ref(record.pid).compare_exchange_strong(none, pid, std::memory_order_relaxed);
}

Status read_status(const StatusRecord& record) {
  Status status;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::uint32_t before = record.sequence.load(std::memory_order_acquire);
    char call[sizeof record.call], detail[sizeof record.detail];
    std::memcpy(call, record.call, sizeof call);
    std::memcpy(detail, record.detail, sizeof detail);
    call[sizeof call - 1] = detail[sizeof detail - 1] = '\0';
    status = {record.phase,
              record.since_ns,
              record.pid,
              call,
              detail,
              record.wait,
              record.members,
              record.counters.seen.load(std::memory_order_relaxed),
              record.counters.threaded.load(std::memory_order_relaxed) != 0,
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
    case Phase::closing: return "in " + status.call + ", which all PEs have called";
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

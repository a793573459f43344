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
  const std::uint32_t sequence = record_->sequence.load(std::memory_order_relaxed);
  record_->sequence.store(sequence + 1, std::memory_order_relaxed);
  release_fence();  // the odd value before the fields
  record_->phase = phase;
  record_->since_ns = now_ns();
  record_->pid = ::getpid();
  copy_text(record_->call, call);
  copy_text(record_->detail, detail);
  record_->sequence.store(sequence + 2, std::memory_order_release);
}

Status read_status(const StatusRecord& record) {
  Status status;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::uint32_t before = record.sequence.load(std::memory_order_acquire);
    char call[sizeof record.call], detail[sizeof record.detail];
    std::memcpy(call, record.call, sizeof call);
    std::memcpy(detail, record.detail, sizeof detail);
    call[sizeof call - 1] = detail[sizeof detail - 1] = '\0';
    status = {record.phase, record.since_ns, record.pid, call, detail};
    acquire_fence();  // the fields before the second look
    if (before % 2 == 0 && before == record.sequence.load(std::memory_order_relaxed)) break;
    cpu_relax();
  }
  return status;
}

std::string describe(const Status& status, std::uint64_t now) {
  const double seconds = now > status.since_ns ? static_cast<double>(now - status.since_ns) * 1e-9 : 0.0;
  switch (status.phase) {
    case Phase::starting:
      return status.call.empty() ? "starting (shmem_init not called yet)" : "in " + status.call;
    case Phase::running:
      return "computing";
    case Phase::waiting:
      return strf("in %s(%s) for %.1f s", status.call.c_str(), status.detail.c_str(), seconds);
    case Phase::leaving:
      return strf("in shmem_finalize for %.1f s", seconds);
    case Phase::left:
      return "finished (after shmem_finalize)";
  }
  return "in an unknown state";
}

}  // namespace shoal

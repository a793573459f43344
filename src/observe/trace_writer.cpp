// SPDX-License-Identifier: Apache-2.0
#include "observe/trace_writer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_size_signal.hpp"
#include "base/futex.hpp"
#include "base/moment.hpp"
#include "base/quiet_signals.hpp"
#include "base/trace_lock.hpp"

namespace shoal {
namespace {

// So often the helper marks the time, which is then the last that is known of a PE that is killed. Often at first: the
// job may be killed soon.
constexpr std::uint64_t kFirstMarkNs = 10'000'000, kMarkNs = 100'000'000;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, in headers of 2022 and later

/// Gives bytes `begin` to `end` of a mapped file their room on the disk. A kernel that cannot tell (before 5.14) is
/// hoped with. @return 0 or the error
int reserve_room(int fd, char* file, std::size_t begin, std::size_t end) noexcept {
  const std::size_t page = begin - begin % static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  bool fallocated = false;
  while (::madvise(file + page, end - page, kPopulateWrite) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno != EFAULT) return errno == EINVAL ? 0 : errno;
    // Something is wrong with the disk; the file system says what, or has room by now.
    if (fallocated) return EIO;
    if (const int code = ::posix_fallocate(fd, static_cast<off_t>(begin), static_cast<off_t>(end - begin))) return code;
    fallocated = true;
  }
  return 0;
}

[[noreturn]] void refuse(const std::string& file, const std::string& what, int code) {
  throw Error(Code::invalid_option,
              strf("SHOAL_TRACE=\"%s\" is not valid: expected a file that can be written, but %s: %s", file.c_str(),
                   what.c_str(), std::strerror(code)));
}

bool is_directory(const std::string& file) {
  struct stat s;
  return ::stat(file.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
}

constexpr std::size_t length_of(std::uint64_t events) { return kTraceEventsAt + events * sizeof(TraceEvent); }

}  // namespace

TraceWriter::TraceWriter(const std::string& file, int pe, int n_pes, const std::string& machine)
    : path_(std::filesystem::absolute(trace_piece(file, pe))), length_(length_of(kRoom)) {
  if (is_directory(file)) refuse(file, file, EISDIR);
  if (pe == 0) check_unused(file);  // all of them, before any is gone
  remove_piece(file, pe);
  fd_.reset(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd_) refuse(file, path_, errno);
  // Another job that begins just now may have taken it for one that nobody writes.
  if (!lock_piece(fd_.get(), TraceUse::written) || !lies_at(fd_.get(), path_))
    refuse(file, "another job begins " + path_, EEXIST);
  try {
    // Not before: a job that begins just now sees that this one has, and its PEs make no pieces.
    if (pe == 0) remove_other_pieces(file, pe);
    map(file);
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
  header_->size = sizeof(TraceEvent);
  header_->pe = pe;
  header_->n_pes = n_pes;
  header_->room = kStep;
  std::strncpy(header_->machine, machine.c_str(), sizeof header_->machine - 1);
  mark();
  header_->first_ticks = header_->last_ticks;
  header_->first_ns = header_->met_ns = header_->last_ns;
  header_->magic = kTraceMagic;
  try {
    const QuietSignals quiet;
    helper_ = std::thread([this] { help(); });
  } catch (const std::system_error&) {
  }
}

void TraceWriter::map(const std::string& file) {
  {
    const NoFileSizeSignal quiet;
    if (::ftruncate(fd_.get(), static_cast<off_t>(length_)) != 0) refuse(file, path_, errno);
  }
  void* at = ::mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (at == MAP_FAILED) throw_errno("mmap of " + path_);
  char* bytes = static_cast<char*>(at);
  if (const int code = reserve_room(fd_.get(), bytes, 0, length_of(kStep))) {
    ::munmap(at, length_);
    refuse(file, path_, code);
  }
  header_ = new (at) TraceHeader{};
  names_ = bytes + kTraceNamesAt;
  events_ = reinterpret_cast<TraceEvent*>(bytes + kTraceEventsAt);
}

TraceWriter::~TraceWriter() {
  stop_helper();
  ::munmap(header_, length_);
}

void TraceWriter::prepare_more() noexcept {
  if (!helper_.joinable()) return;
  asked_.fetch_add(1, std::memory_order_relaxed);
  futex_wake_all(asked_);
}

void TraceWriter::help() noexcept {
  std::uint64_t wait_ns = kFirstMarkNs;
  for (std::uint32_t done = 0; !stopped_.load(std::memory_order_acquire);) {
    const std::uint32_t asked = asked_.load(std::memory_order_acquire);
    if (asked == done) {
      futex_wait(asked_, asked, wait_ns);
      wait_ns = std::min(2 * wait_ns, kMarkNs);
      const std::lock_guard guard(mutex_);
      mark();
      continue;
    }
    ++done;
    const std::lock_guard guard(mutex_);
    if (!finished_ && !full_ && header_->events.load(std::memory_order_relaxed) + kStep > header_->room) extend();
  }
}

void TraceWriter::stop_helper() noexcept {
  if (!helper_.joinable()) return;
  stopped_.store(true, std::memory_order_release);
  futex_wake_all(asked_);
  helper_.join();
}

void TraceWriter::met() noexcept { header_->met_ns = now_ns(); }

void TraceWriter::mark() noexcept {
  const Moment now = this_moment();
  header_->last_ticks = now.ticks;
  header_->last_ns = now.ns;
}

std::uint16_t TraceWriter::name(const char* text) noexcept {
  const std::lock_guard guard(mutex_);
  for (std::uint16_t i = 0; i < named_; ++i)
    if (std::strncmp(names_ + i * kTraceNameBytes, text, kTraceNameBytes - 1) == 0) return i;
  if (named_ + 1u >= kTraceNames) return named_;
  std::strncpy(names_ + named_ * kTraceNameBytes, text, kTraceNameBytes - 1);
  return named_++;
}

void TraceWriter::extend() noexcept {
  const std::uint64_t room = header_->room + kStep;
  full_ = true;
  if (room > kRoom) return;
  header_->error = reserve_room(fd_.get(), reinterpret_cast<char*>(header_), length_of(header_->room), length_of(room));
  if (header_->error != 0) return;
  full_ = false;
  mark();
  header_->room = room;
  room_.store(room, std::memory_order_relaxed);
}

bool TraceWriter::reserve(std::uint64_t index) noexcept {
  const std::lock_guard guard(mutex_);
  while (!finished_ && !full_ && index >= header_->room) extend();
  if (full_) header_->lost.fetch_add(1, std::memory_order_relaxed);
  return !finished_ && index < header_->room;
}

void TraceWriter::finish() noexcept {
  stop_helper();
  const std::lock_guard guard(mutex_);
  mark();
  finished_ = true;
  room_.store(0, std::memory_order_relaxed);
  const std::uint64_t used = std::min(header_->events.load(std::memory_order_relaxed), header_->room);
  [[maybe_unused]] const int done = ::ftruncate(fd_.get(), static_cast<off_t>(length_of(used)));
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// Moving pages. To the file: copy, then map the file over them. Back: build private memory elsewhere, then move it into
// place with one mremap. Untouched (all-zero) pages are never committed. The functions that run between the copy and
// the remapping are uninstrumented: sanitizer run times that are linked into the program keep their state in these very
// pages, and reading whole pages crosses the red zones.
#include "memory/static_data.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/fence.hpp"
#include "base/file_size_signal.hpp"
#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "memory/memory_file.hpp"
#include "memory/thread_hold.hpp"
#include "memory/uninstrumented.hpp"
#ifdef SHOAL_TSAN
#include <sanitizer/common_interface_defs.h>

#include <thread>
#endif

namespace shoal {
namespace {

/// One contiguous part of the program's data and its place in the file.
struct Piece {
  char* address;
  std::size_t bytes;
  std::size_t offset;
  std::size_t from_file;  ///< above this, pages that were never touched are zero
  char* copy;             ///< a private copy that waits to be moved into place; null: none
};

/// What is moved. Trivial, so that uninstrumented code and fork handlers can use it.
struct Move {
  int fd = -1;
  int pagemap = -1;  ///< /proc/self/pagemap while a move goes on; -1: unknown
  std::size_t page = 0;
  std::size_t count = 0;
  Piece pieces[StaticRange::kMaxParts] = {};
};

/// A process has one main program, so this is the process's: the one place in src/memory with mutable globals.
/// Constant-initialised and never destroyed, because fork handlers run from load to the very end.
struct Attachment {
  std::mutex mutex;              ///< held through fork, attach and detach
  std::uint64_t generation = 0;  ///< 0: nothing attached
  std::uint64_t last_generation = 0;
  Move move;
};
constinit Attachment attachment;

// ---- uninstrumented from here ----

SHOAL_UNINSTRUMENTED bool is_zero(const char* page, std::size_t bytes) noexcept {
  const auto* const words = reinterpret_cast<const unsigned long*>(page);
  for (std::size_t i = 0; i < bytes / sizeof(unsigned long); i += 8)
    if ((words[i] | words[i + 1] | words[i + 2] | words[i + 3] | words[i + 4] | words[i + 5] | words[i + 6] |
         words[i + 7]) != 0)
      return false;
  return true;
}

/// Writes all of [from, from + bytes). @return 0 or -errno
SHOAL_UNINSTRUMENTED long write_all(int fd, const char* from, std::size_t bytes, std::size_t offset) noexcept {
  while (bytes > 0) {
    const long wrote = raw_syscall(SYS_pwrite64, static_cast<long>(fd), from, bytes, offset);
    if (wrote == -EINTR) continue;
    if (wrote <= 0) return wrote == 0 ? -EIO : wrote;
    from += wrote;
    offset += static_cast<std::size_t>(wrote);
    bytes -= static_cast<std::size_t>(wrote);
  }
  return 0;
}

SHOAL_UNINSTRUMENTED long read_all(int fd, char* to, std::size_t bytes, std::size_t offset) noexcept {
  while (bytes > 0) {
    const long got = raw_syscall(SYS_pread64, static_cast<long>(fd), to, bytes, offset);
    if (got == -EINTR) continue;
    if (got <= 0) return got == 0 ? -EIO : got;
    to += got;
    offset += static_cast<std::size_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return 0;
}

/// Whether the page at `at` of the piece surely was never touched. Looks only at the page table: reading the page
/// itself would enter it there, which takes seconds where a program has many gigabytes of variables. `known` keeps a
/// block of answers.
struct PageTable {
  static constexpr std::size_t kBlock = 512;
  std::size_t first = ~std::size_t{0};  ///< page number of entries[0] in the piece
  std::uint64_t entries[kBlock];
};
SHOAL_UNINSTRUMENTED bool is_untouched(const Move& move, const Piece& piece, std::size_t at,
                                       PageTable& known) noexcept {
  if (move.pagemap < 0 || at < piece.from_file) return false;
  const std::size_t index = at / move.page, first = index - index % PageTable::kBlock;
  if (known.first != first) {
    const std::size_t left = piece.bytes / move.page - first;
    const std::size_t bytes = (left < PageTable::kBlock ? left : PageTable::kBlock) * sizeof known.entries[0];
    const std::size_t offset =
        (reinterpret_cast<std::uintptr_t>(piece.address) / move.page + first) * sizeof known.entries[0];
    const long got = raw_syscall(SYS_pread64, static_cast<long>(move.pagemap), &known.entries[0], bytes, offset);
    if (got != static_cast<long>(bytes)) return false;
    known.first = first;
  }
  return known.entries[index - first] >> 62 == 0;  // bit 63: present, 62: swapped out
}

/// The file gets what the pages have. @return 0 or -errno
SHOAL_UNINSTRUMENTED long copy_to_file(const Move& move) noexcept {
  for (std::size_t i = 0; i < move.count; ++i) {
    const Piece& piece = move.pieces[i];
    const long error =
        raw_syscall(SYS_fallocate, static_cast<long>(move.fd),
                    static_cast<long>(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE), piece.offset, piece.bytes);
    if (error != 0) return error;
    PageTable known;
    for (std::size_t at = 0; at < piece.bytes;) {
      std::size_t end = at;
      while (end < piece.bytes && !is_untouched(move, piece, end, known) && !is_zero(piece.address + end, move.page))
        end += move.page;
      if (const long failed = write_all(move.fd, piece.address + at, end - at, piece.offset + at); failed != 0)
        return failed;
      at = end + move.page;  // what ended the run is a page of zeros, or the end
    }
  }
  return 0;
}

/// The addresses show the file. @return 0 or -errno
SHOAL_UNINSTRUMENTED long map_file_over(const Move& move) noexcept {
  for (std::size_t i = 0; i < move.count; ++i) {
    const Piece& piece = move.pieces[i];
    const long mapped = raw_syscall(SYS_mmap, piece.address, piece.bytes, static_cast<long>(PROT_READ | PROT_WRITE),
                                    static_cast<long>(MAP_SHARED | MAP_FIXED | MAP_NORESERVE),
                                    static_cast<long>(move.fd), piece.offset);
    if (mapped != reinterpret_cast<long>(piece.address)) return mapped;
  }
  return 0;
}

SHOAL_UNINSTRUMENTED void drop_copies(Move& move) noexcept {
  for (std::size_t i = 0; i < move.count; ++i) {
    if (move.pieces[i].copy != nullptr) raw_syscall(SYS_munmap, move.pieces[i].copy, move.pieces[i].bytes);
    move.pieces[i].copy = nullptr;
  }
}

/// Only what the file has: holes stay untouched memory. @return 0 or -errno
SHOAL_UNINSTRUMENTED long read_extents(int fd, const Piece& piece, char* copy) noexcept {
  const std::size_t end = piece.offset + piece.bytes;
  for (std::size_t at = piece.offset; at < end;) {
    // The file position is shared with other processes, but nobody relies on it.
    const long data = raw_syscall(SYS_lseek, static_cast<long>(fd), at, static_cast<long>(SEEK_DATA));
    if (data == -ENXIO || data >= static_cast<long>(end)) return 0;
    if (data < 0) return data;
    const long hole = raw_syscall(SYS_lseek, static_cast<long>(fd), data, static_cast<long>(SEEK_HOLE));
    if (hole < 0) return hole;
    const std::size_t first = static_cast<std::size_t>(data);
    const std::size_t last = static_cast<std::size_t>(hole) < end ? static_cast<std::size_t>(hole) : end;
    if (const long error = read_all(fd, copy + (first - piece.offset), last - first, first); error != 0) return error;
    at = last;
  }
  return 0;
}

/// Makes a private copy of every piece somewhere. @return 0, or -errno and no copies
SHOAL_UNINSTRUMENTED long make_copies(Move& move) noexcept {
  for (std::size_t i = 0; i < move.count; ++i) {
    Piece& piece = move.pieces[i];
    const long made = raw_syscall(SYS_mmap, 0L, piece.bytes, static_cast<long>(PROT_READ | PROT_WRITE),
                                  static_cast<long>(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE), -1L, 0L);
    long error = made;
    if (made < 0 && made > -4096) {
      drop_copies(move);
      return error;
    }
    piece.copy = reinterpret_cast<char*>(made);
    error = read_extents(move.fd, piece, piece.copy);
    if (error != 0) {
      drop_copies(move);
      return error;
    }
  }
  return 0;
}

/// The addresses show the copies. @return 0 or -errno
SHOAL_UNINSTRUMENTED long move_copies_into_place(Move& move) noexcept {
  for (std::size_t i = 0; i < move.count; ++i) {
    Piece& piece = move.pieces[i];
    const long moved = raw_syscall(SYS_mremap, piece.copy, piece.bytes, piece.bytes,
                                   static_cast<long>(MREMAP_MAYMOVE | MREMAP_FIXED), piece.address);
    if (moved != reinterpret_cast<long>(piece.address)) return moved;
    piece.copy = nullptr;
  }
  return 0;
}

enum class Outcome { done, failed, disturbed, lost };

struct Result {
  Outcome outcome;
  long error;  ///< -errno when failed
};

SHOAL_UNINSTRUMENTED Result try_to_share(Move& move, ThreadHold& hold) noexcept {
  if (!hold.watched_slept()) return {Outcome::disturbed, 0};
  if (const long error = copy_to_file(move); error != 0) return {Outcome::failed, error};
  if (!hold.watched_slept()) return {Outcome::disturbed, 0};
  const long error = map_file_over(move);
  if (error == 0 && hold.watched_slept()) return {Outcome::done, 0};
  // What didn't move has the same contents as the file, so everything can come from there.
  if (make_copies(move) == 0) move_copies_into_place(move);
  return {error == 0 ? Outcome::lost : Outcome::failed, error};
}

SHOAL_UNINSTRUMENTED Result try_to_unshare(Move& move, ThreadHold& hold) noexcept {
  if (!hold.watched_slept()) return {Outcome::disturbed, 0};
  if (const long error = make_copies(move); error != 0) return {Outcome::failed, error};
  if (!hold.watched_slept()) {
    drop_copies(move);
    return {Outcome::disturbed, 0};
  }
  const long error = move_copies_into_place(move);
  if (error == 0 && hold.watched_slept()) return {Outcome::done, 0};
  // Shared again, all of it: what is in place already is a copy of the file.
  drop_copies(move);
  map_file_over(move);
  return {error == 0 ? Outcome::lost : Outcome::failed, error};
}

// ---- to here ----

/// Ends the thread that ThreadSanitizer keeps in the background. It wakes ten times a second and blocks all signals, so
/// on a busy machine it would disturb one move or another. Without it the sanitizer only looks after its memory less
/// often. It begins with the first thread of the program, so that there is one first.
void end_sanitizer_thread() {
#ifdef SHOAL_TSAN
  static std::once_flag once;
  std::call_once(once, [] {
    std::thread([] {}).join();
    __sanitizer_sandbox_on_notify(nullptr);
  });
#endif
}

/// Holds the threads and runs `attempt` until no watched thread disturbed it. @throws Error
template <class F>
void move_with_threads_held(const char* what, std::uint64_t patience_ns, F attempt) {
  end_sanitizer_thread();
  ThreadHold hold(now_ns() + patience_ns);
  Result result = attempt(hold);
  while (result.outcome == Outcome::disturbed && !hold.expired() && hold.hold_all()) result = attempt(hold);
  hold.release();  // before anything allocates
  hold.throw_failure();
  if (result.outcome == Outcome::failed)
    throw Error(Code::system, strf("cannot %s: %s; %sset SHOAL_STATIC_DATA=0 to do without symmetric static data", what,
                                   std::strerror(static_cast<int>(-result.error)),
                                   result.error == -EFBIG ? "raise the file size limit (ulimit -f), or " : ""));
  if (result.outcome != Outcome::done)
    throw Error(Code::unsupported,
                strf("cannot %s: nothing may be written for that moment, but among the threads %s, which block all "
                     "real-time signals, one kept running; initialise before it starts, or set "
                     "SHOAL_STATIC_DATA=0 to do without symmetric static data",
                     what, hold.describe_watched().c_str()));
}

Move plan(const StaticRange& range, int fd, std::size_t offset) {
  Move move;
  move.fd = fd;
  move.page = page_bytes();
  const StaticRange::Part whole{0, range.bytes, range.bytes};
  const StaticRange::Part* const parts = range.part_count == 0 ? &whole : range.parts;
  move.count = range.part_count == 0 ? 1 : range.part_count;
  bool valid = offset % move.page == 0 && move.count <= StaticRange::kMaxParts;
  for (std::size_t i = 0; valid && i < move.count; ++i) {
    char* const address = static_cast<char*>(range.begin) + parts[i].offset;
    valid = reinterpret_cast<std::uintptr_t>(address) % move.page == 0 && parts[i].bytes % move.page == 0 &&
            parts[i].bytes > 0 && parts[i].offset <= range.bytes && parts[i].bytes <= range.bytes - parts[i].offset;
    move.pieces[i] = {address, parts[i].bytes, offset + parts[i].offset, parts[i].from_file, nullptr};
  }
  struct stat info {};
  if (::fstat(fd, &info) != 0) throw_errno("cannot share static data: fstat of the memory file");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (!valid || offset > size || range.bytes > size - offset)
    throw Error(Code::invalid_argument,
                strf("cannot share %zu bytes of static data at offset %zu of a file of %zu bytes: whole "
                     "pages of %zu bytes that lie inside it are needed",
                     range.bytes, offset, size, move.page));
  return move;
}

// ---- fork: the handlers of the whole process, see the header ----

void before_fork() noexcept {
  attachment.mutex.lock();
  // Should there be no memory for it now, the child tries again.
  if (attachment.generation != 0) make_copies(attachment.move);
}

void after_fork_in_parent() noexcept {
  drop_copies(attachment.move);
  attachment.mutex.unlock();
}

void after_fork_in_child() noexcept {
  // Nothing is written to the program's variables before they are private. In a unit test `attachment` is one of them.
  if (attachment.generation != 0) {
    long error = attachment.move.pieces[0].copy == nullptr ? make_copies(attachment.move) : 0;
    if (error == 0) error = move_copies_into_place(attachment.move);
    if (error != 0) {
      print_line(-1,
                 strf("the child of a fork gets no memory of its own for the program's static data: %s; it ends here",
                      std::strerror(static_cast<int>(-error))));
      ::_exit(1);
    }
    attachment.generation = 0;
    ::close(attachment.move.fd);
    attachment.move = Move{};
  }
  attachment.mutex.unlock();
}

/// In a constructor, against the rule, because fork handlers run in order of registration: only so is the memory
/// private before any handler of the program runs in the child, and copied after all of them have run in the parent.
__attribute__((constructor)) void register_fork_handlers() {
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace

StaticData::StaticData(const StaticRange& range, int fd, std::size_t offset, std::uint64_t patience_ns)
    : range_(range), patience_ns_(patience_ns) {
  Move move = plan(range, fd, offset);
  const std::lock_guard lock(attachment.mutex);
  UniqueFd own(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!own) throw_errno("cannot share static data: another descriptor for the memory file");
  move.fd = own.get();
  // Pages that are shared already (left by a detach that failed) may be missing in this process's page table and yet
  // have contents.
  const NoFileSizeSignal quiet;
  const UniqueFd pagemap(attachment.generation != 0 ? -1 : ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  move.pagemap = pagemap.get();
  move_with_threads_held("make the program's static data symmetric", patience_ns_,
                         [&](ThreadHold& hold) { return try_to_share(move, hold); });
  if (attachment.generation != 0) ::close(attachment.move.fd);  // left by a detach that failed; its pages have moved on
  attachment.move = move;
  attachment.move.pagemap = -1;
  own.release();
  generation_ = attachment.generation = ++attachment.last_generation;
}

void StaticData::detach() {
  const std::lock_guard lock(attachment.mutex);
  if (generation_ == 0 || attachment.generation != generation_) return;
  move_with_threads_held("move the program's static data back", patience_ns_,
                         [&](ThreadHold& hold) { return try_to_unshare(attachment.move, hold); });
  attachment.generation = generation_ = 0;
  ::close(attachment.move.fd);
  attachment.move = Move{};
}

StaticData::~StaticData() {
  try {
    detach();
  } catch (const Error& error) {
    print_line(-1, error.what());
  }
}

}  // namespace shoal

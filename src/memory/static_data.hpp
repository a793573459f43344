// SPDX-License-Identifier: Apache-2.0
// The main program's global and static variables as shared memory.
//
// The writable pages of the program's data and bss are moved onto a part of a memory file: same addresses, same
// contents, but from then on other processes can map the file and reach them. The program notices nothing: pointers,
// stdio, copy relocations and the debugger go on working. PIE or not, any linker.
//
// Fork: the child gets a private copy before fork returns, as if the memory had been private. It has the calling
// thread's variables exactly as they were; of what other threads or PEs write meanwhile, a state that each page had
// during fork. The handlers are registered when the library is loaded and do nothing unless data is attached. vfork,
// posix_spawn and system need none; _Fork and raw clone run none, and their children go on sharing. Clang's
// ThreadSanitizer, which is linked into the program and registers its own handlers even earlier, runs its child handler
// on the shared pages: under it, fork before init or with one thread.
//
// Threads: between copying and remapping nobody may write, so other threads are held for about a millisecond; see
// thread_hold.hpp. Writes by hardware or kernel that began before (RDMA, O_DIRECT into a global array) miss the move.
//
// All functions may be called from any thread; they exclude one another and fork. The code itself must not be part of
// the program: it belongs into a shared library.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace shoal {

/// Writable pages of a program: a span of addresses of which `parts` are the program's own variables. There is one part
/// but for unusual link layouts (medium code model, linker scripts); what lies between parts is never touched.
struct StaticRange {
  static constexpr std::size_t kMaxParts = 8;
  struct Part {
    std::size_t offset = 0, bytes = 0;  ///< from begin; whole pages
    std::size_t from_file = 0;          ///< so many leading bytes came from the executable; the others began as zeros
  };
  void* begin = nullptr;
  std::size_t bytes = 0;
  std::size_t part_count = 0;  ///< 0: the whole range is one part
  Part parts[kMaxParts] = {};
};

/// The range of the main program, without what the dynamic linker protects (RELRO); from program headers, so it differs
/// between processes by the load address only. Nothing when the program isn't itself linked against a library whose
/// name starts with `library` (nullptr: don't ask), as an interpreter that loads a module isn't, or has no writable
/// data.
std::optional<StaticRange> find_static_data(const char* library = "libshoal.so");

/// Tells programs apart: equal for the processes that run the same executable, different for different builds.
/// "build-id:" and the linker's build id, else "file:" and device, inode, size and modification time of the executable.
std::string program_build_id();

/// Static data on a memory file, from construction to detach(). At most one per process.
class StaticData final {
 public:
  /// How long other threads may take to stop. Generous, because the machine may be busy; none takes a millisecond
  /// otherwise.
  static constexpr std::uint64_t kPatienceNs = 5'000'000'000;

  /// Moves the pages of `range` onto `fd`, range.begin at `offset` (a multiple of the page size); whatever the file had
  /// there is replaced. The file must reach to offset + range.bytes. `fd` may be closed afterwards.
  /// @throws Error when a thread can't be held (says which, and that SHOAL_STATIC_DATA=0 does without), or the kernel
  /// refuses; the data is as it was then
  StaticData(const StaticRange& range, int fd, std::size_t offset, std::uint64_t patience_ns = kPatienceNs);
  StaticData(const StaticData&) = delete;
  StaticData& operator=(const StaticData&) = delete;
  /// detach(), with a line on stderr where that fails.
  ~StaticData();

  /// Moves the pages back to private memory, contents as they are. Nobody may still write through the file: what
  /// arrives during the move may be lost. Does nothing the second time, or in a child of fork. @throws Error as the
  /// constructor; the data stays attached then, and everything that follows still works, attaching again included.
  void detach();
  const StaticRange& range() const noexcept { return range_; }

 private:
  StaticRange range_;
  std::uint64_t patience_ns_;
  std::uint64_t generation_ = 0;  ///< of the process's attachment; 0: detached
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "page.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/process_state.hpp"
#include "base/unique_fd.hpp"
#include "bootstrap/status_mapping.hpp"

namespace shoal::top {
namespace {

const std::string kFile = std::string("/memfd:") + kStatusFileName;
constexpr const char* kAnyFile = "/memfd:shoal-status";

bool exists(pid_t pid) { return ::kill(pid, 0) == 0 || errno == EPERM; }

/// The status page among the descriptors of `pid`; empty when there is none. @throws Error for one of another version
UniqueFd find_in(pid_t pid) {
  const std::string folder = strf("/proc/%d/fd/", static_cast<int>(pid));
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return UniqueFd();
  UniqueFd found;
  bool other_version = false;
  while (const dirent* entry = ::readdir(entries)) {
    char target[128] = "";
    if (::readlink((folder + entry->d_name).c_str(), target, sizeof target - 1) <= 0) continue;
    if (std::strncmp(target, kAnyFile, std::strlen(kAnyFile)) != 0) continue;
    if (std::strncmp(target, kFile.c_str(), kFile.size()) == 0)
      found.reset(::open((folder + entry->d_name).c_str(), O_RDONLY | O_CLOEXEC));
    else
      other_version = true;
  }
  ::closedir(entries);
  if (!found && other_version)
    throw Error(Code::unsupported,
                strf("the job of process %d runs under another version of Shoal: use its own shoal-top",
                     static_cast<int>(pid)));
  return found;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::ifstream file(strf("/proc/%d/task/%d/children", static_cast<int>(pid), static_cast<int>(pid)));
  std::vector<pid_t> children;
  for (pid_t child; file >> child;) children.push_back(child);
  return children;
}

bool is_launcher(pid_t pid) {
  char program[PATH_MAX] = "";
  if (::readlink(strf("/proc/%d/exe", static_cast<int>(pid)).c_str(), program, sizeof program - 1) <= 0) return false;
  const std::string name = program;
  return name.ends_with("/shoalrun") || name.ends_with("/shoalrun (deleted)");
}

/// A launcher's outer process has the page only in its child. Other ancestors may have several jobs below them.
UniqueFd find(pid_t pid) {
  if (UniqueFd found = find_in(pid)) return found;
  if (!is_launcher(pid)) return UniqueFd();
  for (const pid_t child : children_of(pid))
    if (UniqueFd found = find_in(child)) return found;
  return UniqueFd();
}

/// Whoever is meant by an ancestor's pid; 0: nobody near.
pid_t find_below(pid_t pid, int depth) {
  for (const pid_t child : children_of(pid)) {
    if (is_launcher(child) || find_in(child)) return child;
    if (const pid_t found = depth > 1 ? find_below(child, depth - 1) : 0) return found;
  }
  return 0;
}

[[noreturn]] void reject(pid_t pid) {
  const pid_t below = find_below(pid, 3);
  throw Error(Code::invalid_argument,
              strf("process %d belongs to no job of several PEs that may be looked at: give the pid of shoalrun or of "
                   "a PE, of the same user%s",
                   static_cast<int>(pid),
                   below != 0 ? strf(", such as %d, which it started", static_cast<int>(below)).c_str() : ""));
}

}  // namespace

Page::Page(pid_t pid) {
  if (!exists(pid)) throw Error(Code::invalid_argument, strf("there is no process %d", static_cast<int>(pid)));
  const UniqueFd file = find(pid);
  struct stat s;
  if (!file || ::fstat(file.get(), &s) != 0 || s.st_size < static_cast<off_t>(sizeof(StatusRecord))) reject(pid);
  length_ = static_cast<std::size_t>(s.st_size);
  void* at = ::mmap(nullptr, length_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) throw_errno("mmap of the status page");
  records_ = static_cast<const StatusRecord*>(at);
}

std::size_t Page::n_pes() const {
  const std::uint64_t said = records_[0].counters.n_pes.load(std::memory_order_relaxed);
  const std::size_t room = length_ / sizeof(StatusRecord);
  return said == 0 ? room : std::min<std::size_t>(said, room);
}

Page::~Page() {
  if (records_ != nullptr) ::munmap(const_cast<StatusRecord*>(records_), length_);
}

std::vector<PeView> Page::read(std::uint64_t now) const {
  std::vector<PeView> views;
  for (std::size_t pe = 0; pe < n_pes(); ++pe) {
    const Counters& counters = records_[pe].counters;
    const auto load = [](const std::atomic<std::uint64_t>& value) { return value.load(std::memory_order_relaxed); };
    PeView view;
    view.state.status = read_status(records_[pe]);
    const Status& status = view.state.status;
    view.state.known = status.pid != 0;
    if (view.state.known && !exists(status.pid)) view.state.ended = kHasEnded;
    if (view.state.known) view.state.stopped = how_stopped(status.pid);
    const bool waits = status.phase == Phase::waiting;
    view.waits = load(counters.waits) + (waits ? 1 : 0);
    view.waited_ns = load(counters.waited_ns) + (waits && now > status.since_ns ? now - status.since_ns : 0);
    view.heap_bytes = load(counters.heap_bytes);
    view.heap_used = load(counters.heap_used);
    view.operations = load(counters.operations);
    view.bytes = load(counters.bytes);
    view.watched = load(counters.watched) != 0;
    views.push_back(std::move(view));
  }
  return views;
}

bool Page::alive() const {
  for (std::size_t pe = 0; pe < n_pes(); ++pe) {
    const int pid = read_status(records_[pe]).pid;
    if (pid != 0 && exists(pid)) return true;
  }
  return false;
}

}  // namespace shoal::top

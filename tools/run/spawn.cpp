// SPDX-License-Identifier: Apache-2.0
#include "spawn.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "base/options.hpp"

namespace shoal::run {
namespace {

constexpr int kFirstFd = 100;
constexpr const char* kShell = "/bin/sh";

bool is_elf(const std::string& path) {
  char head[4] = {};
  std::ifstream(path, std::ios::binary).read(head, sizeof head);
  return std::memcmp(head, "\177ELF", sizeof head) == 0;
}

/// 0 when `path` can be executed, else an errno.
int executable(const std::string& path) {
  struct stat s;
  if (::stat(path.c_str(), &s) != 0) return errno;
  if (S_ISDIR(s.st_mode)) return EISDIR;
  if (!S_ISREG(s.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

/// What to do about a file that may not be executed.
std::string remedy(const std::string& path, int error) {
  if (error != EACCES) return "";
  const auto ends = [&](std::initializer_list<const char*> endings) {
    return std::any_of(endings.begin(), endings.end(), [&](const char* ending) { return path.ends_with(ending); });
  };
  if (ends({".c"})) return "; it is a source: compile it first, shoalcc " + path + " -o PROGRAM";
  if (ends({".cpp", ".cc", ".cxx"})) return "; it is a source: compile it first, shoalc++ " + path + " -o PROGRAM";
  if (ends({".py"}))
    return "; run it by its interpreter, python3 " + path + ", or make it executable: chmod +x " + path;
  return "; make it executable, if it is a program: chmod +x " + path;
}

std::string variable_name(const std::string& entry) { return entry.substr(0, entry.find('=')); }

}  // namespace

std::string find_program(const std::string& name, int& status) {
  int error = ENOENT;
  if (name.find('/') != std::string::npos) {
    error = executable(name);
    if (error == 0) return name;
    status = error == ENOENT || error == ENOTDIR ? kNotFound : kCannotExecute;
    throw Error(Code::invalid_argument,
                strf("cannot run %s: %s%s", name.c_str(), std::strerror(error), remedy(name, error).c_str()));
  }
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  std::string denied;
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find(':', start), path.size());
    const std::string folder = path.substr(start, end - start),
                      candidate = (folder.empty() ? "." : folder) + "/" + name;
    error = executable(candidate);
    if (error == 0) return candidate;
    if (error == EACCES && denied.empty()) denied = candidate;
    start = end + 1;
  }
  status = denied.empty() ? kNotFound : kCannotExecute;
  if (!denied.empty())
    throw Error(Code::invalid_argument,
                strf("cannot run %s: Permission denied%s", denied.c_str(), remedy(denied, EACCES).c_str()));
  const bool here = executable("./" + name) == 0;
  throw Error(Code::invalid_argument, strf("cannot run %s: there is no such program in PATH%s%s%s", name.c_str(),
                                           here ? "; did you mean ./" : "", here ? name.c_str() : "", here ? "?" : ""));
}

std::string exec_failure_text(const std::string& program, int error) {
  std::string hint;
  if (error == ENOENT) hint = " (the interpreter or loader that it names does not exist)";
  if (error == ENOEXEC) hint = " (built for another kind of machine?)";
  return strf("cannot execute %s: %s%s", program.c_str(), std::strerror(error), hint.c_str());
}

UniqueFd move_up(UniqueFd fd) {
  const int moved = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFd);
  return moved >= 0 ? UniqueFd(moved) : std::move(fd);
}

Spawner::Spawner(const Settings& settings, int total, std::string program, const sigset_t& signals, const rlimit& files)
    : settings_(settings), program_(std::move(program)), signals_(signals), files_(files) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(static_cast<size_t>(core), &allowed)) cores_.push_back(core);
  if (cores_.empty()) cores_.push_back(0);

  for (const std::string& argument : settings_.program) arguments_.push_back(const_cast<char*>(argument.c_str()));
  arguments_.push_back(nullptr);

  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name = variable_name(*entry);
    const bool replaced = std::any_of(settings_.environment.begin(), settings_.environment.end(),
                                      [&](const auto& given) { return given.first == name; });
    if (!replaced && !is_launcher_variable(name)) environment_.emplace_back(*entry);
  }
  for (size_t i = 0; i < settings_.environment.size(); ++i) {
    const std::string& name = settings_.environment[i].first;
    const bool given_again =
        std::any_of(settings_.environment.begin() + static_cast<std::ptrdiff_t>(i) + 1, settings_.environment.end(),
                    [&](const auto& later) { return later.first == name; });
    if (!given_again) environment_.push_back(name + "=" + settings_.environment[i].second);
  }
  environment_.push_back(strf("SHOAL_NPES=%d", total));

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw_errno("pipe2");
  failures_.reset(ends[0]);
  failure_writer_.reset(ends[1]);
}

pid_t Spawner::start(int pe, int number, const Wiring& wiring) {
  std::vector<std::string> own = {strf("SHOAL_PE=%d", number), strf("SHOAL_STORE_FD=%d", wiring.store_fd),
                                  strf("SHOAL_LIFE_FD=%d", wiring.life_fd),
                                  strf("SHOAL_STATUS_FD=%d", wiring.status_fd)};
  if (wiring.secret_fd >= 0) own.push_back(strf("SHOAL_SECRET_FD=%d", wiring.secret_fd));
  std::vector<char*> environment;
  for (const std::string& entry : environment_) environment.push_back(const_cast<char*>(entry.c_str()));
  for (const std::string& entry : own) environment.push_back(const_cast<char*>(entry.c_str()));
  environment.push_back(nullptr);

  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw_errno("fork");
  if (pid == 0) become(pe, wiring, environment, parent);
  ::setpgid(pid, pid);  // also done by the child: whoever comes first
  return pid;
}

void Spawner::become(int pe, const Wiring& wiring, const std::vector<char*>& environment, pid_t parent) const {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(128 + SIGKILL);
  if (settings_.bind_core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(core_of(pe)), &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  const int streams[] = {wiring.in, wiring.out, wiring.err};
  for (int i = 0; i < 3; ++i)
    if (streams[i] >= 0) ::dup2(streams[i], i);
  for (const int fd : {wiring.store_fd, wiring.life_fd, wiring.status_fd, wiring.secret_fd}) ::fcntl(fd, F_SETFD, 0);
  ::setrlimit(RLIMIT_NOFILE, &files_);
  ::sigprocmask(SIG_UNBLOCK, &signals_, nullptr);

  ::execve(program_.c_str(), arguments_.data(), environment.data());
  int error = errno;
  if (error == ENOEXEC && !is_elf(program_)) {  // a script without "#!", which shells run themselves
    std::vector<char*> arguments = arguments_;
    arguments[0] = const_cast<char*>(program_.c_str());
    arguments.insert(arguments.begin(), const_cast<char*>(kShell));
    ::execve(kShell, arguments.data(), environment.data());
    error = errno;
  }
  const ExecFailure failure{pe, error};
  [[maybe_unused]] const ssize_t written = ::write(failure_writer_.get(), &failure, sizeof failure);
  ::_exit(kCannotExecute);
}

}  // namespace shoal::run

// SPDX-License-Identifier: Apache-2.0
#include "observe/caller.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "observe/own_code.hpp"

namespace shoal {
namespace {

constexpr int kDeepest = 24;
constexpr std::uint64_t kPatienceNs = 3'000'000'000;  // with addr2line and much debug information

/// What `arguments` print on standard output; empty when they cannot be run or take too long.
std::string output_of(const std::array<const char*, 8>& arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writer.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  // Without this program's environment: it may preload into everything that it starts.
  static const char* const kEnvironment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", nullptr};
  const int error = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, const_cast<char* const*>(arguments.data()),
                                   const_cast<char* const*>(kEnvironment));
  ::posix_spawn_file_actions_destroy(&actions);
  writer.reset();
  if (error != 0) return {};
  std::string text;
  const std::uint64_t until = now_ns() + kPatienceNs;
  for (pollfd ready{reader.get(), POLLIN, 0}; now_ns() < until;) {
    char bytes[1024];
    if (::poll(&ready, 1, 100) <= 0) continue;
    const ssize_t n = ::read(reader.get(), bytes, sizeof bytes);
    if (n <= 0) break;
    text.append(bytes, static_cast<std::size_t>(n));
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return text;
}

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

}  // namespace

std::uintptr_t caller_address() noexcept {
  void* frames[kDeepest];
  const int depth = ::backtrace(frames, kDeepest);
  const std::shared_ptr<const OwnCode> own = OwnCode::now();
  std::uintptr_t in_header = 0;
  bool inside = false, through_runtime = false;
  for (int i = 0; i < depth; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(frames[i]);
    if (own->in_library(address)) {
      inside = true;
      continue;
    }
    if (!inside) continue;
    through_runtime = through_runtime || own->in_runtime(address);
    if (own->in_runtime(address) || (through_runtime && i == depth - 1))
      continue;  // a handler of exit, or a thread of the library; _start is behind
    if (!own->in_header(address - 1)) return address;
    if (in_header == 0) in_header = address;
  }
  return in_header;
}

std::uint64_t number_of_code(std::uintptr_t address) noexcept {
  const std::shared_ptr<const OwnCode> own = OwnCode::now();
  const OwnCode::Module* const module = own->module_of(address);
  if (module == nullptr) return address;
  const char* const name = module->name.empty() ? ::program_invocation_name : module->name.c_str();
  return std::hash<std::string_view>()(base_name(name)) + (address - module->base);
}

std::string describe_code(std::uintptr_t address) {
  const std::shared_ptr<const OwnCode> own = OwnCode::now();
  const OwnCode::Module* const module = own->module_of(address);
  if (module == nullptr) return "an unknown place";
  // A return address is behind the call; the byte before it belongs to the call's own line.
  const std::uintptr_t within = address - 1 - module->base;
  char program[4096] = "";
  if (!module->name.empty() || ::readlink("/proc/self/exe", program, sizeof program - 1) <= 0)
    std::strncpy(program, module->name.empty() ? ::program_invocation_name : module->name.c_str(), sizeof program - 1);
  const std::string offset = strf("%#zx", static_cast<std::size_t>(within));
  const std::string lines = output_of({"addr2line", "-i", "-f", "-C", "-e", program, offset.c_str(), nullptr});
  // Two lines, a function and a place, of what the address is in, and of what each was inlined into.
  std::istringstream told(lines);
  std::string function, place;
  for (std::string outer, there; std::getline(told, outer) && std::getline(told, there);) {
    if (there.compare(0, 2, "??") == 0 || there.ends_with(":?")) break;  // no line
    function = outer;
    place = there.substr(0, there.find(' '));
    if (!is_header_path(place.c_str())) break;
  }
  if (!place.empty()) return strf("%s (%s)", base_name(place.c_str()), function.c_str());
  const std::string name = function_at(program, within);
  return strf("%s+%s%s", base_name(program), offset.c_str(), name.empty() ? "" : (" (" + name + ")").c_str());
}

}  // namespace shoal

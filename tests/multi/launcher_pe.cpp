// SPDX-License-Identifier: Apache-2.0
// A PE made of the bootstrap alone, for the tests of the launcher: does what its arguments say, in turn.
//
//   launcher_pe hello barrier 1:kill:9 wait        "1:" in front: only PE 1 does it
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "bootstrap/find.hpp"
#include "bootstrap/status_mapping.hpp"

namespace {

using namespace shoal;

const char* environment(const char* name) { return std::getenv(name); }

int rank_in_environment() {
  const char* text = environment("SHOAL_PE");
  return text == nullptr ? 0 : std::atoi(text);
}

[[noreturn]] void sleep_for_ever() {
  while (true) ::pause();
}

[[noreturn]] void spin() {
  while (true) asm volatile("");
}

class Pe final {
 public:
  void act(const std::string& verb, const std::string& value) {
    if (verb == "hello") hello();
    else if (verb == "barrier") bootstrap_->barrier();
    else if (verb == "allgather") allgather();
    else if (verb == "leave") leave();
    else if (verb == "sessions") sessions(std::atoi(value.c_str()));
    else if (verb == "watch") bootstrap_->watch();
    else if (verb == "abort") abort(value);
    else if (verb == "exit") ::_exit(std::atoi(value.c_str()));
    else if (verb == "exitnow") std::exit(std::atoi(value.c_str()));
    else if (verb == "threadexit") ::pthread_exit(nullptr);
    else if (verb == "daemon") become_daemon(std::atoi(value.c_str()));
    else if (verb == "pause") ::poll(nullptr, 0, std::atoi(value.c_str()));
    else if (verb == "kill") ::raise(std::atoi(value.c_str()));
    else if (verb == "print") std::fputs(value.c_str(), stdout);
    else if (verb == "say") std::printf("%s\n", value.c_str()), std::fflush(stdout);
    else if (verb == "write") [[maybe_unused]] const ssize_t n = ::write(std::atoi(environment("SHOAL_STORE_FD")), value.data(), value.size());
    else if (verb == "fork") fork_and_wait();
    else if (verb == "orphan") orphan();
    else if (verb == "closefd") ::close(std::atoi(environment("SHOAL_STORE_FD")));
    else if (verb == "wait") wait();
    else if (verb == "spin") spin();
    else throw Error(Code::invalid_argument, "unknown verb " + verb);
  }

 private:
  void set(Phase phase, const char* call, const char* detail) { StatusWriter(status_->record(bootstrap_->rank())).set(phase, call, detail); }
  void hello() {
    bootstrap_ = find_bootstrap(environment);
    static const int told = ::on_exit(
        [](int status, void* pe) {
          const auto& bootstrap = static_cast<Pe*>(pe)->bootstrap_;
          if (bootstrap != nullptr) bootstrap->exiting(status);
        },
        this);
    if (told != 0) throw Error(Code::system, "on_exit");
    status_ = std::make_unique<StatusMapping>(StatusMapping::open(environment, bootstrap_->size()));
    set(Phase::running, "", "");
  }
  void leave() {
    set(Phase::leaving, "", "");
    bootstrap_->leave();
    set(Phase::left, "", "");
    bootstrap_.reset();
  }
  void allgather() {
    const auto text = [](int rank) { return "PE " + std::to_string(rank * rank); };
    const std::string mine = text(bootstrap_->rank());
    const auto all = bootstrap_->allgather(std::as_bytes(std::span(mine)));
    for (int rank = 0; rank < bootstrap_->size(); ++rank) {
      if (all.text(static_cast<size_t>(rank)) != text(rank))
        throw Error(Code::peer, strf("allgather gave something else for PE %d", rank));
    }
  }
  void sessions(int count) {
    for (int i = 0; i < count; ++i) {
      hello();
      bootstrap_->watch();
      allgather();
      leave();
    }
  }
  void abort(const std::string& value) {
    const size_t colon = value.find(':');
    bootstrap_->abort(std::atoi(value.c_str()), colon == std::string::npos ? "" : value.substr(colon + 1));
  }
  void wait() {
    if (status_ != nullptr) set(Phase::waiting, "shmem_int_wait_until", "ivar=0x10, SHMEM_CMP_EQ, 1");
    sleep_for_ever();
  }
  /// A child that ends by exit, exit handlers and all, and one that executes something.
  void fork_and_wait() {
    for (const bool execute : {false, true}) {
      const pid_t child = ::fork();
      if (child == 0) {
        if (execute) ::execl("/bin/sh", "sh", "-c", "exit 6", static_cast<char*>(nullptr));
        bootstrap_.reset();
        std::exit(6);
      }
      int status = -1;
      if (::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 6)
        throw Error(Code::system, strf("the child ended with wait status %d", status));
    }
  }
  /// Goes on in a child, in a session of its own; the process that the launcher started ends, after so many
  /// milliseconds.
  void become_daemon(int pause_ms) {
    if (::fork() != 0) {
      ::poll(nullptr, 0, pause_ms);
      ::_exit(0);
    }
    ::setsid();
  }
  /// A process in a session of its own, whose parent is gone.
  void orphan() {
    if (::fork() == 0) {
      ::setsid();
      if (::fork() == 0) sleep_for_ever();
      ::_exit(0);
    }
    ::wait(nullptr);
  }

  std::unique_ptr<Bootstrap> bootstrap_;
  std::unique_ptr<StatusMapping> status_;
};

}  // namespace

int main(int argc, char** argv) {
  static Pe pe;  // for exit handlers to find
  try {
    for (int i = 1; i < argc; ++i) {
      std::string verb = argv[i];
      if (verb[0] >= '0' && verb[0] <= '9') {
        if (std::atoi(argv[i]) != rank_in_environment()) continue;
        verb.erase(0, verb.find(':') + 1);
      }
      const size_t colon = verb.find(':');
      pe.act(verb.substr(0, colon), colon == std::string::npos ? "" : verb.substr(colon + 1));
    }
  } catch (const std::exception& error) {
    shoal::print_line(rank_in_environment(), error.what());
    return 1;
  }
  return 0;
}

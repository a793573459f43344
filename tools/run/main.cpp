// SPDX-License-Identifier: Apache-2.0
// shoalrun: runs a program as the PEs of one job, on this machine or on several. docs/launching.md describes its
// behaviour.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "base/trace_file.hpp"
#include "command_line.hpp"
#include "federation.hpp"
#include "guard.hpp"
#include "job.hpp"
#include "report.hpp"
#include "spawn.hpp"
#include "traces.hpp"

namespace {

using namespace shoal;
using namespace shoal::run;

/// Descriptors 0 to 2 must be somebody's, or a pipe of ours would be taken for a standard stream.
void open_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || ::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) == fd) continue;
    say(strf("descriptor %d is closed, and /dev/null cannot be opened in its place: %s", fd, std::strerror(errno)));
    ::_exit(1);
  }
}

/// What asks for a table must not end who cannot give one yet: it waits until there is somebody to hear it.
void hold_inquiries() {
  struct sigaction action;
  if (::sigaction(SIGUSR1, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  sigset_t inquiries;
  ::sigemptyset(&inquiries);
  ::sigaddset(&inquiries, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &inquiries, nullptr);
}

int run_job(const Settings& settings, const std::string& program, int guard_fd) {
  try {
    std::unique_ptr<Federation> others;
    if (settings.nnodes > 1) {
      others = std::make_unique<Federation>(settings);
      if (const auto status = others->meet(guard_fd)) return *status;
    }
    return Job(settings, program, guard_fd, others.get()).run();
  } catch (const std::exception& error) {
    say(error.what());
    return 1;
  }
}

/// What the process that ran the job can no longer do. Where there are further launchers, their PEs may still write.
void rescue(const Settings& settings) {
  join_traces(settings, settings.npes, {}, [&](const std::string& trace) {
    if (settings.nnodes > 1 && trace_pieces(trace) > 0)
      say(strf(
          "the pieces %s.pe-* of the trace are left: shoalrun --join-trace %s joins them, once the job has ended on "
          "all machines",
          trace.c_str(), trace.c_str()));
    return settings.nnodes > 1 && trace_pieces(trace) > 0;
  });
  if (const std::string reports = reports_wanted(settings); !reports.empty())
    say(reports + ": no report, since the job was killed");
}

int run_from(int argc, char** argv) {
  int status = kUsage;
  try {
    const Settings settings = parse_command_line(std::vector<std::string>(argv + 1, argv + argc));
    if (!settings.show.empty()) {
      const bool shown = std::fputs(settings.show.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
      return shown ? 0 : 1;
    }
    if (!settings.wdir.empty() && ::chdir(settings.wdir.c_str()) != 0)
      throw Error(Code::invalid_argument, strf("--wdir %s: %s", settings.wdir.c_str(), std::strerror(errno)));
    if (!settings.join_trace.empty()) {
      status = 1;
      join_trace(settings.join_trace);
      return 0;
    }
    const std::string program = find_program(settings.program[0], status);
    status = 1;
    return run_guarded([&](int guard_fd) { return run_job(settings, program, guard_fd); }, [&] { rescue(settings); });
  } catch (const std::exception& error) {
    say(error.what());
    return status;
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_inquiries();
  open_standard_streams();
  return run_from(argc, argv);
}

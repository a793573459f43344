// SPDX-License-Identifier: Apache-2.0
#include "federation.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "guard.hpp"
#include "report.hpp"

namespace shoal::run {
namespace {

constexpr std::uint64_t kSayAfterNs = 5'000'000'000;  // when the user may wonder what it waits for
constexpr std::uint64_t kPartNs = 3'000'000'000;      // for the last words to reach node 0

/// The launcher judges its own options only: those of the PEs they judge themselves.
const char* launchers_environment(const char* name) {
  const std::string text = name;
  return text.starts_with("SHOAL_TLS") || text == "SHOAL_JOB_SECRET_FILE" || text == "SHOAL_SILENCE"
             ? process_environment(name)
             : nullptr;
}

int silence_s() {
  const std::int64_t silence = Options::from(launchers_environment).silence;
  check_range("SHOAL_SILENCE", silence, 1, 3600);
  return static_cast<int>(silence);
}

Credentials credentials_of(const Settings& settings) {
  Options options = Options::from(launchers_environment);
  if (settings.no_tls) options.tls = false;
  if (!settings.secret_file.empty()) options.job_secret_file = settings.secret_file;
  return Credentials::from(options);
}

}  // namespace

Federation::Federation(const Settings& settings)
    : settings_(settings),
      at_(parse_host_port(settings.rdzv, "--rdzv")),
      credentials_(credentials_of(settings)),
      tls_(credentials_.context(TlsPurpose::store)) {
  Uplink::Setup setup;
  setup.at = at_;
  setup.tls = tls_.get();
  setup.tag = "shoalrun";
  setup.join.members = setup.all_members = static_cast<std::uint32_t>(settings.nnodes);
  setup.join.member = static_cast<std::uint32_t>(settings.node_rank);
  setup.join.pes = static_cast<std::uint32_t>(settings.npes);
  const std::uint64_t by = now_ns() + static_cast<std::uint64_t>(settings.rdzv_timeout_s * 1e9);
  setup.connect_by_ns = by;
  setup.silence_s = silence_s();
  if (credentials_.plain)
    say("what travels between the nodes is neither encrypted nor authenticated (--no-tls, SHOAL_TLS=0)");
  if (settings.node_rank != 0) {
    uplink_ = std::make_unique<Uplink>(std::move(setup));
    return;
  }
  server_ = std::make_unique<RendezvousServer>(listen_at(at_),
                                               RendezvousServer::Setup{.kind = RendezvousServer::Kind::launchers,
                                                                       .members = settings.nnodes,
                                                                       .tag = setup.tag,
                                                                       .tls = tls_.get(),
                                                                       .join_by_ns = by,
                                                                       .silence_s = silence_s()});
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) throw_errno("socketpair");
  server_->adopt(UniqueFd(ends[0]));
  uplink_ = std::make_unique<Uplink>(UniqueFd(ends[1]), std::move(setup));
}

std::optional<Secret> Federation::job_secret() const {
  if (!credentials_.secret) return std::nullopt;
  std::string nonce;
  for (const std::byte b : meeting().nonce) nonce += strf("%02x", static_cast<unsigned>(b));
  return credentials_.secret->derive("job " + nonce);
}

int Federation::wait_ms() const {
  int least = uplink_->wait_ms();
  if (const int of_server = server_ != nullptr ? server_->wait_ms() : -1; of_server >= 0)
    least = least < 0 ? of_server : std::min(least, of_server);
  if (part_by_ns_ != 0) least = least < 0 ? 100 : std::min(least, 100);
  return least;
}

void Federation::progress() {
  if (server_ != nullptr) server_->progress();
  uplink_->progress();
  if (server_ == nullptr) return;
  server_->progress();  // what the uplink wrote
  for (const std::string& note : server_->take_notes()) say(note);
}

std::optional<int> Federation::meet(int guard_fd) {
  const sigset_t signals = handled_signals();
  const UniqueFd signal_fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signal_fd) throw_errno("signalfd");
  const std::uint64_t say_at = now_ns() + kSayAfterNs;
  bool said = false;
  while (true) {
    progress();
    if (uplink_->meeting() != nullptr) return std::nullopt;
    if (!uplink_->failure().empty()) {
      say(uplink_->failure());
      while (!parted()) {  // on node 0, the others are still to be told
        pollfd wait{server_fd(), POLLIN, 0};
        ::poll(&wait, 1, wait_ms());
        progress();
      }
      return 1;
    }
    if (!said && now_ns() >= say_at) {
      said = true;
      say_who_is_missing();
    }
    pollfd fds[] = {{signal_fd.get(), POLLIN, 0},
                    {guard_fd, POLLIN, 0},
                    {uplink_->fd(), uplink_->events(), 0},
                    {server_fd(), POLLIN, 0}};
    const int wait = wait_ms(), say_ms = said ? -1 : static_cast<int>(kSayAfterNs / 1'000'000);
    ::poll(fds, 4, wait < 0 ? say_ms : say_ms < 0 ? wait : std::min(wait, say_ms));
    if (const auto status = stopped_by(signal_fd.get(), guard_fd)) return status;
  }
}

std::optional<int> Federation::stopped_by(int signal_fd, int guard_fd) {
  pollfd guard{guard_fd, POLLIN, 0};
  if (::poll(&guard, 1, 0) > 0) return 128 + SIGKILL;
  signalfd_siginfo info;
  while (::read(signal_fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGUSR1) say_who_is_missing();
    if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP && signal != SIGQUIT) continue;
    const std::string text = strf("the launcher of node %d was ended by %s before the job began", settings_.node_rank,
                                  signal_text(signal).c_str());
    say(text);
    abort(128 + signal, text);
    for (const std::uint64_t by = now_ns() + kPartNs / 10; now_ns() < by && uplink_->failure().empty();) {
      progress();
      ::poll(nullptr, 0, 5);
    }
    return 128 + signal;
  }
  return std::nullopt;
}

void Federation::say_who_is_missing() {
  if (server_ != nullptr) return say("waiting at " + at_.text() + ": " + server_->missing());
  say(strf("waiting for node 0 at %s%s", at_.text().c_str(),
           uplink_->trouble().empty() ? " and the other nodes" : (" (" + uplink_->trouble() + ")").c_str()));
}

std::string Federation::failure() const {
  if (uplink_->failure().empty()) return "";
  const Meeting::Member& first = meeting().members[0];
  return strf("the launcher of node 0 (%s, %s) is gone: %s", first.host.c_str(), first.address.c_str(),
              uplink_->failure().c_str());
}

bool Federation::parted() {
  if (part_by_ns_ == 0) part_by_ns_ = now_ns() + kPartNs;
  if (now_ns() >= part_by_ns_) return true;
  return uplink_->fd() < 0 && (server_ == nullptr || server_->over());
}

}  // namespace shoal::run

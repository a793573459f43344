// SPDX-License-Identifier: Apache-2.0
// shoal-top: what each PE of a running job is doing, once or live. docs/debugging.md shows it.
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "page.hpp"
#include "view.hpp"

namespace {

using namespace shoal;
using namespace shoal::top;

constexpr const char* kHelp =
    "usage: shoal-top [--once | --json] [--delay SECONDS] PID\n"
    "Shows what each PE of a running job of several PEs is doing. PID is shoalrun's or any PE's.\n"
    "  --once           print the table once: the call that each PE waits in, and why, where it can be told\n"
    "  --json           the same as JSON: {\"pes\": [...], \"verdicts\": [sentences]}, of each PE pe, pid, phase\n"
    "                   (starting, running, waiting, leaving, closing, left, unknown), ended, call, arguments,\n"
    "                   seconds (in this phase), waits (that lasted), waited_seconds, heap_bytes, heap_used,\n"
    "                   operations and bytes (null unless the job runs with SHOAL_PROFILE or SHOAL_TRACE)\n"
    "  --delay SECONDS  between two pictures of the live view (default 1); q ends it\n"
    "  --help, --version\n"
    "Exit status: 0, or 1 when its output cannot be written, 2 for wrong arguments or when there is no such job.\n";

struct Settings {
  enum class Form { live, once, json } form = Form::live;
  double delay_s = 1;
  pid_t pid = 0;
  std::string show = {};
};

[[noreturn]] void reject(const std::string& what) {
  throw Error(Code::invalid_argument, what + "; see shoal-top --help");
}

template <class T>
T number_of(const std::string& text, const char* what) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value > 0))
    reject(strf("\"%s\" is no %s", text.c_str(), what));
  return value;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--once")
      settings.form = Settings::Form::once;
    else if (word == "--json")
      settings.form = Settings::Form::json;
    else if (word == "--help" || word == "-h")
      settings.show = kHelp;
    else if (word == "--version")
      settings.show = "shoal-top " SHOAL_VERSION "\n";
    else if (word.starts_with("--delay="))
      settings.delay_s = number_of<double>(word.substr(word.find('=') + 1), "number of seconds");
    else if (word == "--delay" && i + 1 < argc)
      settings.delay_s = number_of<double>(argv[++i], "number of seconds");
    else if (word == "--delay")
      reject("--delay needs a number of seconds");
    else if (word.starts_with("-"))
      reject("there is no option " + word);
    else if (settings.pid != 0)
      reject("more than one pid is given");
    else
      settings.pid = number_of<pid_t>(word, "pid");
  }
  if (settings.pid == 0 && settings.show.empty()) reject("the pid is missing");
  return settings;
}

Look look_at(const Page& page) {
  const std::uint64_t now = now_ns();
  return {now, page.read(now)};
}

/// The terminal without line editing, for as long as this lives.
class RawInput final {
 public:
  RawInput() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    changed_ = true;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  ~RawInput() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  RawInput(const RawInput&) = delete;
  RawInput& operator=(const RawInput&) = delete;

 private:
  termios before_{};
  bool changed_ = false;
};

int columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 120;
}

/// Until the job has ended, or q or a signal ends it.
void show_live(const Page& page, double delay_s) {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ends, signal);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  const RawInput raw;
  Look before = look_at(page);
  std::fputs("\033[?1049h", stdout);  // a screen of its own, so that the terminal is as before afterwards
  for (bool on = true; on;) {
    const Look now = look_at(page);
    std::fputs(("\033[H\033[2J" + as_screen(now, before, columns())).c_str(), stdout);
    std::fflush(stdout);
    before = now;
    const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(delay_s * 1e9);
    while (on && now_ns() < until) {
      pollfd input{STDIN_FILENO, POLLIN, 0};
      char key = 0;
      if (::poll(&input, 1, 50) > 0 && (::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q')) on = false;
      const timespec none{};
      if (::sigtimedwait(&ends, nullptr, &none) > 0 || !page.alive()) on = false;
    }
  }
  std::fputs("\033[?1049l", stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Settings settings = parse(argc, argv);
    if (settings.show.empty()) {
      const Page page(settings.pid);
      // Where there is no screen, one picture is what is wanted.
      const bool live = settings.form == Settings::Form::live && ::isatty(STDOUT_FILENO) && ::isatty(STDIN_FILENO);
      if (live) show_live(page, settings.delay_s);
      const Look look = look_at(page);
      std::fputs((settings.form == Settings::Form::json ? as_json(look) : as_table(look)).c_str(), stdout);
    } else {
      std::fputs(settings.show.c_str(), stdout);
    }
    return std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shoal-top: %s\n", error.what());
    return 2;
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <cctype>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/options.hpp"
#include "bootstrap/address.hpp"
#include "topology/node_map.hpp"

namespace shoal::run {
namespace {

constexpr const char* kHelp = R"(Runs a program as the PEs of one job, on this machine or on several.

usage: shoalrun [options] program [arguments...]

  -n N, -np N, --np N     number of PEs (needed)
  --bind none|core        core: PE i runs on the (i mod cores)-th core that shoalrun may use; none (default): anywhere
  --fake-nodes SPEC       pretend that the PEs are on several machines, which share no memory: a number of nodes such
                          as 2 (blocks), 2:cyclic, or the node of each PE such as 0,1,0,1
  --tag-output            put "[i] " before each line that PE i writes; lines never mix
  --timeout S             end the job after S seconds of wall time: print what every PE is doing, exit status 3
  --env NAME=VALUE        set an environment variable in the PEs (they inherit shoalrun's environment anyway)
  -x NAME[=VALUE]         the same; without a value, insist that NAME is set
  --wdir DIR              change to DIR first
  --verbose               say what is started and how it ended
  --join-trace NAME.json  run nothing: join the pieces NAME.json.pe-N that a job left whose launcher was killed, too
  --help, --version       print this, or the version

Over several machines, the same line on each, but for --node-rank:
  --nnodes N              how many there are; each has its own -n, and PEs are numbered node by node
  --node-rank R           which one this is, from 0 on
  --rdzv HOST[:PORT]      where they meet: a name or address of node 0 (port 8666 unless given)
  --secret-file FILE      the job secret, the same on all: 32 bytes or more, mode 0600 (or SHOAL_JOB_SECRET_FILE; or
                          certificates, see docs/security.md)
  --no-tls                neither encrypt nor authenticate, on a network that you trust (as SHOAL_TLS=0)
  --rdzv-timeout S        give up when not all have come within S seconds (default 120)

Options end at the program's name, or at "--". Standard input goes to PE 0; the others read from /dev/null.
The program need not use Shoal, and may be a script that starts one: shoalrun -n 2 bash -c './prepare && ./app'.

Signals sent to shoalrun (INT, TERM, HUP, QUIT, USR2, TSTP, CONT) reach all PEs; a second INT or TERM, or 5 s after the
first, kills them. USR1 prints one line per PE that says what it is doing, and the job goes on.

A PE that dies ends the whole job: one line says which, where and how. Exit status: that of a PE that failed (the
largest when all ended by themselves); 128 + the signal when one was killed; what shmem_global_exit was given; 2 bad
usage; 3 timeout; 126 the program cannot be executed; 127 it was not found.

Example: shoalrun -n 4 --tag-output ./hello
)";

constexpr int kMaxPes = 1 << 15;
constexpr int kMaxNodes = 1 << 17;

struct Row {
  const char* name;
  char what;  // what parse does with it
  bool takes_value;
};
constexpr Row kRows[] = {
    {"-n", 'n', true},           {"-np", 'n', true},           {"--np", 'n', true},       {"--bind", 'b', true},
    {"--fake-nodes", 'f', true}, {"--tag-output", 't', false}, {"--timeout", 's', true},  {"--env", 'e', true},
    {"-x", 'x', true},           {"--wdir", 'w', true},        {"--verbose", 'v', false}, {"--help", 'h', false},
    {"-h", 'h', false},          {"--version", 'V', false},    {"--nnodes", 'N', true},   {"--node-rank", 'R', true},
    {"--rdzv", 'Z', true},       {"--secret-file", 'S', true}, {"--no-tls", 'T', false},  {"--rdzv-timeout", 'J', true},
    {"--join-trace", 'j', true},
};

[[noreturn]] void reject(const std::string& text) {
  throw Error(Code::invalid_argument, text + " (see shoalrun --help)");
}

/// Finds "--name", "--name=value", "-n4"; the latter two give the value as well.
const Row& find_row(const std::string& argument, std::string& value, bool& has_value) {
  for (const Row& row : kRows) {
    const std::string name = row.name;
    if (argument == name) return row;
    if (name.starts_with("--") && argument.starts_with(name + "=")) {
      if (!row.takes_value) reject(strf("%s takes no value, but %s was given", row.name, argument.c_str()));
      value = argument.substr(name.size() + 1);
      has_value = true;
      return row;
    }
  }
  if (argument.starts_with("-n") && argument.size() > 2 && argument[2] >= '0' && argument[2] <= '9') {
    value = argument.substr(2);
    has_value = true;
    return kRows[0];
  }
  reject(strf("unknown option %s", argument.c_str()));
}

/// What follows an option whose value was forgotten: another one, or the program.
bool is_no_number(const std::string& text) {
  const bool option = text.size() > 1 && text[0] == '-' && std::isdigit(static_cast<unsigned char>(text[1])) == 0;
  return option || text.find('/') != std::string::npos;
}

int parse_npes(const std::string& option, const std::string& value) {
  std::int64_t number = 0;
  try {
    number = parse_integer(value, option);
  } catch (const Error&) {
    reject(
        strf("%s %s: the number of PEs must be a whole number from 1 to %d", option.c_str(), value.c_str(), kMaxPes));
  }
  if (number < 1 || number > kMaxPes)
    reject(strf("%s %s: the number of PEs must be from 1 to %d", option.c_str(), value.c_str(), kMaxPes));
  return static_cast<int>(number);
}

int parse_number(const std::string& option, const std::string& value, int low, int high) {
  try {
    const std::int64_t number = parse_integer(value, option);
    if (number >= low && number <= high) return static_cast<int>(number);
  } catch (const Error&) {
  }
  reject(strf("%s %s: expected a whole number from %d to %d", option.c_str(), value.c_str(), low, high));
}

/// That what was said of several machines makes sense together.
void check_nodes(Settings& settings) {
  if (settings.node_rank >= settings.nnodes)
    reject(strf("--node-rank %d: with --nnodes %d it is from 0 to %d", settings.node_rank, settings.nnodes,
                settings.nnodes - 1));
  if (settings.nnodes > 1 && settings.rdzv.empty())
    reject(
        "--nnodes needs --rdzv HOST[:PORT], a name or address of node 0 and a free port there: that is where the "
        "machines meet");
  if (!settings.rdzv.empty() && !settings.nnodes_given)
    reject("--rdzv needs --nnodes N, how many machines meet there; without it this machine would be a job of its own");
  if (!settings.rdzv.empty()) parse_host_port(settings.rdzv, "--rdzv");
  if (settings.no_tls) settings.environment.emplace_back("SHOAL_TLS", "0");  // the PEs have to agree
}

double parse_seconds(const char* name, const std::string& value) {
  char* end = nullptr;
  const double seconds = std::strtod(value.c_str(), &end);
  if (value.empty() || value.find_first_not_of("0123456789.") != std::string::npos || *end != '\0' || !(seconds > 0) ||
      seconds > 1e9)
    reject(strf("%s %s: expected seconds, such as 30 or 0.5", name, value.c_str()));
  return seconds;
}

void add_environment(Settings& settings, const std::string& option, const std::string& value) {
  const size_t equals = value.find('=');
  const std::string name = value.substr(0, equals);
  if (name.empty()) reject(strf("%s %s: expected NAME=VALUE", option.c_str(), value.c_str()));
  if (is_launcher_variable(name))
    reject(strf("%s %s: shoalrun sets this variable itself", option.c_str(), value.c_str()));
  if (equals != std::string::npos) {
    settings.environment.emplace_back(name, value.substr(equals + 1));
    return;
  }
  if (option == "--env") reject(strf("--env %s: expected NAME=VALUE", value.c_str()));
  if (std::getenv(name.c_str()) == nullptr)
    reject(strf("-x %s: there is no such variable in the environment; give its value: -x %s=VALUE", name.c_str(),
                name.c_str()));
}

void apply(Settings& settings, const Row& row, const std::string& value) {
  switch (row.what) {
    case 'n': settings.npes = parse_npes(row.name, value); break;
    case 't': settings.tag_output = true; break;
    case 'v': settings.verbose = true; break;
    case 's': settings.timeout_s = parse_seconds(row.name, value); break;
    case 'N':
      settings.nnodes = parse_number(row.name, value, 1, kMaxNodes);
      settings.nnodes_given = true;
      break;
    case 'R': settings.node_rank = parse_number(row.name, value, 0, kMaxNodes - 1); break;
    case 'Z': settings.rdzv = value; break;
    case 'S': settings.secret_file = value; break;
    case 'T': settings.no_tls = true; break;
    case 'J': settings.rdzv_timeout_s = parse_seconds(row.name, value); break;
    case 'e':
    case 'x': add_environment(settings, row.name, value); break;
    case 'j':
      if (!value.ends_with(".json"))
        reject(strf("--join-trace %s: expected the name of a trace, NAME.json", value.c_str()));
      settings.join_trace = value;
      break;
    case 'h': settings.show = kHelp; break;
    case 'f': settings.fake_nodes = value; break;
    case 'V': settings.show = "shoalrun " SHOAL_VERSION " (Shoal)\n"; break;
    case 'w':
      if (value.empty()) reject("--wdir: the directory's name is empty");
      settings.wdir = value;
      break;
    case 'b':
      if (value != "none" && value != "core") reject(strf("--bind %s: expected none or core", value.c_str()));
      settings.bind_core = value == "core";
      break;
  }
}

}  // namespace

Settings parse_command_line(const std::vector<std::string>& arguments) {
  Settings settings;
  size_t i = 0;
  for (; i < arguments.size() && arguments[i].starts_with("-") && arguments[i] != "-"; ++i) {
    if (arguments[i] == "--") {
      ++i;
      break;
    }
    std::string value;
    bool has_value = false;
    const Row& row = find_row(arguments[i], value, has_value);
    if (row.takes_value && !has_value) {
      if (i + 1 == arguments.size()) reject(strf("%s needs a value", row.name));
      value = arguments[++i];
      if (std::strchr("nsNRJ", row.what) != nullptr && is_no_number(value))
        reject(strf("%s needs a number; its value is missing before %s", row.name, value.c_str()));
    }
    apply(settings, row, value);
    if (!settings.show.empty() || !settings.join_trace.empty()) return settings;
  }
  settings.program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
  if (settings.program.empty()) reject("no program given: shoalrun -n N program [arguments...]");
  if (settings.program[0].empty()) reject("the program's name is empty");
  if (settings.npes == 0) reject("the number of PEs is missing: give -n N");
  check_nodes(settings);
  if (!settings.fake_nodes.empty()) {
    try {
      // Over several machines nobody knows yet how many PEs there will be: the PEs judge it.
      if (settings.nnodes == 1) fake_nodes(settings.fake_nodes, settings.npes, "--fake-nodes ");
    } catch (const Error& error) {
      reject(error.what());
    }
    settings.environment.emplace_back("SHOAL_FAKE_NODES", settings.fake_nodes);
  }
  return settings;
}

}  // namespace shoal::run

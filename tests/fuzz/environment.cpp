// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "base/error.hpp"
#include "base/options.hpp"
#include "bootstrap/address.hpp"
#include "run/command_line.hpp"
#include "targets.hpp"
#include "topology/node_map.hpp"

namespace shoal::fuzz {
namespace {

/// Runs `read`, which may refuse with one of `codes` and a message.
template <class Read>
void refusing(std::initializer_list<Code> codes, Read&& read) {
  try {
    read();
  } catch (const Error& error) {
    require(std::find(codes.begin(), codes.end(), error.code()) != codes.end(), "refused for another reason than it may");
    require(error.what()[0] != '\0', "refused without a word");
  }
}

/// The environment has no zero bytes.
std::string text_of(std::string_view input) { return std::string(input.substr(0, input.find('\0'))); }

void options(std::string_view input) {
  const std::string text = text_of(input);
  refusing({Code::invalid_option}, [&] {
    const std::uint64_t size = parse_size(text, "SIZE");
    require(size >= 1 && size <= std::uint64_t{1} << 62, "parse_size gave what is no size");
  });
  refusing({Code::invalid_option}, [&] { parse_integer(text, "NUMBER"); });
  // A line is one variable's; all others have the whole text.
  refusing({Code::invalid_option}, [&] { Options::from([&](const char*) { return text.c_str(); }); });
  for (const char* name : {"SHMEM_SYMMETRIC_SIZE", "SHOAL_CHECK", "SHOAL_LOG", "SHOAL_SPIN"})
    refusing({Code::invalid_option}, [&] {
      Options::from([&](const char* asked) { return std::string_view(asked) == name ? text.c_str() : nullptr; });
    });
  describe_options([&](const char*) { return text.c_str(); });
  const std::string entry = "SHOAL_" + text;
  const char* const environment[] = {text.c_str(), entry.c_str(), nullptr};
  find_unknown(environment);
}
std::vector<std::string> option_seeds() {
  return {"1.5g", "512m", "0", "-1", "auto", "on", "1e9", "0x10", "9999999999999999999999t", ".5k", "1:", "debug", "CHEKC=1", "SPIN=100"};
}

void address(std::string_view input) {
  refusing({Code::invalid_option}, [&] {
    const HostPort read = parse_host_port(text_of(input), "--rdzv");
    require(read.port >= 0 && read.port <= 65535, "a port out of range");
    if (!read.local() && !read.host.empty()) {
      const HostPort again = parse_host_port(read.text(), "--rdzv");
      require(again.local() || (again.host == read.host && again.port == read.port), "an address is not what its own text says");
    }
  });
}
std::vector<std::string> address_seeds() {
  return {"host", "host:8666", "[fe80::1%eth0]:8666", "::1", ":8666", "tcp://10.0.0.1:1", "unix:name", "[::]:0", "tcp://[fd00::1]"};
}

void node_map(std::string_view input) {
  Reader reader(input);
  const int pes = 1 + static_cast<int>(reader.byte());
  refusing({Code::invalid_option}, [&] {
    const std::vector<int> nodes = fake_nodes(text_of(reader.rest()), pes);
    require(nodes.size() == static_cast<std::size_t>(pes), "a map of another number of PEs");
    for (const int node : nodes) require(node >= 0, "a node below 0");
  });
}
std::vector<std::string> node_map_seeds() {
  return {"\x03" "2", "\x03" "2:cyclic", "\x03" "0,1,0,1", "\x01" "1", "\x08" "99:cyclic"};
}

/// Words are separated by newlines.
void command_line(std::string_view input) {
  std::vector<std::string> words;
  std::istringstream lines(text_of(input));
  for (std::string line; std::getline(lines, line);) words.push_back(line);
  refusing({Code::invalid_argument, Code::invalid_option}, [&] {
    const run::Settings settings = run::parse_command_line(words);
    if (!settings.show.empty()) return;  // nothing runs
    require(settings.npes >= 1 && !settings.program.empty(), "a job of nothing");
    require(settings.node_rank >= 0 && settings.node_rank < settings.nnodes, "a node that there is not");
  });
}
std::vector<std::string> command_line_seeds() {
  return {"-n\n4\n./app\n-n", "--timeout\n1.5\n-n4\napp", "-x\nA=b\n--env\nC\n--np\n2\na", "--nnodes=2\n--node-rank\n1\n--rdzv\nh:1\n-n\n1\na", "--help",
          "--fake-nodes\n2:cyclic\n-n\n4\na"};
}

}  // namespace

const std::vector<Target> kEnvironment{{"options", options, option_seeds},
                                       {"address", address, address_seeds},
                                       {"node_map", node_map, node_map_seeds},
                                       {"command_line", command_line, command_line_seeds}};

}  // namespace shoal::fuzz

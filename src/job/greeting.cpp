// SPDX-License-Identifier: Apache-2.0
#include "job/greeting.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "topology/node_map.hpp"
#include "topology/topology.hpp"

namespace shoal {
namespace {

constexpr unsigned kLayoutVersion = 5;  // raise it with any change of what PEs share in memory

constexpr long kMostCpus = 1 << 16;  // whatever a greeting says

/// A greeting is a row of texts, each ended by a zero byte. Behind the fixed ones: the options that must be alike.
enum Field : std::size_t { kVersion, kBoot, kStatic, kProgram, kProcessors, kQuota, kSession, kFirstOption };
using Fields = std::vector<std::string>;

Fields fields_of(std::span<const std::byte> bytes) {
  Fields fields;
  const auto* at = reinterpret_cast<const char*>(bytes.data());
  for (const char *end = at + bytes.size(), *zero; at != end; at = zero + 1) {
    zero = std::find(at, end, '\0');
    fields.emplace_back(at, zero);
    if (zero == end) break;
  }
  return fields;
}

/// Earlier versions say only a number.
std::string library_of(const Fields& fields) {
  const std::string said = fields.empty() ? "" : fields[kVersion];
  return said.starts_with("Shoal") ? said
                                   : strf("another version (\"%.40s\")", said.substr(0, said.find('\n')).c_str());
}

void check_alike(const Fields& theirs, const Fields& leader, std::span<const char* const> alike, std::size_t pe) {
  if (theirs.size() != leader.size() || leader.size() != kFirstOption + alike.size() ||
      theirs[kVersion] != leader[kVersion])
    throw Error(Code::peer, strf("PE %zu runs %s, and PE 0 %s: use one installation of Shoal for the whole job", pe,
                                 library_of(theirs).c_str(), library_of(leader).c_str()));
  std::string of_theirs, of_leader;
  for (std::size_t i = 0; i < alike.size(); ++i) {
    const std::string &theirs_here = theirs[kFirstOption + i], &leader_here = leader[kFirstOption + i];
    if (theirs_here == leader_here) continue;
    of_theirs += strf("%s%s=%s", of_theirs.empty() ? "" : ", ", alike[i], theirs_here.c_str());
    of_leader += strf("%s%s=%s", of_leader.empty() ? "" : ", ", alike[i], leader_here.c_str());
  }
  if (!of_theirs.empty())
    throw Error(Code::peer, strf("PE %zu has %s; PE 0 has %s: set these to the same everywhere", pe, of_theirs.c_str(),
                                 of_leader.c_str()));
}

/// "0-7 16 18-19"
std::string ranges_of(const std::vector<Cpu>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const int first = cpus[i].id;
    while (i + 1 < cpus.size() && cpus[i + 1].id == cpus[i].id + 1) ++i;
    text += first == cpus[i].id ? strf("%d ", first) : strf("%d-%d ", first, cpus[i].id);
  }
  return text;
}

void add_ranges(const std::string& text, std::set<long>& cpus) {
  std::istringstream ranges(text);
  for (std::string range; ranges >> range;) {
    char* end = nullptr;
    const long first = std::strtol(range.c_str(), &end, 10);
    const long last = *end == '-' ? std::strtol(end + 1, nullptr, 10) : first;
    for (long cpu = std::max(0L, first); cpu <= std::min(last, kMostCpus); ++cpu) cpus.insert(cpu);
  }
}

/// What the PEs said, each kind of greeting once: on a machine they say the same, as a rule.
struct Heard {
  std::vector<Fields> greetings;
  std::vector<std::size_t> of;  // by PE: which of them
  explicit Heard(const Gathered& all) {
    for (const auto& bytes : all) {
      if (of.empty() || bytes.data() != last_.data()) greetings.push_back(fields_of(bytes));
      of.push_back(greetings.size() - 1);
      last_ = bytes;
    }
  }
  const Fields& by(std::size_t pe) const { return greetings[of[pe]]; }

 private:
  std::span<const std::byte> last_;
};

/// How many processors the PEs of a machine have together. A PE's own mask says little: it may be bound to one core of
/// many.
int count_processors(const Heard& heard, const std::string& machine) {
  std::set<long> cpus;
  double quota = 0;
  for (const Fields& greeting : heard.greetings) {
    if (greeting[kBoot] != machine) continue;
    add_ranges(greeting[kProcessors], cpus);
    quota = std::max(quota, std::strtod(greeting[kQuota].c_str(), nullptr));
  }
  const int count = std::max(1, static_cast<int>(cpus.size()));
  return quota > 0 ? std::min(count, std::max(1, static_cast<int>(quota))) : count;
}

}  // namespace

Greetings greet(Bootstrap& bootstrap, int session, const Options& options, std::span<const char* const> alike,
                const StaticPlan& plan) {
  const Topology topology = read_topology();
  // The host's name says less, but something, where the kernel's number cannot be read.
  const std::string machine = topology.boot_id.empty() ? topology.host : topology.boot_id;
  Fields mine(kFirstOption);
  mine[kVersion] = strf("Shoal %s, memory layout %u", SHOAL_VERSION, kLayoutVersion);
  mine[kBoot] = machine;
  mine[kStatic] = std::to_string(plan.bytes());
  mine[kProgram] = plan.program();
  mine[kProcessors] = ranges_of(topology.cpus);
  mine[kQuota] = std::to_string(topology.cgroup.cpus.value_or(0));
  mine[kSession] = std::to_string(session);
  for (const char* name : alike) mine.push_back(options.text_of(name));
  std::string text;
  for (const std::string& field : mine) text.append(field).push_back('\0');
  const Heard heard(bootstrap.allgather(std::as_bytes(std::span(text))));

  const Fields& leader = heard.by(0);
  Greetings result;
  result.machine_pes = 0;
  std::map<std::string, int> machines;  // with a number each
  std::vector<std::pair<int, int>> nodes;
  for (std::size_t pe = 0; pe < heard.of.size(); ++pe) {
    const Fields& theirs = heard.by(pe);
    if (pe == 0 || heard.of[pe] != heard.of[pe - 1]) check_alike(theirs, leader, alike, pe);
    result.static_members.push_back(leader[kStatic] != "0" && theirs[kStatic] == leader[kStatic] &&
                                    theirs[kProgram] == leader[kProgram]);
    result.machine_pes += theirs[kBoot] == machine;
    result.session = std::max(result.session, std::atoi(theirs[kSession].c_str()));
    nodes.emplace_back(machines.try_emplace(theirs[kBoot], static_cast<int>(machines.size())).first->second, 0);
  }
  if (!options.fake_nodes.empty()) {
    const std::vector<int> pretended = fake_nodes(options.fake_nodes, bootstrap.size());
    for (std::size_t pe = 0; pe < nodes.size(); ++pe) nodes[pe].second = pretended[pe];
  }
  result.node_of = number_nodes(nodes);
  result.static_bytes = static_cast<std::size_t>(std::strtoull(leader[kStatic].c_str(), nullptr, 10));
  result.processors = count_processors(heard, machine);
  result.memory_limit = topology.cgroup.memory.value_or(0);
  return result;
}

}  // namespace shoal

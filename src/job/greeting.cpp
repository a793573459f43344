// SPDX-License-Identifier: Apache-2.0
#include "job/greeting.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "topology/topology.hpp"

namespace shoal {
namespace {

constexpr std::uint32_t kLayoutVersion = 1;  // raise it with any change of what PEs share in memory

/// A greeting is lines of text.
enum Line : std::size_t { kVersion, kBoot, kHeap, kChoices, kStatic, kProgram, kProcessors, kQuota, kOffer, kLines };
using Lines = std::vector<std::string>;

Lines lines_of(const std::vector<std::byte>& bytes) {
  Lines lines(1);
  for (std::byte b : bytes) {
    if (b == std::byte{'\n'})
      lines.emplace_back();
    else
      lines.back() += static_cast<char>(b);
  }
  return lines;
}

void check_alike(const Lines& theirs, const Lines& leader, std::size_t pe) {
  if (theirs.size() != kLines || theirs[kVersion] != leader[kVersion])
    throw Error(Code::peer, strf("PE %zu and PE 0 run different versions of libshoal: use one installation for the whole job", pe));
  if (theirs[kBoot] != leader[kBoot])
    throw Error(Code::unsupported, strf("PE %zu and PE 0 are on different machines: this build of Shoal joins the PEs of one machine", pe));
  if (theirs[kHeap] != leader[kHeap])
    throw Error(Code::peer, strf("PE %zu has a symmetric heap of %s bytes, PE 0 of %s: set SHMEM_SYMMETRIC_SIZE to the same everywhere",
                                 pe, theirs[kHeap].c_str(), leader[kHeap].c_str()));
  if (theirs[kChoices] != leader[kChoices])
    throw Error(Code::peer, strf("PE %zu has %s; PE 0 has %s: set these to the same everywhere", pe, theirs[kChoices].c_str(),
                                 leader[kChoices].c_str()));
}

/// How many processors the PEs have together. A PE's own mask says little: it may be bound to one core of many.
int count_processors(const std::vector<Lines>& greetings) {
  std::set<std::string> cpus;
  double quota = 0;
  for (const Lines& greeting : greetings) {
    std::istringstream list(greeting[kProcessors]);
    for (std::string cpu; list >> cpu;) cpus.insert(cpu);
    quota = std::max(quota, std::strtod(greeting[kQuota].c_str(), nullptr));
  }
  const int count = std::max(1, static_cast<int>(cpus.size()));
  return quota > 0 ? std::min(count, std::max(1, static_cast<int>(quota))) : count;
}

}  // namespace

Greetings greet(Bootstrap& bootstrap, const Greeting& mine, const StaticPlan& plan) {
  const Topology topology = read_topology();
  std::string cpus;
  for (const Cpu& cpu : topology.cpus) cpus += strf("%d ", cpu.id);
  const std::string text =
      strf("%u\n%s\n%zu\n%s\n%zu\n%s\n%s\n%f\n%s", kLayoutVersion, topology.boot_id.c_str(), mine.heap_bytes, mine.choices.c_str(),
           plan.bytes(), plan.program().c_str(), cpus.c_str(), topology.cgroup.cpus.value_or(0), mine.offer.c_str());
  std::vector<Lines> greetings;
  for (const auto& bytes : bootstrap.allgather(std::as_bytes(std::span(text.data(), text.size())))) greetings.push_back(lines_of(bytes));

  const Lines& leader = greetings[0];
  Greetings result;
  for (std::size_t pe = 0; pe < greetings.size(); ++pe) {
    const Lines& theirs = greetings[pe];
    check_alike(theirs, leader, pe);
    result.static_members.push_back(leader[kStatic] != "0" && theirs[kStatic] == leader[kStatic] && theirs[kProgram] == leader[kProgram]);
  }
  result.static_bytes = static_cast<std::size_t>(std::strtoull(leader[kStatic].c_str(), nullptr, 10));
  result.processors = count_processors(greetings);
  result.memory_limit = topology.cgroup.memory.value_or(0);
  result.offer = leader[kOffer];
  return result;
}

}  // namespace shoal

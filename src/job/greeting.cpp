// SPDX-License-Identifier: Apache-2.0
#include "job/greeting.hpp"

#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "topology/topology.hpp"

namespace shoal {
namespace {

constexpr std::uint32_t kLayoutVersion = 1;  // raise it with any change of what PEs share in memory

/// A greeting is lines of text: version, boot id, heap bytes, static bytes, build id, offer.
std::vector<std::string> lines_of(const std::vector<std::byte>& bytes) {
  std::vector<std::string> lines(1);
  for (std::byte b : bytes) {
    if (b == std::byte{'\n'})
      lines.emplace_back();
    else
      lines.back() += static_cast<char>(b);
  }
  return lines;
}

}  // namespace

Greetings greet(Bootstrap& bootstrap, std::size_t heap_bytes, const StaticPlan& plan, const std::string& offer) {
  const std::string mine = strf("%u\n%s\n%zu\n%zu\n%s\n%s", kLayoutVersion, read_topology().boot_id.c_str(), heap_bytes, plan.bytes(),
                                plan.program().c_str(), offer.c_str());
  const auto all = bootstrap.allgather(std::as_bytes(std::span(mine.data(), mine.size())));
  std::vector<std::vector<std::string>> greetings;
  for (const auto& bytes : all) greetings.push_back(lines_of(bytes));
  const auto& leader = greetings[0];

  Greetings result;
  for (std::size_t pe = 0; pe < greetings.size(); ++pe) {
    const auto& theirs = greetings[pe];
    if (theirs.size() != 6 || theirs[0] != leader[0])
      throw Error(Code::peer, strf("PE %zu and PE 0 run different versions of libshoal: use one installation for the whole job", pe));
    if (theirs[1] != leader[1])
      throw Error(Code::unsupported, strf("PE %zu and PE 0 are on different machines: this build of Shoal joins the PEs of one machine", pe));
    if (theirs[2] != leader[2])
      throw Error(Code::peer, strf("PE %zu has a symmetric heap of %s bytes, PE 0 of %s: set SHMEM_SYMMETRIC_SIZE to the same everywhere",
                                   pe, theirs[2].c_str(), leader[2].c_str()));
    result.static_members.push_back(leader[3] != "0" && theirs[3] == leader[3] && theirs[4] == leader[4]);
  }
  result.static_bytes = static_cast<std::size_t>(std::strtoull(leader[3].c_str(), nullptr, 10));
  result.offer = leader[5];
  return result;
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "job/node_memory.hpp"

#include <cinttypes>
#include <cstdio>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "topology/node_map.hpp"

namespace shoal {
namespace {

constexpr std::uint64_t kFetchNs = 30'000'000'000;  // how long a PE waits for its leader's files

}  // namespace

NodeMates NodeMates::of(int me, const std::vector<int>& node_of) {
  NodeMates mates;
  for (std::size_t pe = 0; pe < node_of.size(); ++pe) {
    if (node_of[pe] != node_of[static_cast<std::size_t>(me)]) continue;
    if (static_cast<int>(pe) == me) mates.me = mates.pes.size();
    mates.pes.push_back(static_cast<int>(pe));
  }
  return mates;
}

SegmentOffer SegmentOffer::share(Bootstrap& bootstrap, const std::vector<NodeFile>& files, std::vector<int>& node_of,
                                 const Log& log) {
  const bool threads = bootstrap.same_process();
  for (;;) {
    const NodeMates mates = NodeMates::of(bootstrap.rank(), node_of);
    std::vector<std::pair<const char*, std::size_t>> segments;
    std::vector<std::size_t> sizes;
    for (const NodeFile& file : files) {
      sizes.push_back(file.each ? file.bytes * mates.pes.size() : file.bytes);
      segments.emplace_back(file.label, sizes.back());
    }
    SegmentOffer offer;
    if (mates.leads()) offer = make(segments, threads);
    const auto offers = bootstrap.allgather(std::as_bytes(std::span(offer.name())));
    std::string failure;  // of this PE: it cannot map what its leader offers
    if (!mates.leads()) try {
        offer = take(std::string(offers.text(static_cast<std::size_t>(mates.pes[0]))), sizes, threads);
      } catch (const Error& error) {
        failure = error.what();
      }
    const auto failures = bootstrap.allgather(std::as_bytes(std::span(failure)));
    offer.close();  // all have taken their leader's files
    std::vector<std::pair<int, int>> nodes;
    bool all = true;
    for (std::size_t pe = 0; pe < failures.size(); ++pe) {
      const bool alone = !failures[pe].empty();
      all &= !alone;
      nodes.emplace_back(node_of[pe], alone ? static_cast<int>(pe) : -1);
    }
    if (all) return offer;
    if (!failure.empty())
      log.info("shares no memory with PE %d, on the same machine: %s. They exchange messages instead", mates.pes[0],
               failure.c_str());
    node_of = number_nodes(nodes);
  }
}

SegmentOffer SegmentOffer::make(const std::vector<std::pair<const char*, std::size_t>>& segments, bool same_process) {
  SegmentOffer offer;
  std::vector<int> fds;
  for (const auto& [label, bytes] : segments) {
    UniqueFd fd = create_memory_file(label, bytes);
    offer.mappings_.push_back(Mapping::map_file(fd.get(), bytes));
    fds.push_back(fd.get());
    if (same_process)
      offer.name_ += strf("%" PRIxPTR " ", reinterpret_cast<std::uintptr_t>(offer.mappings_.back().data()));
    offer.fds_.push_back(std::move(fd));
  }
  if (same_process) {
    offer.fds_.clear();
  } else {
    offer.server_ = std::make_unique<FdServer>(fds);
    offer.name_ = offer.server_->name();
  }
  return offer;
}

SegmentOffer SegmentOffer::take(const std::string& name, const std::vector<std::size_t>& sizes, bool same_process) {
  SegmentOffer offer;
  offer.name_ = name;
  if (same_process) {
    const char* next = name.c_str();
    for (std::size_t bytes : sizes) {
      char* end = nullptr;
      const auto address = static_cast<std::uintptr_t>(std::strtoull(next, &end, 16));
      if (end == next) throw Error(Code::peer, "the leader offered fewer segments than expected");
      offer.mappings_.push_back(Mapping::view(reinterpret_cast<void*>(address), bytes));
      next = end;
    }
    return offer;
  }
  offer.fds_ = fetch_fds(name, now_ns() + kFetchNs).fds;
  if (offer.fds_.size() < sizes.size()) throw Error(Code::peer, "the leader offered fewer segments than expected");
  for (std::size_t i = 0; i < sizes.size(); ++i)
    offer.mappings_.push_back(Mapping::map_file(offer.fds_[i].get(), sizes[i]));
  return offer;
}

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#include "job/node_memory.hpp"

#include <cinttypes>
#include <cstdio>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace shoal {
namespace {

constexpr std::uint64_t kFetchNs = 30'000'000'000;  // how long a PE waits for its leader's files

}  // namespace

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

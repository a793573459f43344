// SPDX-License-Identifier: Apache-2.0
#include "job/static_segment.hpp"

#include <algorithm>

namespace shoal {

StaticPlan StaticPlan::of_this_program() {
  StaticPlan plan;
  plan.range_ = find_static_data();
  if (plan.range_) plan.program_ = program_build_id();
  return plan;
}

StaticSegment::StaticSegment(const StaticPlan& plan, Mapping mapping, int fd, const std::vector<bool>& members,
                             const NodeMates& mates)
    : plan_(plan), mapping_(std::move(mapping)), members_(members), mates_(mates) {
  if (members_[static_cast<std::size_t>(mates_.pes[mates_.me])])
    data_.emplace(*plan_.range(), fd, mates_.me * plan_.bytes());
}

std::vector<std::unique_ptr<Segment>> StaticSegment::segments() const {
  std::vector<std::unique_ptr<Segment>> segments;
  if (!data_) return segments;
  const StaticRange& range = data_->range();
  const std::size_t parts = std::max<std::size_t>(1, range.part_count);
  for (std::size_t i = 0; i < parts; ++i) {
    const StaticRange::Part part = range.part_count == 0 ? StaticRange::Part{0, range.bytes} : range.parts[i];
    auto segment = std::make_unique<Segment>();
    segment->name = "static data";
    char* own = static_cast<char*>(range.begin) + part.offset;
    segment->base = reinterpret_cast<std::uintptr_t>(own);
    segment->bytes = part.bytes;
    segment->key = kStaticKey + static_cast<std::uint32_t>(i);
    segment->members = members_;
    segment->peers.assign(members_.size(), nullptr);
    for (std::size_t place = 0; place < mates_.pes.size(); ++place) {
      const auto pe = static_cast<std::size_t>(mates_.pes[place]);
      // One's own variables have the address that the program knows.
      char* theirs =
          place == mates_.me ? own : reinterpret_cast<char*>(mapping_.data()) + place * range.bytes + part.offset;
      if (members_[pe]) segment->peers[pe] = theirs;
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

}  // namespace shoal

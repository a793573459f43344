// SPDX-License-Identifier: Apache-2.0
#include "job/heaps.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.hpp"
#include "job/node_memory.hpp"

namespace shoal {
namespace {

constexpr std::size_t kStrideUnit = kHugePageBytes;  // every part starts at a multiple of it

/// What a heap was asked for with.
struct Wanted {
  std::uint64_t bytes, alignment;
};

/// Where a heap begins in its part: as far on as keeps its alignment, for the guard of its first block.
constexpr std::size_t head(bool guarded) { return guarded ? kStrideUnit : 0; }

/// The heap of the team's i-th member on this node is in the i-th part of the node's file.
char* own_heap(const Team& team, const Mapping& mapping, std::size_t stride, bool guarded) {
  const std::vector<int>& here = team.nodes().mine;
  const auto place = static_cast<std::size_t>(std::find(here.begin(), here.end(), team.rank()) - here.begin());
  return reinterpret_cast<char*>(mapping.data()) + place * stride + head(guarded);
}

}  // namespace

TeamHeap::TeamHeap(Team& team, SegmentTable& segments, std::uint32_t key, Mapping mapping, std::size_t stride,
                   std::size_t bytes, std::size_t alignment, bool guarded)
    : team_(team),
      segments_(segments),
      mapping_(std::move(mapping)),
      heap_(own_heap(team, mapping_, stride, guarded), bytes, alignment, nullptr, guarded ? &segments : nullptr) {
  auto segment = std::make_unique<Segment>();
  char* first = reinterpret_cast<char*>(mapping_.data()) + head(guarded);
  const std::vector<int>& here = team.nodes().mine;
  segment->name = strf("heap of a team of %d PEs", team.size());
  segment->base = reinterpret_cast<std::uintptr_t>(own_heap(team, mapping_, stride, guarded));
  segment->bytes = SymmetricHeap::room(bytes, guarded);
  segment->key = key;
  segment->peers.assign(static_cast<std::size_t>(team.world().n_pes()), nullptr);
  segment->members.assign(segment->peers.size(), false);
  for (int member = 0; member < team.size(); ++member)
    segment->members[static_cast<std::size_t>(team.world_pe(member))] = true;
  for (std::size_t part = 0; part < here.size(); ++part)
    segment->peers[static_cast<std::size_t>(team.world_pe(here[part]))] = first + part * stride;
  segment->blocks = heap_.guard();
  where_ = segment.get();
  segment_ = segments_.add(std::move(segment));
}

TeamHeap::~TeamHeap() {
  if (Transport* transport = team_.world().domain().transport) transport->detach(where_->key);
  segments_.remove(segment_);
}

std::unique_ptr<TeamHeap> TeamHeap::create(Team& team, SegmentTable& segments, std::size_t bytes, std::size_t alignment,
                                           bool same_process, bool guarded, const char* call) {
  const std::size_t room = SymmetricHeap::room(bytes, guarded);
  const std::size_t stride = (head(guarded) + room + kStrideUnit - 1) / kStrideUnit * kStrideUnit;
  const std::vector<int>& here = team.nodes().mine;
  std::size_t total;
  const bool fits = bytes != 0 && room >= bytes && stride >= room &&
                    !__builtin_mul_overflow(stride, static_cast<std::size_t>(team.size()), &total);
  total = stride * here.size();

  // A member that fails says so instead of throwing: the others wait for its word.
  std::unique_ptr<SegmentOffer> offer;
  std::array<char, Slot::kExchangeBytes> name{};  // where the file of this node's leader is; "": it failed
  if (fits && team.rank() == here[0]) try {
      offer = std::make_unique<SegmentOffer>(SegmentOffer::make({{"shoal-heap", total}}, same_process));
      std::strncpy(name.data(), offer->name().c_str(), name.size() - 1);
    } catch (const std::exception&) {
    }
  if (const auto other = team.find_other(Wanted{bytes, alignment}, call))
    team.world().fatal(
        call, strf("all members of the team must give the same size and alignment: this PE gives %zu bytes aligned "
                   "to %zu, PE %d gives %llu bytes aligned to %llu",
                   bytes, alignment, other->first, static_cast<unsigned long long>(other->second.bytes),
                   static_cast<unsigned long long>(other->second.alignment)));
  team.hear_leader(std::as_writable_bytes(std::span(name)), call);
  std::uint32_t generation = segments.generation();  // that no member has seen used yet
  team.combine(
      std::as_writable_bytes(std::span(&generation, 1)),
      [](void* into, const void* left, const void* right) {
        std::uint32_t a, b;
        std::memcpy(&a, left, sizeof a);
        std::memcpy(&b, right, sizeof b);
        a = std::max(a, b);
        std::memcpy(into, &a, sizeof a);
      },
      call);
  segments.next_generation(generation);
  // Teams that have a member in common have different slots: two heaps made at once have different keys wherever both
  // are known.
  const std::uint32_t key = kFirstFreeKey + generation * kTeamSlots + static_cast<std::uint32_t>(team.slot());
  std::unique_ptr<TeamHeap> heap;
  if (name[0] != '\0') try {
      if (offer == nullptr)
        offer = std::make_unique<SegmentOffer>(SegmentOffer::take(name.data(), {total}, same_process));
      heap.reset(new TeamHeap(team, segments, key, offer->take_mapping(0), stride, bytes, alignment, guarded));
    } catch (const std::exception&) {
    }
  return team.all_of(heap != nullptr, call) ? std::move(heap) : nullptr;
}

}  // namespace shoal

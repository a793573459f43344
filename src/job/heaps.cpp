// SPDX-License-Identifier: Apache-2.0
#include "job/heaps.hpp"

#include <array>
#include <cstring>

#include "base/error.hpp"
#include "job/node_memory.hpp"

namespace shoal {
namespace {

constexpr std::size_t kStrideUnit = kHugePageBytes;  // every part starts at a multiple of it

/// What the leader tells the others; an empty name says that it failed.
using OfferName = std::array<char, Slot::kExchangeBytes>;

}  // namespace

TeamHeap::TeamHeap(Team& team, SegmentTable& segments, Mapping mapping, std::size_t stride, std::size_t bytes,
                   std::size_t alignment)
    : team_(team), segments_(segments), mapping_(std::move(mapping)),
      heap_(reinterpret_cast<char*>(mapping_.data()) + static_cast<std::size_t>(team.rank()) * stride, bytes, alignment) {
  auto segment = std::make_unique<Segment>();
  char* first = reinterpret_cast<char*>(mapping_.data());
  segment->name = strf("heap of a team of %d PEs", team.size());
  segment->base = reinterpret_cast<std::uintptr_t>(first) + static_cast<std::size_t>(team.rank()) * stride;
  segment->bytes = bytes;
  segment->peers.assign(static_cast<std::size_t>(team.world().n_pes()), nullptr);
  for (int member = 0; member < team.size(); ++member)
    segment->peers[static_cast<std::size_t>(team.world_pe(member))] = first + static_cast<std::size_t>(member) * stride;
  segment_ = segments_.add(std::move(segment));
}

TeamHeap::~TeamHeap() { segments_.remove(segment_); }

std::unique_ptr<TeamHeap> TeamHeap::create(Team& team, SegmentTable& segments, std::size_t bytes, std::size_t alignment,
                                           bool same_process, const char* call) {
  const std::size_t stride = (bytes + kStrideUnit - 1) / kStrideUnit * kStrideUnit;
  std::size_t total;
  const bool fits = bytes != 0 && stride >= bytes && !__builtin_mul_overflow(stride, static_cast<std::size_t>(team.size()), &total);
  if (!fits) return nullptr;  // the same on all members

  // A member that fails says so instead of throwing: the others wait for its word.
  std::unique_ptr<SegmentOffer> offer;
  OfferName name{};
  if (team.rank() == 0) try {
      offer = std::make_unique<SegmentOffer>(SegmentOffer::make({{"shoal-heap", total}}, same_process));
      std::strncpy(name.data(), offer->name().c_str(), name.size() - 1);
    } catch (const std::exception&) {
    }
  OfferName leader{};
  team.exchange(std::as_bytes(std::span(name)), call, [&](int member, std::span<const std::byte> bytes_shown) {
    if (member == 0) std::memcpy(leader.data(), bytes_shown.data(), leader.size());
  });
  std::unique_ptr<TeamHeap> heap;
  if (leader[0] != '\0') try {
      if (offer == nullptr) offer = std::make_unique<SegmentOffer>(SegmentOffer::take(leader.data(), {total}, same_process));
      heap.reset(new TeamHeap(team, segments, offer->take_mapping(0), stride, bytes, alignment));
    } catch (const std::exception&) {
    }
  bool all = true;
  const std::uint8_t made = heap != nullptr;
  team.exchange(std::as_bytes(std::span(&made, 1)), call,
                [&](int, std::span<const std::byte> shown) { all &= shown[0] != std::byte{0}; });
  return all ? std::move(heap) : nullptr;
}

}  // namespace shoal

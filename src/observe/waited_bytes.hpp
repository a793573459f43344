// SPDX-License-Identifier: Apache-2.0
// Bytes that synchronise: they are waited for, or changed by atomics. Kept by ranges that have seen the same, so that a
// wait for a vector of any length costs no more than what was done to it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace shoal {

/// @tparam Known  what is known of a byte; copied where ranges come apart
template <class Known>
class WaitedBytes final {
 public:
  /// All are to be added before anything is known of any.
  void add(int pe, std::uint32_t segment, std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    Ranges& ranges = areas_[{pe, segment}];
    auto at = ranges.upper_bound(begin);
    if (at != ranges.begin() && std::prev(at)->second.end >= begin) begin = (--at)->first;
    while (at != ranges.end() && at->first <= end) {
      end = std::max(end, at->second.end);
      at = ranges.erase(at);
    }
    ranges.emplace_hint(at, begin, Range{end, {}});
  }

  /// Calls `see(from, to, known)` for each part of [begin, end) that is one, in order.
  template <class See>
  void look(int pe, std::uint32_t segment, std::uint64_t begin, std::uint64_t end, See&& see) const {
    const auto area = areas_.find({pe, segment});
    if (area == areas_.end()) return;
    for (auto at = first_behind(area->second, begin); at != area->second.end() && at->first < end; ++at)
      see(std::max(begin, at->first), std::min(end, at->second.end), at->second.known);
  }

  /// Calls `see(known)` for each, to be changed for those bytes only.
  template <class See>
  void change(int pe, std::uint32_t segment, std::uint64_t begin, std::uint64_t end, See&& see) {
    const auto area = areas_.find({pe, segment});
    if (area == areas_.end()) return;
    Ranges& ranges = area->second;
    for (auto at = first_behind(ranges, begin); at != ranges.end() && at->first < end; ++at) {
      if (at->first < begin) at = split(ranges, at, begin);
      if (at->second.end > end) split(ranges, at, end);
      see(at->second.known);
    }
  }

 private:
  struct Range {
    std::uint64_t end;
    Known known;
  };
  using Ranges = std::map<std::uint64_t, Range>;  // by their first bytes

  /// The first range that ends behind `begin`.
  template <class Some>
  static auto first_behind(Some& ranges, std::uint64_t begin) {
    auto at = ranges.upper_bound(begin);
    return at != ranges.begin() && std::prev(at)->second.end > begin ? std::prev(at) : at;
  }
  /// @return the second part
  static typename Ranges::iterator split(Ranges& ranges, typename Ranges::iterator at, std::uint64_t where) {
    const auto second = ranges.emplace_hint(std::next(at), where, at->second);
    at->second.end = where;
    return second;
  }

  std::map<std::pair<int, std::uint32_t>, Ranges> areas_;
};

}  // namespace shoal

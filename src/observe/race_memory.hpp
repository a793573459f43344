// SPDX-License-Identifier: Apache-2.0
// What was done to symmetric memory so far, as far as what comes may still race with it. Kept by ranges of bytes that
// have seen the same, so that a put of a mebibyte costs no more than one of a word.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "observe/race_analysis.hpp"

namespace shoal {

class RaceMemory final {
 public:
  struct Access {
    RaceAccess who;
    std::uint32_t place;    ///< in the program
    std::size_t component;  ///< of clocks: it is before whoever has seen this component's `epoch`
    std::uint32_t epoch;
    bool unfinished = false;  ///< that PE's own accesses are not behind it either
    /// Of another time, perhaps, but to be told as the same: cells that differ in no more become one.
    bool is_like(const Access& other) const noexcept {
      return who.pe == other.who.pe && who.writes == other.who.writes && place == other.place &&
             component == other.component && epoch == other.epoch;
    }
  };

  /// Adds an access to [begin, end) of a PE's segment.
  /// @param ordered  whether an earlier access is before this one
  /// @param meets    called with each earlier one that touches the same bytes, one of the two a write, and is not
  ///                 before it, and with the first byte of these
  template <class Ordered, class Meets>
  void add(int pe, std::uint32_t segment, std::uint64_t begin, std::uint64_t end, const Access& one, Ordered&& ordered,
           Meets&& meets) {
    if (begin >= end) return;
    Cells& cells = areas_[{pe, segment}];
    split(cells, begin);
    split(cells, end);
    auto cell = cells.lower_bound(begin);
    for (std::uint64_t at = begin; at < end; ++cell) {
      if (cell == cells.end() || cell->first > at) {
        cell = cells.emplace_hint(cell, at, Cell{cell == cells.end() ? end : std::min(end, cell->first), {}});
      } else {
        for (const Access& other : cell->second.accesses)
          if ((other.who.writes || one.who.writes) && !ordered(other)) meets(other, at);
        // Whatever races with one of these does so with the new one, too.
        std::erase_if(cell->second.accesses, [&](const Access& other) {
          const bool alike = other.who.writes == one.who.writes;
          return (ordered(other) && (one.who.writes || alike)) ||
                 (other.who.pe == one.who.pe && alike && other.component == one.component);
        });
      }
      cell->second.accesses.push_back(one);
      at = cell->second.end;
    }
    merge(cells, begin, end);
  }

 private:
  struct Cell {
    std::uint64_t end;
    std::vector<Access> accesses;
  };
  using Cells = std::map<std::uint64_t, Cell>;  // by their first bytes

  static void split(Cells& cells, std::uint64_t at) {
    auto cell = cells.lower_bound(at);
    if (cell == cells.begin() || (--cell)->second.end <= at) return;
    cells.emplace_hint(std::next(cell), at, cell->second);
    cell->second.end = at;
  }
  static void merge(Cells& cells, std::uint64_t begin, std::uint64_t end) {
    auto cell = cells.lower_bound(begin);
    if (cell != cells.begin()) --cell;
    for (auto next = std::next(cell); next != cells.end() && next->first <= end; next = std::next(cell)) {
      const bool same =
          cell->second.end == next->first &&
          std::equal(cell->second.accesses.begin(), cell->second.accesses.end(), next->second.accesses.begin(),
                     next->second.accesses.end(), [](const Access& a, const Access& b) { return a.is_like(b); });
      if (!same) {
        cell = next;
        continue;
      }
      cell->second.end = next->second.end;
      cells.erase(next);
    }
  }

  std::map<std::pair<int, std::uint32_t>, Cells> areas_;
};

}  // namespace shoal

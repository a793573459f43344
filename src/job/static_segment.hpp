// SPDX-License-Identifier: Apache-2.0
// The program's global and static variables as a symmetric segment.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/segment_table.hpp"
#include "job/node_memory.hpp"
#include "memory/memory_file.hpp"
#include "memory/static_data.hpp"

namespace shoal {

/// What could be moved: this program's range, and which program it is.
class StaticPlan final {
 public:
  /// Nothing, where the main program isn't linked against the library.
  static StaticPlan of_this_program();
  static StaticPlan none() { return {}; }
  std::size_t bytes() const noexcept { return range_ ? range_->bytes : 0; }
  const std::optional<StaticRange>& range() const noexcept { return range_; }
  const std::string& program() const noexcept { return program_; }

 private:
  std::optional<StaticRange> range_;
  std::string program_;
};

/// Moves the variables back to private memory when it is destroyed.
class StaticSegment final {
 public:
  /// Moves this PE's variables into its part of the node's file, if it is a member. @throws Error when a thread that
  /// runs already cannot be held meanwhile
  /// @param members  by PE of the world
  StaticSegment(const StaticPlan& plan, Mapping mapping, int fd, const std::vector<bool>& members,
                const NodeMates& mates);
  /// One a part of the program's range; none when this PE isn't a member.
  std::vector<std::unique_ptr<Segment>> segments() const;

 private:
  StaticPlan plan_;
  Mapping mapping_;
  std::vector<bool> members_;
  NodeMates mates_;
  std::optional<StaticData> data_;
};

}  // namespace shoal

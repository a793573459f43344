// SPDX-License-Identifier: Apache-2.0
// One segment of n equal parts that all PEs of a node map: part i belongs to the node's i-th PE. The leader makes the
// memory file and hands it to the others; PEs that are threads of one process share the leader's mapping.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "bootstrap/bootstrap.hpp"
#include "memory/fd_passing.hpp"
#include "memory/memory_file.hpp"

namespace shoal {

/// The PEs of one node, in order; the first is its leader.
struct NodeMates {
  std::vector<int> pes;
  std::size_t me = 0;  ///< this PE's place among them
  bool leads() const noexcept { return me == 0; }
  /// Those of `me` where `node_of` has the node of each PE.
  static NodeMates of(int me, const std::vector<int>& node_of);
};

/// One file that the PEs of a node share.
struct NodeFile {
  const char* label;
  std::size_t bytes;
  bool each = true;  ///< so many for each PE; false: for all together
};

/// What a leader publishes so that others can map its files: a socket's name, or addresses in this process.
class SegmentOffer final {
 public:
  /// Leader: makes a file for each size and maps it. @throws Error
  static SegmentOffer make(const std::vector<std::pair<const char*, std::size_t>>& segments, bool same_process);
  /// Others: maps what the leader offered. @throws Error
  static SegmentOffer take(const std::string& name, const std::vector<std::size_t>& sizes, bool same_process);

  /// To be told to the others, by whatever way.
  const std::string& name() const noexcept { return name_; }
  /// Segment `index`: the whole of it, all parts.
  const Mapping& mapping(std::size_t index) const { return mappings_[index]; }
  Mapping take_mapping(std::size_t index) { return std::move(mappings_[index]); }
  /// The file behind it; -1 when PEs are threads.
  int fd(std::size_t index) const { return index < fds_.size() ? fds_[index].get() : -1; }
  /// Leader: no more takers.
  void close() noexcept { server_.reset(); }

  /// The files of this PE's node, mapped. PEs that turn out not to be able to map their leader's get nodes of their
  /// own: `node_of` is as it is in the end, and the same on all. Collective. @throws Error
  static SegmentOffer share(Bootstrap& bootstrap, const std::vector<NodeFile>& files, std::vector<int>& node_of,
                            const Log& log);

 private:
  std::string name_;
  std::vector<Mapping> mappings_;
  std::vector<UniqueFd> fds_;
  std::unique_ptr<FdServer> server_;
};

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "graph.hpp"

namespace pagerank {

/// The graph of a Debian package list: an edge from each package to each package that it depends on.
struct PackageGraph {
  Graph graph;
  std::string source;          ///< where it was read: a command or a file
  std::size_t paragraphs = 0;  ///< paragraphs read, other versions of a package included
  std::size_t unresolved = 0;  ///< dependencies on names that no package has or provides
  std::size_t skipped = 0;     ///< dependencies that couldn't be understood (machine's own lists only)
  std::string first_skipped;   ///< the message for the first of them
};

/// Reads Depends and Pre-Depends (and Recommends where wanted) of every package in a file in the format of
/// /var/lib/dpkg/status. Throws InputError, which names file and line; a dependency that can't be understood is one.
PackageGraph read_package_list(const std::string& path, bool recommends);

/// The same from this machine's package lists: what `apt-cache dumpavail` prints or, where it prints no package, the
/// dpkg status file. A dependency that can't be understood is counted and left out: it isn't this program's user who
/// wrote it.
PackageGraph read_system_packages(bool recommends);

}  // namespace pagerank

// SPDX-License-Identifier: Apache-2.0
// What SHOAL_PROFILE prints: a table by routine, and who moved how much to and from whom.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shoal {

/// A value.
class Profile final {
 public:
  struct Row {
    std::uint64_t count = 0, bytes = 0;
    double ns = 0, waiting_ns = 0;
  };
  struct Link {
    std::uint64_t count = 0, bytes = 0;
  };

  explicit Profile(int n_pes = 0)
      : n_pes_(n_pes), links_(static_cast<std::size_t>(n_pes) * static_cast<std::size_t>(n_pes)) {}
  int n_pes() const noexcept { return n_pes_; }
  Row& row(const std::string& name) { return rows_[name]; }
  const std::map<std::string, Row>& rows() const noexcept { return rows_; }
  Link& link(int from, int to) { return links_[static_cast<std::size_t>(from * n_pes_ + to)]; }
  const Link& link(int from, int to) const { return links_[static_cast<std::size_t>(from * n_pes_ + to)]; }

  /// As lines of text.
  std::string pack() const;
  /// Adds what another PE packed. @throws Error{peer} for what is none
  void add(const std::string& packed);

  /// The table and, for up to 32 PEs, the matrix.
  std::string as_text() const;
  /// One page that needs nothing else.
  std::string as_html(const std::string& title) const;

 private:
  std::vector<std::pair<std::string, Row>> by_time() const;
  int n_pes_;
  std::map<std::string, Row> rows_;
  std::vector<Link> links_;  // by from, then to
};

}  // namespace shoal

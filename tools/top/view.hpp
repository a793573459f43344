// SPDX-License-Identifier: Apache-2.0
// How a look at the job is shown: lines of text, rates against an earlier look, JSON.
#pragma once
#include <string>
#include <vector>

#include "page.hpp"

namespace shoal::top {

/// One look, at a moment of CLOCK_MONOTONIC.
struct Look {
  std::uint64_t at_ns = 0;
  std::vector<PeView> pes;
};

/// One line a PE with what it does, then the verdicts, as shoalrun prints them at a timeout.
std::string as_table(const Look& look);
/// One line a PE with rates since `before`, as wide as `columns`, then the verdicts.
std::string as_screen(const Look& look, const Look& before, int columns);
/// {"pes": [...], "verdicts": [...]}; docs/top.md lists the fields.
std::string as_json(const Look& look);

}  // namespace shoal::top

// SPDX-License-Identifier: Apache-2.0
// Which PEs share a node. Pure.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace shoal {

/// The pretended node of each of `n_pes`: `spec` is "N" (N blocks, sizes as equal as can be), "N:cyclic" (PE i on node
/// i mod N), or one number a PE such as "0,1,0,1".
/// @param given_as  what stands before it in messages
/// @throws Error{invalid_option} naming what is accepted
std::vector<int> fake_nodes(const std::string& spec, int n_pes, const char* given_as = "SHOAL_FAKE_NODES=");

/// The nodes of PEs that call theirs `names[pe]`: numbered from 0 in the order of their first PE.
std::vector<int> number_nodes(const std::vector<std::pair<int, int>>& names);

}  // namespace shoal

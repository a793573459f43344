// SPDX-License-Identifier: Apache-2.0
// What PEs tell each other when they join, and what follows from it: that they belong together, and who shares what.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "job/static_segment.hpp"

namespace shoal {

struct Greetings {
  std::string offer;                 ///< where the leader's memory files are
  std::size_t static_bytes = 0;      ///< of the leader's static data; 0: nobody shares any
  std::vector<bool> static_members;  ///< PEs that run the leader's very program
};

/// Exchanges greetings and checks them. Collective. @throws Error naming the PEs that differ, and in what
Greetings greet(Bootstrap& bootstrap, std::size_t heap_bytes, const StaticPlan& plan, const std::string& offer);

}  // namespace shoal

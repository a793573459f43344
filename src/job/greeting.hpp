// SPDX-License-Identifier: Apache-2.0
// What PEs tell each other when they join, and what follows from it: that they belong together, and who shares what.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "job/static_segment.hpp"

namespace shoal {

/// What this PE brings along.
struct Greeting {
  std::size_t heap_bytes = 0;
  std::string choices;        ///< options that all PEs must give alike: "SHOAL_BARRIER=auto, ..."
  std::string offer;          ///< the leader's: where its memory files are
};

struct Greetings {
  std::string offer;                 ///< where the leader's memory files are
  std::size_t static_bytes = 0;      ///< of the leader's static data; 0: nobody shares any
  std::vector<bool> static_members;  ///< PEs that run the leader's very program
  int processors = 1;                ///< that the PEs may run on, all together; the same on all
  std::uint64_t memory_limit = 0;    ///< of this PE's control group, in bytes; 0: none
};

/// Exchanges greetings and checks them. Collective. @throws Error naming the PEs that differ, and in what
Greetings greet(Bootstrap& bootstrap, const Greeting& mine, const StaticPlan& plan);

}  // namespace shoal

// SPDX-License-Identifier: Apache-2.0
// What PEs tell each other when they join, and what follows from it: that they belong together, and who shares what.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/options.hpp"
#include "bootstrap/bootstrap.hpp"
#include "job/static_segment.hpp"

namespace shoal {

struct Greetings {
  std::vector<int> node_of;          ///< by PE; nodes are numbered in the order of their first PE
  std::size_t static_bytes = 0;      ///< of PE 0's static data; 0: nobody shares any
  std::vector<bool> static_members;  ///< PEs that run PE 0's very program
  int machine_pes = 1;               ///< PEs on this machine
  int processors = 1;                ///< that these may run on, all together; the same on all of them
  std::uint64_t memory_limit = 0;    ///< of this PE's control group, in bytes; 0: none
  int session = 1;                   ///< the largest that any PE gave
};

/// Exchanges greetings and checks them. Collective.
/// @param session  as JobSetup has it
/// @param alike    names of the options that all PEs must give alike
/// @throws Error naming the PEs that differ, and in what
Greetings greet(Bootstrap& bootstrap, int session, const Options& options, std::span<const char* const> alike,
                const StaticPlan& plan);

}  // namespace shoal
